"""An audit file: what was proved about a tree on a domain, as text that can be filed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dtsemnet.tree import Model, as_model
from dtsemnet.verify.bounds import OutputBounds, output_bounds
from dtsemnet.verify.domain import Domain
from dtsemnet.verify.leaves import Reachability, reachable_leaves
from dtsemnet.verify.robustness import Certified, certify

__all__ = ["Report", "audit"]


@dataclass(frozen=True, eq=False)
class Report:
    """Outcome of :func:`audit`."""

    model: Model
    domain: Domain
    leaves: Reachability
    outputs: tuple[OutputBounds, ...]
    certified: tuple[Certified, ...] = field(default=())

    def to_markdown(self) -> str:
        """Write the report as Markdown."""
        model, parts = self.model, ["# What is proved about this tree", ""]
        parts += [f"- model: `{model!r}`", f"- fingerprint: `{model.fingerprint()}`", f"- domain: {_domain(self)}", ""]
        parts += [
            "## Leaves",
            "",
            f"{self.leaves}. Certificates hold in rational arithmetic: {self.leaves.check()}.",
            "",
        ]
        parts += ["| leaf | status | shown by |", "|---:|---|---|"]
        parts += [
            f"| {leaf} | {verdict.status} | {_shown_by(verdict)} |" for leaf, verdict in enumerate(self.leaves.verdicts)
        ]
        title = "class probability" if model.is_classifier else "output"
        parts += ["", "## Outputs", "", f"| {title} | least | largest | never outside |", "|---|---:|---:|---|"]
        for found in self.outputs:
            name = model.class_names[found.output] if model.class_names is not None else found.output
            low, high = found.minimum, found.maximum
            span = f"[{low.certified:.6g}, {high.certified:.6g}]"
            parts.append(f"| {name} | {low.attained:.6g} | {high.attained:.6g} | {span} |")
        if self.certified:
            parts += ["", "## Robustness", "", *(f"- {outcome}" for outcome in self.certified)]
        return "\n".join(parts) + "\n"


def audit(tree: Any, domain: Domain, X: Any = None, y: Any = None, *, epsilon: Any = (), norm: Any = "inf") -> Report:
    """Prove what can be proved in one go: reachable leaves, ranges of outputs, robustness of given rows.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
    domain : Domain
    X, y : array_like, optional
        Rows whose robustness is certified, and their true classes; of a classifier.
    epsilon : sequence of float, default=()
        Distances to certify.
    norm : "inf", 1 or 2, default="inf"

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[1.0, 1.0]], [-5.0], [[1, 0], [0, 1]], class_names=["small", "large"])
    >>> print(audit(tree, Domain(0.0, 1.0)).to_markdown().partition("## Outputs")[2])
    <BLANKLINE>
    <BLANKLINE>
    | class probability | least | largest | never outside |
    |---|---:|---:|---|
    | small | 1 | 1 | [1, 1] |
    | large | 0 | 0 | [0, 0] |
    <BLANKLINE>
    """
    model = as_model(tree)
    shares = tuple(certify(model, X, distance, norm, y=y) for distance in epsilon) if X is not None else ()
    return Report(model, domain, reachable_leaves(model, domain), output_bounds(model, domain), shares)


def _domain(report: Report) -> str:
    encoder, domain = report.model.encoder, report.domain
    lower, upper = (end if end.ndim else end.repeat(encoder.n_columns) for end in (domain.lower, domain.upper))
    ends = zip(encoder.columns, lower.ravel(), upper.ravel())
    spans = [f"{column.name} in [{low:g}, {high:g}]" for column, low, high in ends if column.categories is None]
    more = [
        f"{'fixed' if name == 'fixed' else name}: {part}"
        for name in ("fixed", "integer", "categories", "missing")
        if (part := getattr(domain, name))
    ]
    more += [] if domain.b is None else [f"{len(domain.b)} linear constraints"]
    return "; ".join(spans + more)


def _shown_by(verdict: Any) -> str:
    if verdict.witness is not None:
        return "`" + ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in verdict.witness.tolist()) + "`"
    return verdict.proof.reason if verdict.proof is not None else f"margin {verdict.margin:.2g}"
