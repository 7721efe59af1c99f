"""The pages of the API, written from ``__all__``: one page a package, one page a public name.

A name that several packages hand out, such as ``Tree``, is described once, at the first of them; the others link to it,
and so do references to the module that defines it. Nothing is listed by hand, so no public name is forgotten.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import shutil
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "api" / "generated"

PACKAGES = {
    "dtsemnet": "The names that most programs need",
    "dtsemnet.tree": "Trees, models and edits",
    "dtsemnet.export": "Text, tables and programs",
    "dtsemnet.plot": "Drawings",
    "dtsemnet.explorer": "Pages for the browser",
    "dtsemnet.verify": "Proofs",
    "dtsemnet.verify.closed_loop": "Proofs about control loops",
    "dtsemnet.verify.vnnlib": "Questions in VNN-LIB",
    "dtsemnet.rl": "Reinforcement learning",
    "dtsemnet.estimators": "The scikit-learn API",
    "dtsemnet.nn": "The network, for torch",
    "dtsemnet.training": "Training",
    "dtsemnet.mlflow": "MLflow",
    "dtsemnet.names": "Names for people",
    "dtsemnet.files": "Files that are whole",
    "dtsemnet_paper.baselines": "Rival methods",
}
"""The public packages and what they hold. ``tests/test_site.py`` looks for others."""

# Members of these ancestors belong to the packages that define them.
FOREIGN = (
    *("object", "BaseEstimator", "Exception", "tuple", "list", "Protocol", "Generic", "Module", "Progress"),
    *(
        "BaseAlgorithm",
        "PPO",
        "SAC",
        "BasePolicy",
        "BaseModel",
        "ActorCriticPolicy",
        "SACPolicy",
        "BaseCallback",
        "Actor",
    ),
)
LABELS_OF_OTHERS = ("python:", "numpy:", "metadata_routing", "r2_score", "accuracy_score")
"""Labels in docstrings that scikit-learn and numpydoc bring along; they are shown as text."""


class Public(NamedTuple):
    """A public name, and where it is described."""

    package: str
    name: str
    value: Any
    home: str
    """Package that describes it; another one than ``package`` if that only hands it on."""

    @property
    def page(self) -> str:
        return f"{self.home}.{self.value.__name__ if self.is_alias else self.name}"

    @property
    def is_alias(self) -> bool:
        """Whether this is another name of something public, kept for programs of before."""
        return getattr(self.value, "__name__", self.name) != self.name


def public_names() -> list[Public]:
    """Collect the public names of all packages."""
    homes: dict[int, str] = {}
    found = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            value = getattr(module, name)
            if name == "__version__":
                continue
            home = homes.setdefault(id(value), package) if inspect.isclass(value) or callable(value) else package
            found.append(Public(package, name, value, home))
    return found


def heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n"


def object_page(public: Public) -> str:
    """Write the page of one name."""
    value, lines = public.value, [f":orphan:\n\n{heading(public.name)}", f".. currentmodule:: {public.home}\n"]
    if inspect.isclass(value):
        lines += [f".. autoclass:: {public.name}", "   :members:", f"   :inherited-members: {', '.join(FOREIGN)}"]
        lines.append("   :show-inheritance:")
        if dataclasses.is_dataclass(value) and "Parameters\n" not in (value.__doc__ or ""):
            lines.append("   :undoc-members:")
    elif callable(value):
        lines.append(f".. autofunction:: {public.name}")
    else:
        lines.append(f".. autodata:: {public.name}")
    lines += ["", f".. minigallery:: {public.home}.{public.name}", "   :add-heading: Examples", "   :heading-level: -"]
    return "\n".join(lines) + "\n"


def shown(public: Public) -> str:
    """Write a name for the table of its package."""
    return public.name if public.home == public.package else f"~{public.page}"


def package_page(package: str, names: list[Public]) -> str:
    """Write the page of a package: what it is, and a table of its names."""
    lines = [heading(package), f".. automodule:: {package}", "   :no-members:", "", f".. currentmodule:: {package}", ""]
    lines += [".. autosummary::", "", *(f"   {shown(public)}" for public in names if not public.is_alias), ""]
    for public in names:
        if public.is_alias:
            lines += [f".. py:data:: {public.name}", "", f"   Earlier name of :py:obj:`~{public.page}`.", ""]
    lines += [".. toctree::", "   :hidden:", ""]
    own = [public for public in names if public.home == package and not public.is_alias]
    lines += [f"   {public.name} <{public.page}>" for public in own]
    return "\n".join(lines) + "\n"


def write_pages() -> list[Public]:
    """Write all pages; files that would not change keep their dates, so that a second build is fast."""
    names = public_names()
    pages = {
        f"{package}.rst": package_page(package, [n for n in names if n.package == package]) for package in PACKAGES
    }
    for public in names:
        if public.home == public.package and not public.is_alias:
            pages[f"{public.page}.rst"] = object_page(public).removeprefix(":orphan:\n\n")
    table = [".. list-table::", "   :widths: 35 65", ""]
    for package, what in PACKAGES.items():
        table += [f"   * - :doc:`{package}`", f"     - {what}"]
    tree = [".. toctree::", "   :hidden:", "", *(f"   {package}" for package in PACKAGES)]
    pages["packages.rst"] = "\n".join([heading("API reference"), INTRODUCTION, *table, "", *tree]) + "\n"
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        if old.name not in pages:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    for name, text in pages.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return names


INTRODUCTION = """\
Every public name, from its docstring. What is not listed here is private and may change without notice. Trees, models
and fitted estimators are interchangeable wherever a function takes ``tree``.
"""


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Lead a reference to any name of a public object (where it is defined, where it is handed on) to its page.

    What is there but private becomes text. What is not there is a broken reference, and stays a warning.
    """
    from docutils import nodes  # here, so that tests can read this file without sphinx
    from sphinx.util.nodes import make_refnode

    target = node["reftarget"].lstrip("~.")
    if target.startswith(LABELS_OF_OTHERS):
        return nodes.inline("", target.partition(":")[2] or target)
    if node.get("refdomain") != "py":
        return None
    scope = node.get("py:module") or ""
    for name in (target, f"{scope}.{target}"):
        value, rest = app.api_lookup(name)
        if value is not None:
            found = env.domains["py"].find_obj(env, None, None, ".".join([value, *rest]), None, 0)
            if found:
                full, entry = found[0]
                return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, full)
    return content if exists(target) else None


