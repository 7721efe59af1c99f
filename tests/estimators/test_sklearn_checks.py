"""Every check that scikit-learn has for estimators, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from dtsemnet import DTSemNetClassifier, DTSemNetRegressor


@parametrize_with_checks([DTSemNetClassifier(), DTSemNetRegressor()])
def test_scikit_learn_check(estimator, check):
    check(estimator)
