"""How the site is built: ``make docs`` turns these pages, the examples and the docstrings into HTML.

Nothing here needs a network: no inventories of other projects are fetched, formulas are MathML, fonts and scripts come
with the theme. The parts that are this project's own are in ``_ext``, one idea a file.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import matplotlib

matplotlib.use("agg")

import dtsemnet

project = "dtsemnet"
author = "The dtsemnet developers"
copyright = "the dtsemnet developers, BSD-3-Clause"
version = release = dtsemnet.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "live_pages",
    "mathml",
    "repository_pages",
]
exclude_patterns = ["_build", "_ext", "_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
templates_path = ["_templates"]
nitpicky = True  # a reference into this package that leads nowhere is a warning, and a warning is an error
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(?!dtsemnet).*",
    ),  # types of other packages and of the standard library, whose inventories are not here
]

# Pages are Markdown, so that they read well in the repository too.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline", "html_image"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # the changelog of a release may start at any level

# Docstrings.
autosummary_generate = False  # api_pages writes the pages
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"  # "fit()" beside a page, not a name that is cut off
python_maximum_signature_line_length = 2000  # signatures wrap as text does; types stand below
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {"bool": "bool", "boolean": "bool"}  # its own lead to a label of Python's inventory, as text

# Examples.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": "gallery_order.GalleryOrder",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_", "__str__"),
    "download_all_examples": False,
    "min_reported_time": 5,
    "show_memory": False,
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("dtsemnet",),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "default_thumb_file": str(Path(__file__).parent / "figures" / "iris_tree.png"),
    "remove_config_comments": True,
    "plot_gallery": os.environ.get(
        "DOCS_GALLERY", "True"
    ),  # DOCS_GALLERY=False builds the pages without running examples
    "parallel": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "dtsemnet"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "dtsemnet", "alt_text": "dtsemnet, home"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "project/*": ["sidebar-nav-bs"]}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
