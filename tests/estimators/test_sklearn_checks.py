"""Every check that scikit-learn has for estimators, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor


@parametrize_with_checks([DTSemNetClassifier(max_iter=3), DTSemNetRegressor(max_iter=3)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([DTSemNetClassifier(), DTSemNetRegressor()])
def test_scikit_learn_check_of_the_defaults(estimator, check):
    check(estimator)
