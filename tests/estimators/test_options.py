"""What splits and leaves may be, in any combination: files, exports and proofs hold for every tree that comes of it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor
from dtsemnet.export import to_python, to_text
from dtsemnet.verify import Domain, monotone, output_bounds, possible_classes, reachable_leaves

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
SIZE = np.exp(X[:, 0] - X[:, 1] + 0.3 * RNG.standard_normal(60))
TARGETS = {
    "class": SIZE > 1,
    "labels": np.column_stack([SIZE > 1, X[:, 2] > 0]).astype(int),
    "number": np.log(SIZE),
    "poisson": np.round(SIZE),
    "gamma": SIZE,
    "tweedie": np.maximum(SIZE - 1, 0),
}


@st.composite
def cases(draw):
    """An estimator with some of the options, and its targets."""
    target = draw(st.sampled_from(list(TARGETS)))
    options = {
        "max_split_features": draw(st.sampled_from([None, 1, 2])),
        "integer_weights": draw(st.sampled_from([False, True, 3])),
        "interaction_cst": draw(st.sampled_from([None, "pairwise", "no_interactions", [{0, 1}, {1, 2}]])),
        "monotonic_cst": draw(st.sampled_from([None, (1, -1, 0, 0)])),
        "random_state": draw(st.integers(0, 9)),
    }
    is_class = target in ("class", "labels")
    if not is_class:
        options["max_leaf_features"] = draw(st.sampled_from([None, 1, 2]))
    if target in ("poisson", "gamma", "tweedie"):
        options |= {"leaf": "constant", "loss": target}
    kind = DTSemNetClassifier if is_class else DTSemNetRegressor
    return kind(2, effort=0, n_init=1, max_iter=3, **options), TARGETS[target]


@settings(max_examples=25)
@given(case=cases())
def test_files_exports_and_proofs_hold_for_every_combination(case, tmp_path_factory):
    estimator, y = case
    model, domain = estimator.fit(X, y).model_, Domain.from_data(X)
    path = tmp_path_factory.mktemp("options") / "model.json"
    estimator.save(path)
    assert_array_equal(type(estimator).load(path).predict(X), estimator.predict(X))

    assert "rows reach the same leaf" in to_text(estimator, X) or not model.tree.n_splits
    report = to_python(estimator, X).report
    assert report.n_beyond == 0

    assert set(reachable_leaves(model, domain).reachable) >= set(model.apply(X))
    if model.is_classifier:
        possible = possible_classes(model, domain)
        assert all(possible[label].status == "reachable" for label in set(model.predict(X).tolist()))
    else:
        answers = model.predict(X).reshape(len(X), -1)
        for bounds, answer in zip(output_bounds(model, domain), answers.T):
            assert bounds.minimum.certified <= answer.min() <= answer.max() <= bounds.maximum.certified
    if estimator.monotonic_cst is not None:
        for output in [1] if model.is_classifier else range(model.tree.n_outputs):
            assert monotone(model, 0, domain, output=output, increasing=True).status == "yes"
            assert monotone(model, 1, domain, output=output, increasing=False).status == "yes"
