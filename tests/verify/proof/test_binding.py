"""What lies in a domain is what the model reads: categories, missing values, names, and rows that lie outside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dtsemnet import DTSemNetClassifier
from dtsemnet.tree import Column, Encoder, Model, Topology, Tree
from dtsemnet.verify import (
    Domain,
    audit,
    certify,
    counterfactual,
    equivalent,
    lipschitz,
    monotone,
    never,
    output_bounds,
    possible_classes,
    reachable_leaves,
    robustness,
)

TWO = {"class_names": ["ok", "review"]}


def one_split(columns, weight, bias, **names):
    tree = Tree(Topology.complete(1), [weight], [bias], [[1, 0], [0, 1]], **(TWO | names))
    return Model(Encoder(columns), tree)


MARKED = one_split([Column("code", categories=[1, 2], missing="indicator")], [0.0, 0.0, 1.0], -0.5)
ZEROS = one_split([Column("code", categories=[1, 2])], [-1.0, -1.0], 0.5)
FILLED = one_split([Column("code", categories=[1, 2], missing="fill", fill=2)], [0.0, 1.0], -0.5)
NUMBER = one_split([Column("age", missing="fill", fill=50.0)], [1.0], -40.0)
TABLE = pd.DataFrame({"code": [1.0, 1.0, np.nan]})


@pytest.mark.parametrize("model", [MARKED, ZEROS, FILLED])
@pytest.mark.parametrize(
    "domain",
    [
        Domain.from_data(TABLE),
        Domain.from_data(TABLE.to_numpy()),
        Domain.from_data([[1.0], [None]]),
        Domain(0, 1, categories={"code": [1, np.nan]}),
        Domain(0, 1, categories={"code": [1]}, missing=["code"]),
        Domain(0, 1, fixed={"code": None}),
    ],
)
def test_missing_categories_are_part_of_the_domain(model, domain):
    assert "review" in model.predict(TABLE)
    answer = never(model, domain, "review")
    assert answer.status == "no"
    assert model.predict(answer.witness[None])[0] == "review"
    assert never(model, Domain(0, 1, fixed={"code": 1}), "review").status == "yes"


def test_codes_of_a_table_of_numbers_are_categories_if_the_model_reads_categories():
    seen = Domain.from_data(pd.DataFrame({"code": [1, 1, 7]}))
    assert never(ZEROS, seen, "review").status == "no"  # 7 is unknown, so all zeros
    assert never(ZEROS, Domain.from_data([[1], [2]]), "review").status == "yes"
    assert never(FILLED, Domain.from_data([[1], [1]]), "review").status == "yes"
    many = Domain.from_data(np.arange(5000.0)[:, None])  # too many values to list: any may occur
    assert never(ZEROS, many, "review").status == never(ZEROS, many, "ok").status == "no"


def test_texts_of_a_table_are_numbers_if_the_model_reads_numbers():
    assert never(NUMBER, Domain.from_data(pd.DataFrame({"age": ["18", "30"]})), "review").status == "yes"
    with pytest.raises(ValueError, match="domain holds 'old' in column 'age', which the model reads as numbers"):
        never(NUMBER, Domain.from_data(pd.DataFrame({"age": ["old", "30"]})), "review")


def test_a_fill_outside_the_range_is_reached_by_missing_values():
    ages = pd.DataFrame({"age": [18.0, 30.0, np.nan]})
    assert NUMBER.predict(ages).tolist() == ["ok", "ok", "review"]
    answer = never(NUMBER, Domain.from_data(ages), "review")
    assert answer.status == "no"
    assert np.isnan(answer.witness[0])
    assert never(NUMBER, Domain(18, 30), "review").status == "yes"
    between = one_split([Column("age", missing="fill", fill=50.0)], [1.0], -35.0)
    inside = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0], [1.0]], [-31, -49], [[1, 0], [0, 1], [1, 0]], **TWO)
    assert (
        never(Model(between.encoder, inside), Domain.from_data(ages), "review").status == "yes"
    )  # 31 to 49 are not there
    always = Domain.from_data(pd.DataFrame({"age": [np.nan, np.nan]}))
    assert [never(NUMBER, always, name).status for name in ("ok", "review")] == ["yes", "no"]


def test_a_row_outside_the_domain_is_refused_by_the_name_of_its_column():
    for row in (["nothing"], [2], [None]):
        for question in (
            lambda: robustness(MARKED, row, domain=Domain(0, 1, categories={"code": [1]})),  # noqa: B023
            lambda: counterfactual(MARKED, row, "review", domain=Domain(0, 1, categories={"code": [1]})),  # noqa: B023
            lambda: certify(MARKED, [row], 1.0, domain=Domain(0, 1, categories={"code": [1]})),  # noqa: B023
        ):
            with pytest.raises(ValueError, match="must lie in the domain, but column 'code' holds"):
                question()
    unknown = robustness(ZEROS, ["nothing"])  # without a domain every input counts, and categories are held
    assert (unknown.lower, unknown.point) == (np.inf, None)


def test_no_witness_is_half_of_two_categories():
    tree = Tree(Topology([[-1, 1], [-2, -3]]), [[1.0, 0.0], [0.0, 1.0]], [-0.3, -0.3], [[1, 0], [1, 0], [0, 1]], **TWO)
    model = Model(Encoder([Column("code", categories=["u", "v"])]), tree)
    for domain in (Domain(0, 1), Domain(0, 1, missing=["code"], unknown=["code"])):
        assert never(model, domain, "review").status == "yes"
        assert possible_classes(model, domain)["review"].status == "unreachable"
        assert output_bounds(model, domain)[1].maximum.certified == 0.0
        assert counterfactual(model, ["u"], "review", domain=domain) == []
        other = Model(model.encoder, tree.replace(value=[[1, 0]] * 3))
        assert equivalent(model, other, domain).status == "yes"


FRAME = pd.DataFrame({"debt": [0.0, 1.0], "income": [8.0, 9.0]})
NAMED = Tree(Topology.complete(1), [[1.0, 0.0]], [-5], [[1, 0], [0, 1]], feature_names=["income", "debt"], **TWO)


def test_columns_of_a_table_are_matched_by_name():
    assert Model.of(NAMED).predict(FRAME).tolist() == ["review", "review"]
    for domain in (
        Domain.from_data(FRAME),
        Domain(FRAME.min(), FRAME.max()),
        Domain([0, 8], [1, 9], names=FRAME.columns),
    ):
        assert never(NAMED, domain, "ok").status == "yes"
        (witness,) = [v.witness for v in reachable_leaves(NAMED, domain).verdicts if v.witness is not None]
        assert 8 <= witness[0] <= 9
        assert monotone(NAMED, "income", domain, output="review").status == "yes"
    numbered = Domain([0, 8], [1, 9], names=["debt", "income"], fixed={0: 0.5})  # numbers are those of the domain
    assert never(NAMED, numbered, "ok").status == "yes"
    more = FRAME.assign(target=[1, 2])
    assert never(NAMED, Domain.from_data(more), "ok").status == "yes"
    with pytest.raises(ValueError, match="domain has no column 'income'"):
        never(NAMED, Domain.from_data(FRAME.rename(columns={"income": "pay"})), "ok")
    constrained = Domain([0, 8, 0], [1, 9, 1], names=["debt", "income", "target"], A=[[0, 0, 1.0]], b=[0.5])
    with pytest.raises(ValueError, match="A constrains column 'target', which the model does not read"):
        never(NAMED, constrained, "ok")
    nameless = NAMED.replace(feature_names=None)
    assert never(nameless, Domain.from_data(FRAME), "review").status == "yes"  # by position


def test_trees_are_compared_column_by_column_by_name():
    swapped = NAMED.replace(feature_names=["debt", "income"])
    box = Domain(0, 10)
    found = equivalent(NAMED, swapped, box)
    assert found.status == "no"
    frame = pd.DataFrame([found.witness], columns=["income", "debt"])
    assert Model.of(NAMED).predict(frame)[0] != Model.of(swapped).predict(frame)[0]
    same = swapped.replace(weight=[[0.0, 1.0]])
    assert equivalent(NAMED, same, box).status == "yes"
    nameless = NAMED.replace(feature_names=None)
    other = NAMED.replace(bias=[-3.0])
    paid = Domain([0, 3.5], [1, 4.5], names=["debt", "income"])  # by the names of whichever tree has them
    for pair in ((nameless, other), (other, nameless)):
        found = equivalent(*pair, paid)
        assert found.status == "no"
        assert 3.5 <= found.witness[0] <= 4.5
    with pytest.raises(ValueError, match="tree_b reads column 'age'"):
        equivalent(NAMED, NAMED.replace(feature_names=["income", "age"]), box)
    # Sums in another order round differently, so that even the same weights may disagree: no proof may rely on them.
    weight = np.array([[1e16, 1.0, -1e16, *[0.5] * 30]])
    names = [f"c{j}" for j in range(33)]
    one = Tree(Topology.complete(1), weight, [-0.5], [[1, 0], [0, 1]], feature_names=names, **TWO)
    order = np.random.default_rng(0).permutation(33)
    other = one.replace(weight=weight[:, order], feature_names=[names[j] for j in order])
    answer = equivalent(one, other, Domain(0.9, 1.1))
    assert answer.status != "yes"
    if answer.witness is not None:
        assert one.predict(answer.witness[None]) != other.predict(answer.witness[None][:, order])


def test_the_training_table_of_a_model_is_certified_and_audited():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"code": rng.choice([1.0, 2.0, np.nan], 60), "x": rng.normal(size=60)})
    frame["code"] = frame["code"].astype("category")
    frame["kind"] = rng.choice(np.array(["a", "b", None], dtype=object), 60)
    y = np.where(frame["code"].isna(), "review", "ok")
    model = DTSemNetClassifier(max_depth=2, max_iter=20, n_init=1, random_state=0).fit(frame, y)
    domain = Domain.from_data(frame)
    for options in ({}, {"domain": domain}):
        outcome = certify(model, frame, 0.01, y=y, **options)
        assert set(outcome.status) <= {"certified", "broken", "undecided"}
    for name in ("ok", "review"):
        assert (never(model, domain, name).status == "no") == (name in model.predict(frame))
    text = audit(model, domain, frame, y, epsilon=[0.01]).to_markdown()
    assert "code in {1, 2} or missing" in text
    narrow = audit(model, domain.narrow({"x": (0.0, 9.0)}), frame, y, epsilon=[0.01])
    assert narrow.n_outside == int((frame["x"] < 0).sum())


def test_any_change_of_a_category_costs_the_same():
    # colour: red -> unknown is one feature that changes, red -> blue are two; both cost 1, and income a half
    columns = [Column("colour", categories=["red", "blue"]), Column("income")]
    value = [[1, 0], [0, 1]]
    model = one_split(columns, [-1.0, 0.0, 1.0], -0.5 + 0.999)
    assert model.tree.value.tolist() == value
    domain = Domain(0, 1, unknown=["colour"])
    (answer,) = counterfactual(model, ["red", 0.0], "review", domain=domain, cost={"colour": 1.0, "income": 1.5})
    assert answer.cost == pytest.approx(0.501 * 1.5, rel=1e-6)  # half a fee would have been cheaper
    (held,) = counterfactual(model, ["red", 0.0], "review", domain=domain, immutable=["income"])
    assert (held.cost, held.lower) == pytest.approx((1.0, 1.0), rel=1e-12)
    nothing = counterfactual(model, ["green", 1.0], "ok", domain=domain, immutable=["income"])
    assert (list(nothing), nothing.lower) == ([], np.inf)  # with an income of 1 every colour goes to review
    (known,) = counterfactual(one_split(columns, [-1.0, 0.0, 0.0], 0.5), ["green", 0.0], "ok", domain=domain)
    assert (known.cost, known.lower) == pytest.approx((1.0, 1.0), rel=1e-12)


def test_immutable_columns_that_are_mapped_stay_to_the_last_bit():
    rng = np.random.default_rng(0)
    columns = [Column(f"c{j}", center=float(c), scale=float(s)) for j, (c, s) in enumerate(rng.normal(size=(4, 2)))]
    for seed in range(30):
        rng = np.random.default_rng(seed)
        tree = Tree(
            Topology.complete(2), rng.normal(size=(3, 4)), rng.normal(size=3), np.eye(4), class_names=list("abcd")
        )
        model, x = Model(Encoder(columns), tree), rng.normal(size=4)
        for target in "abcd":
            for answer in counterfactual(model, x, target, domain=Domain(-5, 5), immutable=["c0", 2]):
                assert answer.point[[0, 2]].tolist() == x[[0, 2]].tolist()


def test_norms_of_tiny_numbers_are_not_lost():
    line = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], coef=[[[3e-170, 4e-170]]])
    assert lipschitz(line, norm=2).item() == pytest.approx(5e-170)
    big = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]], coef=[[[3e170, 4e170]]])
    assert lipschitz(big, norm=2).item() == pytest.approx(5e170)
    tiny = Tree(Topology.complete(1), [[3e-170, 4e-170]], [-5e-170], [[1, 0], [0, 1]], **TWO)
    found = robustness(tiny, [0.0, 0.0], norm=2)
    assert found.lower <= 1.0
    assert found.upper >= 1.0 - 1e-9


@pytest.mark.parametrize("norm", ["inf", 1])
def test_rows_are_certified_up_to_the_radius(norm):
    rng = np.random.default_rng(0)
    for _ in range(20):
        tree = Tree(
            Topology.complete(3), rng.normal(size=(7, 3)), rng.normal(size=7), np.eye(2)[rng.integers(0, 2, 8)], **TWO
        )
        x = rng.normal(size=3)
        found = robustness(tree, x, norm)
        if np.isfinite(found.upper) and found.lower > 0:
            below = float(np.nextafter(found.lower, 0.0))
            assert certify(tree, x[None], below * (1 - 1e-9), norm).status[0] == "certified"
            assert certify(tree, x[None], found.upper * (1 + 1e-9), norm).status[0] == "broken"


CATEGORIES = one_split([Column("code", categories=["u", "v"]), Column("x"), Column("y")], [1.0, 0.0, 1.0, 1.0], 0.0)


@pytest.mark.parametrize(
    ("restriction", "message"),
    [
        ({"categories": {"x": [1]}}, "categories names column 'x', which the model reads as numbers"),
        ({"categories": {"code": ["w"]}}, "categories holds 'w' for column 'code', which the model does not know"),
        ({"fixed": {"code": "w"}}, "fixed holds 'w' for column 'code', which the model does not know"),
        ({"categories": {"code": "uv"}}, "categories must list the values of column 'code'"),
        ({"categories": {"code": []}}, "categories leaves no value for column 'code'"),
        ({"fixed": {"code": "u"}, "categories": {"code": ["v"]}}, "fixed puts column 'code' at 'u', which categories"),
        ({"fixed": {"x": "u"}}, "fixed must hold a number for column 'x'"),
        ({"fixed": {"x": None}}, "fixed must hold a number for column 'x'"),
        ({"fixed": {"x": 0.5}, "integer": ["x"]}, "no integer in column 'x'"),
        ({"integer": [0.5]}, "integer must name columns by number or name, got 0.5"),
        ({"integer": "x"}, "integer must be a sequence of columns"),
        ({"integer": ["code"]}, "integer names column 'code', which the model reads as categories"),
        ({"unknown": ["x"]}, "unknown names column 'x', which the model reads as numbers"),
        ({"missing": [True]}, "missing must name columns by number or name"),
        ({"fixed": {1: 0.5, "x": 0.5}}, "fixed names column 'x' twice"),
        ({"names": ["a", "b"]}, "names must name 3 columns"),
        ({"names": ["a", "a", "b"]}, "names must be distinct"),
        ({"A": [[0, 2, 2], [0, -2, -2]], "b": [1.5, -1], "integer": ["x", "y"]}, "domain is empty"),
    ],
)
def test_restrictions_that_cannot_be_followed_are_refused(restriction, message):
    with pytest.raises(ValueError, match=message):
        never(CATEGORIES, Domain([0, 0, 0], [1, 1, 1], **restriction), "review")


def test_tolerances_and_time_limits_that_are_no_numbers_are_refused():
    tree = Tree(Topology.complete(1), [[1.0]], [0.0], [[0.0], [1.0]])
    for tolerance in (-1.0, np.nan, np.inf, "0"):
        with pytest.raises(ValueError, match="tolerance must be a finite number not below 0"):
            equivalent(tree, tree, Domain(0, 1), tolerance=tolerance)
    for seconds in (-1.0, np.nan):
        with pytest.raises(ValueError, match="time_limit must be a number of seconds"):
            reachable_leaves(tree, Domain(0, 1), time_limit=seconds)
    with pytest.raises(ValueError, match="margin must be"):
        Domain.from_data([[1.0]], margin=-1)


def test_every_question_keeps_its_time_and_says_what_it_knows():
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(3), rng.normal(size=(7, 4)), rng.normal(size=7), np.eye(2)[np.arange(8) % 2], **TWO)
    domain, none = Domain(-1, 1), {"time_limit": 0.0}
    leaves = reachable_leaves(tree, domain, **none)
    assert len(leaves.undecided) == 8
    assert leaves.check()
    assert never(tree, domain, "ok", **none).status == "undecided"
    assert possible_classes(tree, domain, **none)["ok"].status == "undecided"
    x = np.zeros(4)
    assert robustness(tree, x, **none).lower == 0.0
    assert certify(tree, [x], 5.0, **none).status.tolist() == ["undecided"]
    answers = counterfactual(tree, x, "review", domain=domain, **none)
    assert not answers
    assert answers.lower == 0.0
    (bounds, _) = output_bounds(tree, domain, **none)
    assert (bounds.minimum.certified, bounds.maximum.certified) == (0.0, 1.0)
    assert equivalent(tree, tree.replace(bias=-tree.bias), domain, **none).status == "undecided"
