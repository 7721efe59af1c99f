"""A tree as one page for the browser, in one file that loads nothing.

The page is a template, a style sheet and the modules in the folder ``page``, joined with the
description of the model (:mod:`dtsemnet.explorer.description`). A Content-Security-Policy inside
the page forbids every request, and every script and style but those that the page was written
with, which it names by their hashes. Names reach the page as JSON and are shown as text, never as
markup.

A server may send a policy of its own that forbids all scripts inside a page; both then hold.
The page says so, in a sentence that its script removes. For such servers script and style can be
files beside the page; the description stays inside, since data are no script and nothing forbids
them.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dtsemnet.explorer.description import GivenRows, describe
from dtsemnet.explorer.tree_path import TreePath, models_of, steps_of
from dtsemnet.files import write_atomically
from dtsemnet.names import shown
from dtsemnet.notebook import escape
from dtsemnet.tree import Model

__all__ = ["Page", "explore", "to_html"]

SCRIPTS = (
    *("model.js", "routing.js", "layout.js", "text.js", "theme.js", "facts.js", "pictures.js", "drawing.js"),
    *("elements.js", "answer-panel.js", "node-panel.js", "input-panel.js", "outline.js", "gestures.js"),
    *("tree-path.js", "main.js"),
)
"""Modules of the page, each after those that it imports."""


def to_html(
    tree: Any,
    path: str | PathLike[str],
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    max_rows: int = 1000,
    image_shape: tuple[int, int] | None = None,
    proofs: Any = None,
    separate: bool = False,
    rows_are: str = "",
) -> Path:
    """Write a page that shows a tree and answers what-if questions exactly as the tree does.

    Parameters
    ----------
    tree : Tree, Model, fitted estimator or SparsityPath
        A model takes inputs in its own columns, categories and missing values included, and is shown in their units.
        A path of trees (``sparsity_path`` of an estimator) gets a slider that moves along it.
    path : path
        File to write. An older file is replaced in one step. The folder must exist.
    X : array_like or data frame, optional
        Rows. They give the counts of the leaves and the ranges of the sliders, and users can step through them.
        Without X the page holds no row of data.
    y : array_like, optional
        Labels or targets of X. They give the class mix and the accuracy, or the root mean squared error, of each leaf.
    title : str, optional
        Heading. By default it says what the tree is.
    max_rows : int, default=1000
        Number of rows of X to embed at most, evenly spaced; the page says if it leaves some out. Counts and metrics
        use all rows. 0 gives counts, metrics and ranges without any row.
    image_shape : (height, width), optional
        Show splits, leaves and the input as pictures: the columns are pixels, row by row.
    proofs : Report, optional
        The result of :func:`dtsemnet.verify.audit` for the same tree. Leaves that no input of its domain reaches are
        marked, and the heading shows the share of rows that are certified.
    separate : bool, default=False
        Write script and style as files of their own beside the page, with its name and the endings ``.js`` and
        ``.css``, for a server whose Content-Security-Policy allows scripts only as files (``script-src 'self'``).

    rows_are : str, optional
        What X is to the tree, such as "training rows" or "142 of them trained on"; the page says it beside the
        accuracy.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = to_html(tree, Path(folder) / "tree.html", [[3.0, 2.0], [2.0, 2.0]], ["above", "below"])
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path {str(target)!r} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"path is in {str(target.parent)!r}, which is not a folder; make it first.")
    heading, description = _description(tree, X, y, title, max_rows, image_shape, proofs, rows_are)
    script, style = _script(), _read("style.css")
    if not separate:
        return write_atomically(target, _fill_template(heading, description, _Inside(script, style)))
    if target.suffix in (".js", ".css"):
        raise ValueError(
            f"path {str(target)!r} is the name of the script or the style; name a page, such as tree.html."
        )
    write_atomically(target.with_suffix(".js"), f'"use strict";\n{{\n{script}\n}}\n')
    write_atomically(target.with_suffix(".css"), style)
    return write_atomically(target, _fill_template(heading, description, _Beside(target.stem)))


