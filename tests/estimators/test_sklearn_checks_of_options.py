"""Every check that scikit-learn has, with options on that change what a split may be; no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor

pytestmark = pytest.mark.slow
OPTIONS = ({"interaction_cst": "pairwise"}, {"integer_weights": True}, {"integer_weights": 3, "max_split_features": 2})


@parametrize_with_checks(
    [kind(max_iter=3, **options) for kind in (DTSemNetClassifier, DTSemNetRegressor) for options in OPTIONS]
    + [DTSemNetRegressor(max_iter=3, monotonic_cst={"x0": 1})]
)
def test_scikit_learn_check_with_an_option(estimator, check):
    check(estimator)
