"""Answers to VNN-LIB properties against exact arithmetic, and witnesses replayed by the network and the tree."""

from __future__ import annotations

import random
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import z3
from hypothesis import strategies as st

from dtsemnet.export import to_onnx
from dtsemnet.tree import Column, Encoder, Model, TanhScale, Topology, Tree
from dtsemnet.verify import Domain, certify, never
from dtsemnet.verify.vnnlib import answer_vnnlib, never_vnnlib, parse_vnnlib, robustness_vnnlib
from strategies import trees
from verify.finite import finite_tree
from verify.oracle import N_TREES, affine, answer, is_satisfiable, law, leaf_terms, variables
from verify.test_finite_domains import LISTING, SEEDS, listing
from verify.test_float_neighbours import doubles_around

random_trees = st.sampled_from(["class", "constant", "linear", "guard"]).flatmap(
    lambda kind: trees(kind=kind, n_features=2, max_splits=3)
)


def head(tree):
    names = [f"X_{i}" for i in range(tree.n_features)] + [f"Y_{j}" for j in range(tree.n_outputs)]
    return "".join(f"(declare-const {name} Real)\n" for name in names)


def random_property(rng, tree):
    """Disjoint or nested boxes with linear atoms of outputs, as text with a margin that can be filled in."""
    n, m = tree.n_features, tree.n_outputs
    cases = []
    for _ in range(rng.choice([1, 1, 2])):
        parts = []
        for i in range(n):
            low, high = sorted(rng.randrange(-8, 9) / 8 for _ in range(2))
            parts += [f"(>= X_{i} (+ {low} MARGIN))", f"(<= X_{i} (- {high} MARGIN))"]
        if rng.random() < 0.3:
            parts.append(f"(<= (+ X_0 (* {rng.randrange(-8, 9) / 4} X_{n - 1})) (- {rng.randrange(-8, 9) / 8} MARGIN))")
        for _ in range(rng.choice([1, 1, 2])):
            j, k = rng.randrange(m), rng.randrange(m)
            right = rng.choice([f"Y_{k}", str(rng.randrange(-16, 3) / 8), f"(+ Y_{k} (- {rng.randrange(0, 9) / 8}))"])
            left = rng.choice([f"Y_{j}", f"(* {rng.choice([-1.0, 0.5, 2.0])} Y_{j})"])
            parts.append(f"({rng.choice(['<=', '>='])} {left} SIDE {right})")
        cases.append(f"(and {' '.join(parts)})")
    return f"(assert (or {' '.join(cases)}))" if len(cases) > 1 else f"(assert {cases[0]})"


def with_margin(text, margin):
    """The property with every comparison harder by a margin."""
    digits = f"{margin:.7f}"
    text = text.replace("MARGIN", digits)
    for sign, operation in (("<=", "+"), (">=", "-")):
        text = re.sub(rf"\({sign} (\S+|\([^()]*\)) SIDE ", rf"({sign} ({operation} \1 {digits}) ", text)
    return text


def exactly(tree, text):
    """Whether a property is satisfiable in real arithmetic: the definition of the outputs, written for z3."""
    x, y = variables(tree, "X_"), [z3.Real(f"Y_{j}") for j in range(tree.n_outputs)]
    formulas = list(z3.parse_smt2_string(head(tree) + text))
    if not tree.is_classifier:
        return any(
            is_satisfiable(
                [*formulas, *leaf_terms(tree, leaf, x, inside=False)]
                + [y[o] == answer(tree, leaf, o, x) for o in range(tree.n_outputs)]
            )
            for leaf in range(tree.n_leaves)
        )
    score = [affine(w, b, x) for w, b in zip(tree.weight, tree.bias)]
    size = [(z3.If(s < 0, -s, 0), z3.If(s > 0, s, 0)) for s in score]
    logits = [[] for _ in y]
    for leaf, k in enumerate(tree.leaf_class.tolist()):
        split, side = (part[leaf].tolist() for part in tree.topology.paths)
        violated = [size[i][1 - right] for i, right in zip(split, side) if i >= 0]
        logits[k].append(-z3.Sum([z3.RealVal(0), *violated]))
    everything = z3.Sum([z3.RealVal(1), *(part for pair in size for part in pair)])
    for k, terms in enumerate(logits):
        top = -everything if not terms else terms[0]
        for term in terms[1:]:
            top = z3.If(term > top, term, top)
        formulas.append(y[k] == top)
    return is_satisfiable(formulas)


