"""Laws of the tree as a value and as a function."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet.tree import Topology, Tree
from strategies import points, trees, wild_points, wild_trees

ARRAYS = ("weight", "bias", "value", "coef", "lower", "upper")


def stump(**changes):
    parts = {"weight": [[1.0, 0.0]], "bias": [0.0], "value": [[1.0], [2.0]]} | changes
    return Tree(Topology.complete(1), **parts)


def answers(tree, X):
    return tree.apply(X), tree.scores(X).view(np.int64), tree.decision_path(X), tree.predict(X)


@given(st.data(), st.one_of(trees(), wild_trees()))
def test_a_row_does_not_depend_on_its_batch_or_layout(data, tree):
    X = data.draw(wild_points(tree.n_features))
    order = data.draw(st.permutations(range(len(X))))
    padded = np.full((len(X), 2 * tree.n_features + 1), np.nan)
    padded[:, 1::2] = X
    readonly = X.copy()
    readonly.flags.writeable = False
    expected = answers(tree, X)
    for other in (np.asfortranarray(X), padded[:, 1::2], X[::-1].copy()[::-1], readonly, X.astype(">f8"), X.tolist()):
        for one, two in zip(answers(tree, other), expected):
            assert_array_equal(one, two)
    for one, two in zip(answers(tree, X[order]), expected):
        assert_array_equal(one, two[order])
    for i in range(len(X)):
        for one, two in zip(answers(tree, X[i : i + 1]), expected):
            assert_array_equal(one, two[i : i + 1])


@given(st.data(), trees())
def test_a_row_does_not_depend_on_its_dtype(data, tree):
    X = np.rint(data.draw(points(tree.n_features)))
    for dtype in (np.float32, np.float16, np.longdouble, np.int8, np.int64):
        for one, two in zip(answers(tree, X.astype(dtype)), answers(tree, X)):
            assert_array_equal(one, two)
    for one, two in zip(answers(tree, X > 0), answers(tree, (X > 0) * 1.0)):
        assert_array_equal(one, two)


def test_large_arrays_in_blocks_give_the_same_rows(monkeypatch):
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(4), rng.normal(size=(15, 7)), rng.normal(size=15), rng.normal(size=(16, 1)))
    X = rng.normal(size=(1000, 7)).astype(np.float32)
    expected = answers(tree, X)
    monkeypatch.setattr("dtsemnet.tree.tree._BLOCK", 100)
    for one, two in zip(answers(tree, np.asfortranarray(X)), expected):
        assert_array_equal(one, two)
    linear = tree.replace(coef=rng.normal(size=(16, 1, 7)))
    assert_array_equal(linear.predict(np.asfortranarray(X)), np.concatenate([linear.predict(x[None]) for x in X]))
    X[700, 3] = np.inf
    for one in (tree, linear):
        with pytest.raises(ValueError, match="row 700, column 3"):
            one.predict(np.asfortranarray(X))


def test_a_wrong_number_of_columns_is_told_with_the_first_three():
    for n, said in ((3, "columns a, b, c in that order"), (4, r"columns a, b, c, \.\.\. in that order")):
        tree = Tree(Topology.complete(1), np.ones((1, n)), [0.0], [[0.0], [1.0]], feature_names=list("abcd")[:n])
        with pytest.raises(ValueError, match=said):
            tree.predict(np.zeros((1, 2)))


@given(st.data(), trees())
def test_the_decision_path_is_the_path_of_the_leaf(data, tree):
    X = data.draw(points(tree.n_features))
    assert_array_equal(tree.decision_path(X), tree.topology.paths.split[tree.apply(X)])
    sides = tree.topology.paths.side[tree.apply(X)]
    scores = tree.scores(X)
    for i, (path, side) in enumerate(zip(tree.decision_path(X), sides)):
        assert_array_equal(scores[i, path[path >= 0]] > 0, side[path >= 0] == 1)


@given(st.data(), trees())
def test_predictions_are_what_the_leaves_hold(data, tree):
    X = data.draw(points(tree.n_features))
    leaf = tree.apply(X)
    if tree.is_classifier:
        assert_array_equal(tree.predict_proba(X), tree.value[leaf])
        assert tree.predict(X).tolist() == [tree.class_names[int(np.argmax(tree.value[k]))] for k in leaf]
        return
    expected = tree.value[leaf]
    if tree.coef is not None:
        expected = expected + np.einsum("nod,nd->no", tree.coef[leaf], X)  # exact: multiples of 1/64
    if tree.lower is not None:
        expected = np.maximum(expected, tree.lower[leaf])
    if tree.upper is not None:
        expected = np.minimum(expected, tree.upper[leaf])
    assert_array_equal(tree.predict(X), expected[:, 0] if tree.n_outputs == 1 else expected)
    with pytest.raises(TypeError, match="class_names"):
        tree.predict_proba(X)


@given(trees())
def test_copies_are_equal_and_read_only(tree):
    for other in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert other == tree
        assert hash(other) == hash(tree)
        assert other.fingerprint() == tree.fingerprint()
        for name in ARRAYS:
            array = getattr(other, name)
            assert array is None or (not array.flags.writeable and array.base is None)
        with pytest.raises(AttributeError):
            other.bias = np.zeros(3)


@given(st.data(), trees())
def test_any_changed_bit_makes_another_tree(data, tree):
    name = data.draw(st.sampled_from([name for name in ARRAYS if getattr(tree, name) is not None]))
    parts = {name: getattr(tree, name) for name in ("topology", *ARRAYS, "feature_names", "class_names")}
    changed = parts[name].copy()
    if not changed.size:
        return
    place = tuple(data.draw(st.integers(0, n - 1)) for n in changed.shape)
    changed[place] = (
        -0.0 if changed[place] == 0 and not np.signbit(changed[place]) else np.nextafter(changed[place], 0.0)
    )
    other = Tree(**parts | {name: changed})
    assert other != tree
    assert other.fingerprint() != tree.fingerprint()


def test_names_belong_to_the_content():
    plain = stump()
    assert plain != stump(feature_names=["a", "b"])
    assert stump(value=[[1.0, 0.0], [0.0, 1.0]], class_names=[0, 1]) != stump(
        value=[[1.0, 0.0], [0.0, 1.0]], class_names=[False, True]
    )
    assert plain != "a tree"
    assert len({plain, stump(), stump(bias=[1.0])}) == 2


def test_the_callers_array_is_copied():
    weight = np.ones((1, 2))
    tree = stump(weight=weight)
    weight[:] = 5
    assert_array_equal(tree.weight, [[1.0, 1.0]])


def test_labels_keep_their_type():
    value = [[1.0, 0.0], [0.0, 1.0]]
    X = [[-1.0, 0.0], [1.0, 0.0]]
    for names, kind in [((1, 2), "i"), ((True, False), "b"), ((0.5, 1.5), "f"), (("a", "b"), "U"), ((1, "1"), "O")]:
        predicted = stump(value=value, class_names=names).predict(X)
        assert predicted.dtype.kind == kind
        assert [type(name) for name in predicted.tolist()] == [type(name) for name in names]
    assert stump(value=value, class_names=["a", "a\0"]).predict(X).tolist() == ["a", "a\0"]


def test_equal_probabilities_give_the_first_class():
    assert stump(value=[[0.5, 0.5], [0.0, 1.0]], class_names=["b", "a"]).leaf_class.tolist() == [0, 1]


def test_repr_says_what_the_tree_is():
    assert repr(stump()) == "Tree(depth 1, 1 split, 2 leaves, 2 features, constant leaves)"
    many = Tree(Topology([]), np.empty((0, 1)), [], [[0.2] * 5], class_names=range(5))
    assert repr(many) == "Tree(depth 0, 0 splits, 1 leaf, 1 feature, class leaves: 0, 1, 2, 3, ...)"
    four = Tree(Topology([]), np.empty((0, 1)), [], [[0.25] * 4], class_names=range(4))
    assert repr(four).endswith("class leaves: 0, 1, 2, 3)")
    linear = stump(coef=np.ones((2, 1, 2)), upper=[[1.0], [1.0]])
    assert "linear leaves, guarded" in repr(linear)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"weight": [[np.nan, 0.0]]}, "weight must be finite"),
        ({"weight": [1.0, 0.0]}, "weight must have shape"),
        ({"weight": [["a", "b"]]}, "weight must be an array of numbers"),
        ({"weight": [[1.0], [1.0, 2.0]]}, "weight must be an array of numbers"),
        ({"weight": np.empty((1, 0))}, "weight must have shape"),
        ({"bias": [0.0, 1.0]}, "bias must have shape"),
        ({"value": [1.0, 2.0]}, "value must have shape"),
        ({"coef": np.ones((2, 1, 3))}, "coef must have shape"),
        ({"lower": [[1.0], [1.0]], "upper": [[2.0], [0.0]]}, "lower must not exceed upper"),
        ({"class_names": ["a", "b"]}, "class_names must be 1 names"),
        ({"class_names": ["a"]}, "probabilities"),
        ({"value": [[0.5, 0.4], [1, 0]], "class_names": ["a", "b"]}, "probabilities"),
        ({"value": [[1.5, -0.5], [1, 0]], "class_names": ["a", "b"]}, "probabilities"),
        ({"value": [[1.0], [1.0]], "class_names": ["a"], "coef": np.ones((2, 1, 2))}, "coef belongs to regressors"),
        ({"value": [[1.0, 0.0]] * 2, "class_names": ["a", "a"]}, "class_names must be distinct"),
        ({"value": [[1.0, 0.0]] * 2, "class_names": [1, True]}, "class_names must be distinct"),
        ({"value": [[1.0, 0.0]] * 2, "class_names": ["a", float("inf")]}, "class_names must be finite"),
        ({"feature_names": ["a"]}, "feature_names must be 2 names"),
        ({"feature_names": ["a", "a"]}, "feature_names must be distinct"),
        ({"feature_names": ["a", 1]}, "feature_names must be strings"),
        ({"feature_names": ["a", "\ud800"]}, "feature_names must be text"),
    ],
)
def test_parts_that_do_not_fit_are_refused_by_name(changes, named):
    with pytest.raises(ValueError, match=named):
        stump(**changes)


@pytest.mark.parametrize(
    ("changes", "named"), [({"class_names": [None]}, "class_names"), ({"feature_names": "ab"}, "feature_names")]
)
def test_parts_of_another_type_are_refused_by_name(changes, named):
    with pytest.raises(TypeError, match=named):
        stump(**changes)
    with pytest.raises(TypeError, match="topology"):
        Tree([[-1, -2]], [[1.0]], [0.0], [[0.0], [1.0]])


@pytest.mark.parametrize(
    ("X", "named"),
    [
        ([1.0, 2.0], r"reshape"),
        ([[1.0]], "X has 1 columns, but this tree reads 2"),
        ([["a", "b"]], "X must hold numbers"),
        (np.ones((1, 2), dtype=complex), "X must hold numbers"),
        ([[0.0, 0.0], [0.0, np.nan]], r"got nan in row 1, column 1 \(x1\)"),
        ([[0.0, 0.0], [0.0, -np.inf]], r"got -inf in row 1, column 1 \(x1\)"),
    ],
)
@pytest.mark.parametrize("method", ["apply", "predict", "scores", "decision_path"])
def test_inputs_that_cannot_be_read_are_refused(X, named, method):
    leaf = Tree(Topology([]), np.empty((0, 2)), [], [[1.0]])
    line = stump(coef=np.ones((2, 1, 2)))
    for tree in (stump(), leaf, line):
        with pytest.raises(ValueError, match=named):
            getattr(tree, method)(X)


@pytest.mark.parametrize(("n_features", "named"), [(3, "x0, x1, x2[^.]"), (4, r"x0, x1, x2, \.\.\.")])
def test_a_table_of_another_width_is_told_the_first_columns(n_features, named):
    with pytest.raises(ValueError, match=named):
        Tree(Topology([]), np.empty((0, n_features)), [], [[1.0]]).apply([[0.0]])


def test_a_table_with_its_columns_in_another_order_is_refused():
    import pandas as pd

    tree = stump(feature_names=["a", "b"])
    frame = pd.DataFrame({"b": [0.0, 4.0], "a": [0.0, 0.0]})
    with pytest.raises(ValueError, match="in another order"):
        tree.predict(frame)
    assert_array_equal(tree.predict(frame[["a", "b"]]), tree.predict(frame[["a", "b"]].to_numpy()))
    assert len(tree.apply(frame.rename(columns={"b": "first", "a": "second"}))) == 2  # other names: by position


def test_sparse_matrices_are_refused_with_the_way_out():
    from scipy.sparse import csr_matrix

    with pytest.raises(ValueError, match="toarray"):
        stump().apply(csr_matrix(np.ones((2, 2))))


def test_overflow_routes_by_sign_and_is_refused_where_it_has_none():
    tree = stump(weight=[[1e300, -1e300]])
    assert tree.apply([[1e300, 0.0], [0.0, 1e300]]).tolist() == [1, 0]
    assert tree.scores([[1e300, 0.0]])[0, 0] == np.inf
    with pytest.raises(ValueError, match="row 1 is too large"):
        tree.apply([[0.0, 0.0], [1e300, 1e300]])
    line = stump(coef=[[[1e300, -1e300]]] * 2, upper=[[5.0], [5.0]])
    assert line.predict([[1e300, 0.0]]).tolist() == [5.0]
    with pytest.raises(ValueError, match="row 0 is too large"):
        line.predict([[1e300, 1e300]])


def test_a_table_that_grows_while_it_is_read_is_read_once():
    class Growing:
        n_rows = 1

        def __array__(self, dtype=None, copy=None):
            self.n_rows *= 1000
            return np.ones((self.n_rows, 2))

    assert stump(coef=[[[1.0, 0.0]], [[0.0, 1.0]]]).predict(Growing()).tolist() == [3.0] * 1000


def test_no_rows_give_no_answers():
    for tree in (stump(), stump(coef=np.ones((2, 1, 2))), Tree(Topology([]), np.empty((0, 2)), [], [[1.0, 2.0]])):
        empty = np.empty((0, 2))
        assert tree.apply(empty).shape == (0,)
        assert tree.scores(empty).shape == (0, tree.n_splits)
        assert tree.predict(empty).shape == ((0, 2) if tree.n_outputs == 2 else (0,))


@settings(max_examples=5)
@given(st.integers(2000, 5000))
def test_chains_deeper_than_the_stack_work(n_splits):
    children = [[~i, i + 1] for i in range(n_splits)]
    children[-1][1] = ~n_splits
    bias = -np.arange(n_splits, dtype=float)
    chain = Tree(Topology(children), np.ones((n_splits, 1)), bias, np.arange(n_splits + 1.0)[:, None])
    assert chain.depth == n_splits
    assert chain.apply([[0.5], [n_splits / 2], [2.0 * n_splits]]).tolist() == [1, (n_splits + 1) // 2, n_splits]
    assert pickle.loads(pickle.dumps(chain)) == chain


def test_threads_give_the_same_rows():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(6), rng.normal(size=(63, 20)), rng.normal(size=63), rng.normal(size=(64, 1)))
    X = rng.normal(size=(4000, 20))
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(tree.predict, np.array_split(X, 16)))
    assert_array_equal(np.concatenate(parts), tree.predict(X))


@given(trees(kind="guard"))
def test_replacing_keeps_what_is_not_named(tree):
    assert tree.replace() == tree
    moved = tree.replace(bias=tree.bias + 1.0)
    assert moved.replace(bias=tree.bias) == tree
    assert moved.upper is not None


@pytest.mark.parametrize("coef", [None, np.random.default_rng(1).normal(size=(8, 1, 3))])
def test_threads_share_rows_and_change_no_answer(coef, monkeypatch):
    from dtsemnet.tree import tree as module

    monkeypatch.setattr(module, "ROWS_OF_A_THREAD", 10)
    rng = np.random.default_rng(0)
    tree = Tree(Topology.complete(3), rng.normal(size=(7, 3)), rng.normal(size=7), rng.normal(size=(8, 1)), coef)
    for X in (rng.normal(size=(105, 3)), rng.integers(-3, 3, (105, 3)), rng.normal(size=(5, 3))):
        for n_threads in (1, 2, 3, 64):
            assert_array_equal(tree.apply(X, n_threads=n_threads), tree.apply(X))
            assert_array_equal(tree.predict(X, n_threads=n_threads), tree.predict(X))
    X = rng.normal(size=(105, 3))
    X[[50, 90], 1] = np.nan
    with pytest.raises(ValueError, match="in row 50,"):
        tree.predict(X, n_threads=4)