def exists(name: str) -> bool:
    """Whether a dotted name leads to something, in a module or in a class."""
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:n]))
        except (ImportError, ValueError, TypeError):
            continue
        for part in parts[n:]:
            if not hasattr(value, part) and part not in getattr(value, "__annotations__", {}):
                return False
            value = getattr(value, part, None)
        return True
    return False


def without_types(app: Any, what: str, name: str, value: Any, options: Any, signature: Any, result: Any) -> Any:
    """Leave types out of the signature of what describes its parameters: they stand there, in words."""
    if signature is None or "Parameters\n----" not in (inspect.getdoc(value) or ""):
        return None
    full = inspect.signature(value)
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in full.parameters.values()]
    if bare and bare[0].name in ("self", "cls"):
        bare = bare[1:]
    return str(full.replace(parameters=bare, return_annotation=inspect.Signature.empty)), None


def skip_routing(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the methods by which scikit-learn routes metadata: all estimators have them, and nobody reads them."""
    return True if name.startswith("set_") and name.endswith("_request") else None


class Lookup:
    """Finds the page of a dotted name by the object that it leads to."""

    def __init__(self, names: list[Public]) -> None:
        self.pages = {id(public.value): public.page for public in names if not public.is_alias}
        bare: dict[str, set[str]] = {}
        for public in names:
            bare.setdefault(public.name, set()).add(public.page)
        self.bare = {name: next(iter(pages)) for name, pages in bare.items() if len(pages) == 1}

    def __call__(self, name: str) -> tuple[str | None, list[str]]:
        parts = name.split(".")
        if parts[0] in self.bare:
            return self.bare[parts[0]], parts[1:]
        for n in range(len(parts), 0, -1):
            try:
                value = importlib.import_module(".".join(parts[:n]))
            except (ImportError, ValueError, TypeError):
                continue
            for k, part in enumerate(parts[n:], start=n):
                value = getattr(value, part, None)
                if id(value) in self.pages:
                    return self.pages[id(value)], parts[k + 1 :]
            return None, []
        return None, []


def setup(app: Any) -> dict[str, bool]:
    app.api_lookup = Lookup(write_pages())
    app.connect("missing-reference", resolve)
    app.connect("autodoc-skip-member", skip_routing)
    app.connect("autodoc-process-signature", without_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