def check_witness(tree, question, found):
    """The outputs told are those of the tree, and nearly those of the network."""
    assert question.holds([Fraction(v) for v in found.x], [Fraction(v) for v in found.y]) or tree.is_classifier
    row = np.array([found.x])
    if not tree.is_classifier:
        assert np.array_equal(np.atleast_1d(tree.predict(row)[0]), found.y)
        return
    assert np.argmax(found.y) == tree.leaf_class[tree.apply(row)[0]] or max(found.y) == 0
    if tree.n_splits and tree.n_outputs > 1:
        network = to_onnx(tree, form="class network", dtype="float64")
        assert network.answer(row).label[0] in tree.class_names
        import onnxruntime

        session = onnxruntime.InferenceSession(network.content, providers=["CPUExecutionProvider"])
        (logits,) = session.run(None, {"X": row})
        np.testing.assert_allclose(logits[0], found.y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", N_TREES)
def test_agrees_with_exact_arithmetic(n, record_property, tally):
    outcomes = Counter()

    @law(n, tree=random_trees, seed=st.integers(0, 2**32))
    def agrees(tree, seed):
        text = random_property(random.Random(seed), tree)
        question = parse_vnnlib(head(tree) + with_margin(text, 0.0))
        found = answer_vnnlib(tree, question)
        tally.next_tree()
        tally("answer_vnnlib", found.status != "unknown")
        possibly = exactly(tree, with_margin(text, 0.0))
        surely = possibly and exactly(tree, with_margin(text, 1e-6))
        outcomes[f"{'sat' if surely else 'sat at an edge' if possibly else 'unsat'}: {found.status}"] += 1
        if surely:
            assert found.status == "sat"
        if not possibly:
            assert found.status != "sat"
        if found.status == "sat":
            check_witness(tree, question, found)

    agrees()
    for outcome, count in outcomes.items():
        record_property(outcome, count)


def exact_outputs(tree, x):
    """What the variables Y mean, for one input."""
    if not tree.is_classifier:
        return [Fraction(float(value)) for value in np.atleast_1d(tree.predict(x[None])[0])]
    score = [Fraction(float(s)) for s in tree.scores(x[None])[0]]
    logits = [-1 - sum(map(abs, score), Fraction(0))] * tree.n_outputs
    for leaf, k in enumerate(tree.leaf_class.tolist()):
        split, side = (part[leaf].tolist() for part in tree.topology.paths)
        violated = [abs(score[i]) for i, right in zip(split, side) if i >= 0 and (score[i] > 0) != bool(right)]
        logits[k] = max(logits[k], -sum(violated, Fraction(0)))
    return logits


def sharp_property(rng, X, Y):
    """Cases whose ends and bounds are attained: contradictions, single inputs, equalities, ties of outputs."""
    cases = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        parts = []
        for i, column in enumerate(X.T.tolist()):
            low, high = rng.choice(column), rng.choice(column)
            low, high = sorted((low, high)) if rng.random() < 0.85 else (low, high)
            parts += [f"(= X_{i} {low!r})"] if low == high else [f"(>= X_{i} {low!r})", f"(<= X_{i} {high!r})"]
        if rng.random() < 0.3:
            factors = [rng.randrange(-4, 5) for _ in X.T]
            bound = sum(c * Fraction(v) for c, v in zip(factors, rng.choice(X.tolist())))
            total = " ".join(f"(* {c} X_{i})" for i, c in enumerate(factors))
            parts.append(f"({rng.choice(['<=', '>=', '='])} (+ {total}) (/ {bound.numerator} {bound.denominator}))")
        for _ in range(rng.choice([0, 1, 1, 2])):
            y, (j, k) = rng.choice(Y), (rng.randrange(len(Y[0])) for _ in range(2))
            left, value = rng.choice(
                [(f"Y_{j}", y[j]), (f"(- Y_{j} Y_{k})", y[j] - y[k]), (f"(* -2 Y_{k})", -2 * y[k])]
            )
            right = f"Y_{k}" if rng.random() < 0.3 else f"(/ {value.numerator} {value.denominator})"
            parts.append(f"({rng.choice(['<=', '>=', '='])} {left} {right})")
        cases.append(f"(and {' '.join(parts)})")
    return f"(assert (or {' '.join(cases)}))"


def decide_few_doubles(seed, lists):
    """Ask about a box of few doubles around ties; an answer that contradicts one of them is an error."""
    rng, draw = np.random.default_rng(seed), random.Random(seed)
    tree = finite_tree(rng, int(rng.integers(1, 4)), ["class", "constant", "linear"][seed % 3])
    X = doubles_around(rng, tree, int(rng.integers(1, 4)))
    X = np.where(np.abs(X) < 1e-290, 0.0, X)  # decimals of 300 digits are refused
    Y = [exact_outputs(tree, x) for x in X]
    question = parse_vnnlib(head(tree) + sharp_property(draw, X, Y))
    holds = any(question.holds([Fraction(v) for v in x], y) for x, y in zip(X.tolist(), Y))
    with listing(lists):
        found = answer_vnnlib(tree, question)
    assert found.status != ("unsat" if holds else "sat"), seed
    assert not lists or found.status != "unknown", seed
    return found.status


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lists", LISTING)
def test_agrees_with_every_double_of_a_small_box(seeds, lists, tally):
    statuses = [decide_few_doubles(seed, lists) for seed in seeds]
    assert {"sat", "unsat"} <= set(statuses)
    for status in statuses:
        tally.next_tree()
        tally("answer_vnnlib", status != "unknown")


TREE = Tree(
    Topology.complete(2), [[1.0, 1.0], [1.0, -1.0], [0.5, 1.0]], [-0.25, 0.125, -1.0], np.eye(3)[[0, 1, 2, 0]],
    class_names=["a", "b", "c"],
)  # fmt: skip


def test_robustness_and_never_say_what_the_library_says():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (40, 2))
    for epsilon in (0.05, 0.3):
        outcome = certify(TREE, rows, epsilon)
        for row, status in zip(rows, outcome.status):
            found = answer_vnnlib(TREE, parse_vnnlib(robustness_vnnlib(TREE, row, epsilon)))
            assert found.status == {"certified": "unsat", "broken": "sat"}[status]
    for low in (-1.0, 0.0, 0.7):
        domain = Domain(low, 1.0)
        for label in TREE.class_names:
            found = answer_vnnlib(TREE, parse_vnnlib(never_vnnlib(TREE, domain, label)))
            assert found.status == {"yes": "unsat", "no": "sat"}[never(TREE, domain, label).status]


