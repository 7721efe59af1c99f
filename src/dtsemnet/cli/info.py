"""``dtsemnet info``: versions, or what a model file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dtsemnet.cli.output import columns, print_json, say

if TYPE_CHECKING:
    from dtsemnet.tree import Model

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
dtsemnet info
dtsemnet info model.json
dtsemnet info model.json --json
"""

PACKAGES = {
    "numpy": "", "scipy": "", "scikit-learn": "", "numba": "", "rich": "", "typer": "", "pandas": "data",
    "pyarrow": "data", "matplotlib": "plot", "onnx": "onnx", "torch": "torch", "stable-baselines3": "rl",
}  # fmt: skip
"""Packages that matter, and the extra that installs each; empty for a base dependency."""


def run(
    model: Annotated[Path | None, typer.Argument(help="Model file.", metavar="MODEL")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Print the versions of this installation, or what a model file holds."""
    from dtsemnet import versions

    facts = versions("dtsemnet", "python", *PACKAGES) if model is None else _contents(model)
    if as_json:
        print_json(facts)
    elif model is None:
        lines = [[name, version or f"not installed (extra '{PACKAGES[name]}')"] for name, version in facts.items()]
        columns(["package", "version"], lines, words=True)
    else:
        _show(facts)


def _contents(path: Path) -> dict[str, Any]:
    from dtsemnet.cli.models import load
    from dtsemnet.tree import ReadingCost

    loaded = load(path)
    model, about = loaded.model, loaded.document.about
    tree, estimator = model.tree, about.get("estimator")
    cost = ReadingCost.of(model)
    leaves = "class" if tree.is_classifier else "constant" if tree.coef is None else "linear"
    return {
        "file": path,
        "holds": estimator if isinstance(estimator, str) else type(loaded.document.content).__name__,
        "task": "classification" if tree.is_classifier else "regression",
        "target": loaded.target,
        "classes": None if tree.class_names is None else list(tree.class_names),
        "depth": tree.depth, "splits": tree.n_splits, "leaves": tree.n_leaves, "kind of leaves": leaves,
        "outputs": tree.n_outputs,
        "probabilities": _probabilities(model),
        "columns": [
            {"name": column.name, "categories": None if column.categories is None else len(column.categories)}
            | {"missing": column.missing}
            for column in model.encoder.columns
        ],
        "features": tree.n_features,
        "weights that are not 0": int((tree.weight != 0).sum()),
        "to read": str(cost),
        "reading cost": {
            "columns of splits": sum(cost.columns_of_splits), "columns of leaves": sum(cost.columns_of_leaves),
            "longest path": cost.longest_path, "different columns": cost.n_distinct,
        },
        "fingerprint": model.fingerprint(),
        "versions": _object(about, "versions"),
        "fit": _object(about, "fit"),
    }  # fmt: skip


def _show(facts: dict[str, Any]) -> None:
    shown_apart = {"columns", "versions", "fit", "reading cost"}
    lines = [[name, _cell(value)] for name, value in facts.items() if name not in shown_apart and value is not None]
    lines += [["columns", str(len(facts["columns"]))]]
    fit = facts["fit"] or {}
    scores = _object(_object(fit, "dtsemnet") or {}, "test") or {}
    lines += [[f"{name}, test", f"{value:.4g}"] for name, value in scores.items() if isinstance(value, (int, float))]
    lines += [["fitted to", str(fit["data"])]] if "data" in fit else []
    writer = (facts["versions"] or {}).get("dtsemnet")
    lines += [["written by", f"dtsemnet {writer}"]] if writer else []
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        say(f"{name:<{width}}   {value}")
    say()
    columns(["column", "read as"], [[column["name"], _kind(column)] for column in facts["columns"]], words=True)


def _probabilities(model: Model) -> str | None:
    """Where the probabilities of classes come from, in short."""
    if not model.is_classifier:
        return None
    if model.probability is None:
        return "the shares of the classes in the leaf"
    parts = ", ".join(f"{name} {getattr(model.probability, name):.4g}" for name in ("rate", "power", "floor"))
    return f"calibrated: surer the farther a row lies from the other classes ({parts})"


def _object(about: dict[str, Any], key: str) -> dict[str, Any] | None:
    """Give a part of the metadata, which is free, if it is an object as ``fit`` writes it."""
    part = about.get(key)
    return part if isinstance(part, dict) else None


def _kind(column: dict[str, Any]) -> str:
    n = column["categories"]
    kind = "number" if n is None else "1 category" if n == 1 else f"{n:,} categories"
    return kind + (", may be missing" if column["missing"] == "indicator" else "")


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value[:8])) + (f", ... ({len(value)})" if len(value) > 8 else "")
    return f"{value:,}" if isinstance(value, int) else str(value)
