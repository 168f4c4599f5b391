"""Estimators for scikit-learn, which must be installed: ``pip install gaussmith[sklearn]``."""

from ._classifiers import BayesianLinearClassifier, GaussianProcessClassifier
from ._network_estimators import NetworkClassifier, NetworkRegressor
from ._regressors import BayesianLinearRegressor, GaussianProcessRegressor, SparseLinearRegressor

__all__ = [
    "BayesianLinearClassifier",
    "BayesianLinearRegressor",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "NetworkClassifier",
    "NetworkRegressor",
    "SparseLinearRegressor",
]
