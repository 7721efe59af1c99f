"""A model card: the page that a model should never travel without.

It is Markdown with a header in YAML, the ``README.md`` that Hugging Face and other hubs show beside a model file: what
the model is, which columns it reads and how, how well it does and on which rows, the tree itself, how to load it, what
is proved about it. Facts come from the model and its file; what they do not know (scores on rows of yours, a licence,
proofs) is passed in, and what is not passed in is said to be unknown rather than left out.

The header is written in JSON, which is YAML too, so that no name can break out of it; names in the text are escaped.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from dtsemnet.export.readable.text import to_text
from dtsemnet.names import printable, printable_json
from dtsemnet.tree import Column, Model
from dtsemnet.tree.wording import number_text

__all__ = ["to_card"]

MOST_ROWS = 50
"""Columns, parameters and categories beyond this many are counted, not listed."""
MOST_LEAVES = 64
"""A larger tree is not printed."""

METRICS = {
    "accuracy": "accuracy",
    "balanced accuracy": "balanced_accuracy",
    "R2": "r_squared",
    "RMSE": "rmse",
    "MAE": "mae",
}
"""What hubs call the scores, as far as they have names for them."""


def to_card(
    tree: Any,
    X: Any = None,
    *,
    name: str = "model",
    file: str = "model.json",
    scores: Mapping[str, float] | None = None,
    evaluated_on: str | None = None,
    about: Mapping[str, Any] | None = None,
    license: str | None = None,
    intended_use: str | None = None,
    proofs: str | None = None,
) -> str:
    """Write the model card of a tree.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    X : array_like or data frame, optional
        Rows to count in the leaves of the tree that is printed.
    name : str, default="model"
        Title of the page.
    file : str, default="model.json"
        Name of the model file beside the card, for the lines that load it.
    scores : mapping of str to float, optional
        Scores on rows that the model was not trained on, by name.
    evaluated_on : str, optional
        Which rows these are.
    about : mapping, optional
        The ``about`` block of the model file, which knows the target, the parameters and the training.
    license : str, optional
        Licence of the model, as hubs spell it, such as ``"mit"``.
    intended_use : str, optional
        What the model is for, and what it is not for.
    proofs : str, optional
        What is proved, in Markdown, such as ``dtsemnet.verify.audit(...).to_markdown()``.

    Returns
    -------
    str
        The content of ``README.md``.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0]], [-0.5], [[1, 0], [0, 1]], class_names=["cold", "warm"])
    >>> print(to_card(tree, name="weather", scores={"accuracy": 0.9}, evaluated_on="30 days")[:34])
    ---
    library_name: "dtsemnet"
    tags:
    """
    model, about = Model.of(tree), dict(about or {})
    sections = [
        ("What it is", _what(model, about)),
        ("What it is for", _text(intended_use) if intended_use else _UNKNOWN_USE),
        ("How well it does", _scores(scores or {}, evaluated_on)),
        ("The tree", _tree(model, X, about.get("target"))),
        ("How to use it", _use(model, about, file)),
        ("What it reads", _columns(model.encoder.columns)),
        ("How it was made", _training(model, about)),
        ("What is proved", _nested(proofs) if proofs else _NO_PROOFS),
    ]
    body = "\n\n".join(f"## {title}\n\n{content}" for title, content in sections)
    return f"{_header(model, name, scores or {}, evaluated_on, license)}\n# {_text(name)}\n\n{body}\n"


_UNKNOWN_USE = "Not stated. Ask whoever made it before you rely on it."
_NO_PROOFS = "Nothing was proved. `dtsemnet verify` proves what can and what cannot come out on a range of inputs."


def _header(model: Model, name: str, scores: Mapping[str, float], evaluated_on: str | None, license: str | None) -> str:
    """The header that hubs read."""
    task = "tabular-classification" if model.is_classifier else "tabular-regression"
    fields: dict[str, Any] = {"library_name": "dtsemnet", "tags": [task, "dtsemnet", "decision-tree", "interpretable"]}
    fields |= {"pipeline_tag": task} | ({"license": license} if license else {})
    finite = {title: value for title, value in scores.items() if math.isfinite(value)}
    if finite:
        metrics = [
            {"type": METRICS.get(title, title), "name": title, "value": value} for title, value in finite.items()
        ]
        data = {"name": evaluated_on or "not stated", "type": "tabular"}
        result = {"task": {"type": task}, "dataset": data, "metrics": metrics}
        fields["model-index"] = [{"name": name, "results": [result]}]
    lines = []
    for field, value in fields.items():
        if isinstance(value, list):
            lines += [f"{field}:", *(f"- {_json(item)}" for item in value)]
        else:
            lines.append(f"{field}: {_json(value)}")
    return "\n".join(["---", *lines, "---", ""])


def _json(value: Any) -> str:
    return printable_json(json.dumps(value, ensure_ascii=False))


def _what(model: Model, about: Mapping[str, Any]) -> str:
    tree = model.tree
    kind = "the class" if model.is_classifier else "the number" if tree.n_outputs == 1 else "numbers"
    target = about.get("target")
    of = f" `{_code(target)}`" if isinstance(target, str) else ""
    lines = [
        f"One decision tree that predicts {kind}{of}: {_counted(tree.n_splits, 'split', 'splits')}, "
        f"{_counted(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.depth}. Each split tests a weighted "
        "sum of columns; a row follows one path to one leaf. The same row always gets the same answer, to the bit."
    ]
    if model.class_names is not None:
        lines.append("Classes: " + _listed(_text(name) for name in model.class_names) + ".")
    elif tree.coef is not None:
        lines.append("Each leaf holds a linear model of the columns.")
    lines.append(f"Fingerprint: `{model.fingerprint()}`")
    return "\n\n".join(lines)


def _counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def _scores(scores: Mapping[str, float], evaluated_on: str | None) -> str:
    if not scores:
        return "Not measured on rows that it was not trained on."
    rows = f"On {_text(evaluated_on)}:" if evaluated_on else "On which rows is not stated:"
    return rows + "\n\n" + _table(("score", "value"), [(name, number_text(value, 4)) for name, value in scores.items()])


def _tree(model: Model, X: Any, target: object) -> str:
    if model.tree.n_leaves > MOST_LEAVES:
        return (
            f"It has {model.tree.n_leaves} leaves, too many to print; `dtsemnet show` and `dtsemnet explore` show it."
        )
    named = [target] if isinstance(target, str) and not model.is_classifier and model.tree.n_outputs == 1 else None
    text = to_text(model, X, output_names=named, leaf_numbers=True)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _use(model: Model, about: Mapping[str, Any], file: str) -> str:
    from dtsemnet import versions

    estimator = about.get("estimator")
    known = estimator in ("DTSemNetClassifier", "DTSemNetRegressor")
    loads = f"from dtsemnet import {estimator if known else 'Model'}\n\nmodel = "
    loads += f"{estimator if known else 'Model'}.load({json.dumps(file)})\nmodel.predict(table)"
    words = f"`pip install dtsemnet=={versions('dtsemnet')['dtsemnet']}`, then with a data frame of the columns below:"
    return (
        f"{words}\n\n```python\n{loads}\n```\n\nThe file is JSON; loading it runs no code. `dtsemnet export` writes "
        "the same tree as C, SQL, ONNX or Python, compared with it row by row."
    )


def _columns(columns: Iterable[Column]) -> str:
    rows = []
    for column in columns:
        kind = "number" if column.categories is None else f"one of {_listed(_text(c) for c in column.categories)}"
        missing = {"indicator": "may be missing", "fill": "read as training's usual value"}.get(
            str(column.missing), "refused"
        )
        rows.append((column.name, kind, missing))
    shown = _table(("column", "holds", "missing values"), rows[:MOST_ROWS], escaped=(1,))
    return shown + (f"\n\nand {len(rows) - MOST_ROWS} more." if len(rows) > MOST_ROWS else "")


def _training(model: Model, about: Mapping[str, Any]) -> str:
    estimator, parts = about.get("estimator"), []
    parameters, training = _mapping(about, "parameters"), _mapping(about, "training")
    fit, found = _mapping(about, "fit"), _mapping(about, "versions")
    if isinstance(estimator, str):
        parts.append(
            f"Fitted by `{_code(estimator)}`" + (f", {training['n_epochs']} epochs" if training.get("n_epochs") else "")
        )
    if "data" in fit:
        rows = _mapping(fit, "rows")
        counts = ", ".join(f"{value} {part}" for part, value in rows.items() if isinstance(value, int))
        parts.append(f"to `{_code(fit['data'])}`" + (f" (rows: {_text(counts)})" if counts else ""))
    if found:
        parts.append(
            "with " + ", ".join(f"{_text(name)} {_text(version)}" for name, version in found.items() if version)
        )
    if not parts:
        return "The file does not say."
    lines = " ".join(parts) + "."
    given = [(name, json.dumps(value)) for name, value in sorted(parameters.items())]
    return lines + ("\n\n" + _table(("parameter", "value"), given[:MOST_ROWS]) if given else "")


def _mapping(content: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A part of the metadata, which is free, if it is an object."""
    part = content.get(key)
    return part if isinstance(part, Mapping) else {}


def _nested(markdown: str) -> str:
    """A page of Markdown as a section: its headings go down, its title goes."""
    lines = markdown.strip().splitlines()
    lines = lines[1:] if lines and lines[0].startswith("# ") else lines
    return "\n".join(f"#{line}" if re.match(r"#{2,5} ", line) else line for line in lines).strip()


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]], escaped: tuple[int, ...] = ()) -> str:
    lines = [titles, tuple("---" for _ in titles)]
    lines += [tuple(cell if k in escaped else _text(cell) for k, cell in enumerate(row)) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = f", and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
    return ", ".join(names[:MOST_ROWS]) + more


def _text(value: object) -> str:
    """A name as Markdown shows it: neither HTML nor a link, a table cell or an emphasis."""
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", html.escape(printable(value), quote=False))


def _code(value: object) -> str:
    """A name inside backticks."""
    return printable(value).replace("`", "'").replace("|", "/")
