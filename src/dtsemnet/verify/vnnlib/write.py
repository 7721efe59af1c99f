"""Questions about a tree written in VNN-LIB, so that verifiers of networks can be run on them.

They are about the inputs and the class logits of the network (:mod:`dtsemnet.verify.vnnlib.answer`), and state what
must not happen. Ends are written in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dtsemnet.arrays import Floats
from dtsemnet.tree import Model
from dtsemnet.tree._validate import not_negative
from dtsemnet.verify.proof.binding import bind
from dtsemnet.verify.proof.certificates import round_down, round_up
from dtsemnet.verify.proof.domain import Domain
from dtsemnet.verify.proof.encoded_domain import read_row
from dtsemnet.verify.proof.leaf_pairs import class_number

__all__ = ["never_vnnlib", "robustness_vnnlib"]


def robustness_vnnlib(tree: Any, x: Any, epsilon: float, *, domain: Domain | None = None) -> str:
    """State that some input near a row has another class, or ties with one: unsat if the row is robust.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier of columns of numbers.
    x : array_like of shape (n_columns,)
    epsilon : float
        How far every column may move.
    domain : Domain, optional
        A box that inputs stay in.

    Examples
    --------
    >>> from dtsemnet.tree import Topology, Tree
    >>> tree = Tree(Topology.complete(1), [[2.0]], [-1.0], [[1, 0], [0, 1]], class_names=["low", "high"])
    >>> print(robustness_vnnlib(tree, [0.25], 0.125))
    ; does an input within 0.125 of a row of class 'low' have another class?
    (declare-const X_0 Real)
    (declare-const Y_0 Real)
    (declare-const Y_1 Real)
    (assert (>= X_0 0.125))
    (assert (<= X_0 0.375))
    (assert (>= Y_1 Y_0))
    <BLANKLINE>
    """
    model = _numeric(tree)
    epsilon = not_negative("epsilon", epsilon)
    row = read_row(model, x)
    ends = [(Fraction(x) - Fraction(epsilon), Fraction(x) + Fraction(epsilon)) for x in row.tolist()]
    lower, upper = np.array([(round_down(low), round_up(high)) for low, high in ends]).T
    if domain is not None:
        least, most = _box(model, domain)
        lower, upper = np.maximum(lower, least), np.minimum(upper, most)
    own = int(model.tree.leaf_class[model.apply(row[None])[0]])
    others = [f"(>= Y_{k} Y_{own})" for k in range(model.tree.n_outputs) if k != own]
    label = model.class_names[own] if model.class_names is not None else own
    return _written(
        f"does an input within {epsilon!r} of a row of class {label!r} have another class?", lower, upper,
        len(others) + 1, [others[0] if len(others) == 1 else f"(or {' '.join(f'(and {atom})' for atom in others)})"],
    )  # fmt: skip


def never_vnnlib(tree: Any, domain: Domain, output: Any) -> str:
    """State that some input of a box has a class, or ties with it: unsat if it never comes out.

    Parameters
    ----------
    tree : Tree, Model or fitted estimator
        A classifier of columns of numbers.
    domain : Domain
        A box.
    output : label of a class
    """
    model = _numeric(tree)
    own = class_number(model, output)
    atoms = [f"(>= Y_{own} Y_{k})" for k in range(model.tree.n_outputs) if k != own]
    return _written(f"does the class {output!r} come out?", *_box(model, domain), len(atoms) + 1, atoms)


def _numeric(tree: Any) -> Model:
    model = Model.of(tree)
    if not (model.is_classifier and model.encoder.is_numeric) or model.tree.n_outputs < 2:
        raise ValueError("VNN-LIB questions are written for classifiers of two classes or more on columns of numbers.")
    return model


def _box(model: Model, domain: Domain) -> tuple[Floats, Floats]:
    encoded = bind(model, domain)
    if encoded.constraints is not None or encoded.choices or not all(one.present for one in encoded.readings):
        raise ValueError("domain must be a box of numbers: no constraints, integers or missing values.")
    return np.array([one.low for one in encoded.readings]), np.array([one.high for one in encoded.readings])


def _written(title: str, lower: Floats, upper: Floats, n_outputs: int, formulas: Sequence[str]) -> str:
    title = title.replace("\n", " ").replace("\r", " ")
    lines = [f"; {title}"]
    lines += [f"(declare-const X_{i} Real)" for i in range(len(lower))]
    lines += [f"(declare-const Y_{j} Real)" for j in range(n_outputs)]
    for i, (low, high) in enumerate(zip(lower.tolist(), upper.tolist())):
        lines += [f"(assert (>= X_{i} {low!r}))", f"(assert (<= X_{i} {high!r}))"]
    return "\n".join([*lines, *(f"(assert {formula})" for formula in formulas), ""])