@dataclass(frozen=True, repr=False)
class Page:
    """The explorer's page of a tree, which a notebook shows in a frame. Made by :func:`explore`."""

    title: str
    html: str
    """The whole page."""
    height: int = 600
    """Height of the frame, in pixels."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file, as :func:`to_html` does."""
        return write_atomically(path, self.html)

    def __repr__(self) -> str:
        return f"Page({shown(self.title)}, {len(self.html):,} characters)"

    def _repr_html_(self) -> str:
        # The page is data of the frame: it needs no file and no server. The sandbox lets its own script run, and keeps
        # it away from the notebook.
        style = f"width:100%;height:{self.height}px;border:1px solid rgba(128,128,128,0.35);border-radius:6px"
        return (
            f'<iframe sandbox="allow-scripts" style="{style}" title="{escape(self.title)}" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )


def explore(
    tree: Any,
    X: Any = None,
    y: Any = None,
    *,
    title: str | None = None,
    max_rows: int = 200,
    image_shape: tuple[int, int] | None = None,
    proofs: Any = None,
    rows_are: str = "",
    height: int = 600,
) -> Page:
    """Show the explorer inside a notebook: Jupyter, VS Code, Colab and others that show HTML.

    Parameters
    ----------
    tree, X, y, title, image_shape, proofs, rows_are
        As in :func:`to_html`.
    max_rows : int, default=200
        Number of rows of X to embed at most. They are kept in the notebook when it is saved; 0 embeds none.
    height : int, default=600
        Height of the frame, in pixels.

    Returns
    -------
    Page
        Shows itself as the last line of a cell; ``save(path)`` writes the same page to a file.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, -1.0]], [0.0], [[1, 0], [0, 1]], class_names=["below", "above"])
    >>> explore(tree)  # doctest: +ELLIPSIS
    Page('Decision tree, 2 leaves', ... characters)
    """
    heading, description = _description(tree, X, y, title, max_rows, image_shape, proofs, rows_are)
    return Page(heading, _fill_template(heading, description, _Inside(_script(), _read("style.css"))), height)


def _description(
    tree: Any, X: Any, y: Any, title: str | None, max_rows: int, image_shape: Any, proofs: Any, rows_are: str
) -> tuple[str, dict[str, Any]]:
    """Check the arguments of a page; give its heading and the description of the model."""
    models = models_of(tree) if isinstance(tree, TreePath) else [Model.of(tree)]
    model = models[0]
    if X is None and y is not None:
        raise ValueError("y was given without X; pass the rows that it belongs to.")
    if not isinstance(max_rows, int) or isinstance(max_rows, bool) or max_rows < 0:
        raise ValueError(f"max_rows must be a whole number, 0 or more, got {max_rows!r}.")
    shape = None if image_shape is None else _check_shape(image_shape, model)
    if proofs is not None and len(models) > 1:
        raise ValueError("proofs are about one tree, but the page is to show a path of several; leave proofs out.")
    if proofs is not None and proofs.model.fingerprint() != model.fingerprint():
        raise ValueError("proofs belong to another tree; pass audit(tree, ...) of the tree that is shown.")
    n_leaves = model.tree.n_leaves
    what = f"Decision tree, {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}"
    heading = str(title) if title is not None else f"{len(models)} decision trees" if len(models) > 1 else what
    descriptions = [
        describe(
            each, None if X is None else GivenRows(each, X, y, rows_are), title=heading, max_rows=max_rows,
            image_shape=shape, proofs=proofs,
        )
        for each in models
    ]  # fmt: skip
    if not isinstance(tree, TreePath):
        return heading, descriptions[0]
    return heading, descriptions[int(tree.chosen)] | {"path": steps_of(tree, descriptions)}


def _check_shape(image_shape: Any, model: Model) -> tuple[int, int]:
    columns = model.encoder.columns
    try:
        height, width = (int(length) for length in image_shape)
    except (TypeError, ValueError):
        raise ValueError(f"image_shape must be (height, width), got {image_shape!r}.") from None
    if min(height, width) < 1 or height * width != len(columns):
        raise ValueError(f"image_shape {height} x {width} does not fit {len(columns)} columns, one per pixel.")
    other = [column.name for column in columns if column.categories is not None or column.has_indicator]
    if other:
        raise ValueError(
            f"image_shape needs columns of numbers that were never missing, but {other[0]!r} is not one; "
            "leave image_shape out."
        )
    return height, width


@dataclass(frozen=True)
class _Inside:
    """Script and style inside the page."""

    script: str
    style: str

    @property
    def parts(self) -> dict[str, str]:
        script, style = _hash(self.script), _hash(self.style)
        allowed = f"<code>script-src '{script}'; style-src '{style}'</code>"
        return {
            "policy": _policy(f"'{script}'", f"'{style}'"),
            "style": f"<style>{self.style}</style>",
            "script": f'<script type="module">{self.script}</script>',
            "remedy": f"Open the file from a disk, let the server allow {allowed}, or write the page with "
            "<code>separate=True</code>, which puts script and style into files beside it.",
        }


@dataclass(frozen=True)
class _Beside:
    """Script and style in files beside the page, called by its name."""

    name: str

    @property
    def parts(self) -> dict[str, str]:
        name = html.escape(quote(self.name))
        return {
            "policy": _policy("'self'", "'self'"),
            "style": f'<link rel="stylesheet" href="{name}.css">',
            # Not a module: browsers do not load modules from a disk.
            "script": f'<script defer src="{name}.js"></script>',
            "remedy": f"Keep <code>{name}.js</code> and <code>{name}.css</code> beside the page, and let the server "
            "allow <code>script-src 'self'; style-src 'self'</code>.",
        }


def _fill_template(title: str, description: dict[str, Any], code: _Inside | _Beside) -> str:
    """Fill the template in one pass, so that no text inside a part is taken for a place to fill."""
    # In a script element only "<" can end the script or open a comment; JSON can write it as an escape.
    data = json.dumps(description, allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {**code.parts, "title": html.escape(title), "model": data}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _read("page.html"))


def _read(name: str) -> str:
    return (resources.files("dtsemnet.explorer") / "page" / name).read_text(encoding="utf-8")


def _script() -> str:
    """Join the modules to one script."""
    return "\n".join(_inline(_read(name)) for name in SCRIPTS)


def _inline(module: str) -> str:
    """Take imports and the word ``export`` out of a module, so that the modules can be joined to one script."""
    without_imports = re.sub(r"^(import [^;]*;|/\*\* @import .*\*/)\n", "", module, flags=re.MULTILINE)
    return re.sub(r"^export ", "", without_imports, flags=re.MULTILINE)


def _hash(text: str) -> str:
    """Name a script or a style by its content, as a policy does."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _policy(script: str, style: str) -> str:
    """Forbid every request and every other script, so that a name that broke out of its place could run nothing."""
    sources = f"default-src 'none'; script-src {script}; style-src {style}; img-src data:"
    return f"{sources}; base-uri 'none'; form-action 'none'"