def test_a_tie_satisfies_what_is_not_strict():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=["low", "high"])
    declared = head(tree)
    at_most_0 = f"{declared}(assert (>= X_0 -1))(assert (<= X_0 0))"
    found = answer_vnnlib(tree, parse_vnnlib(f"{at_most_0}(assert (>= Y_1 Y_0))"))
    assert (found.status, found.x, found.y) == ("sat", (0.0,), (0.0, 0.0))
    assert tree.predict([found.x]) == ["low"]
    assert never(tree, Domain(-1.0, 0.0), "high")
    assert answer_vnnlib(tree, parse_vnnlib(f"{at_most_0}(assert (>= (- Y_1 1e-9) Y_0))")).status == "unsat"
    above = f"{declared}(assert (>= X_0 1e-9))(assert (<= X_0 1))"
    assert answer_vnnlib(tree, parse_vnnlib(f"{above}(assert (>= Y_0 Y_1))")).status == "unsat"


def test_decimals_that_no_double_holds():
    tree = Tree(Topology.complete(1), [[1.0]], [-0.1], [[1, 0], [0, 1]], class_names=["low", "high"])
    text = head(tree) + "(assert (>= X_0 {0}))(assert (<= X_0 {0}))(assert (<= Y_0 Y_1))"
    assert answer_vnnlib(tree, parse_vnnlib(text.format("0.1"))).status == "unsat"  # no double is 0.1
    assert answer_vnnlib(tree, parse_vnnlib(text.format("0.125"))).status == "sat"


def test_scaled_columns_are_asked_about_in_their_own_units():
    model = Model(Encoder([Column("age", center=40.0, scale=0.1)]), TREE.replace(
        topology=Topology.complete(1), weight=[[1.0]], bias=[0.0], value=[[1, 0], [0, 1]], class_names=["a", "b"],
    ))  # fmt: skip
    text = head(model.tree) + "(assert (>= X_0 {}))(assert (<= X_0 {}))(assert (>= Y_1 Y_0))"
    assert answer_vnnlib(model, parse_vnnlib(text.format(30, 39))).status == "unsat"
    assert answer_vnnlib(model, parse_vnnlib(text.format(30, 41))).x[0] > 40 - 1e-9


def test_questions_that_the_model_does_not_fit_are_refused():
    question = parse_vnnlib(head(TREE) + "(assert (<= X_0 1))")
    with pytest.raises(ValueError, match="does not bound X_0 from below"):
        answer_vnnlib(TREE, question)
    one = Tree(Topology([]), np.empty((0, 1)), [], [[0.0]])
    with pytest.raises(ValueError, match="declares 2 variables X_i, but the model has 1"):
        answer_vnnlib(one, question)
    with pytest.raises(ValueError, match="squashed by tanh"):
        answer_vnnlib(Model(Encoder.identity(["x"]), one, TanhScale(-1.0, 1.0)), question)
    coloured = Model(Encoder([Column("colour", categories=["red"])]), Tree(Topology([]), np.empty((0, 1)), [], [[0.0]]))
    with pytest.raises(ValueError, match="'colour' has categories"):
        answer_vnnlib(coloured, question)
    with pytest.raises(ValueError, match="classifiers of two classes"):
        robustness_vnnlib(coloured, ["red"], 0.1)
    assert answer_vnnlib(TREE, parse_vnnlib(robustness_vnnlib(TREE, [0, 0], 1.0)), time_limit=0.0).status == "unknown"


def test_a_box_around_a_row_is_no_smaller_than_it_says():
    # 0.3 - 0.1 and 0.3 + 0.1 are rounded, the first up and the second down.
    row, epsilon = 0.3, 0.1
    text = robustness_vnnlib(
        Tree(Topology.complete(1), [[1.0]], [0.0], [[1, 0], [0, 1]], class_names=["a", "b"]), [row], epsilon
    )
    low, high = (Fraction(float(end)) for end in re.findall(r"X_0 (\S+)\)\)", text))
    assert low <= Fraction(row) - Fraction(epsilon)
    assert high >= Fraction(row) + Fraction(epsilon)


def test_answers_print_as_verifiers_print_them():
    found = answer_vnnlib(TREE, parse_vnnlib(robustness_vnnlib(TREE, [0.0, 0.0], 1.0)))
    text = found.to_text()
    assert text.splitlines()[0] == "sat"
    names = re.findall(r"\((\w+) (\S+?)\)", text)
    assert [name for name, _ in names] == ["X_0", "X_1", "Y_0", "Y_1", "Y_2"]
    assert [float(value) for _, value in names] == [*found.x, *found.y]
