"""Regressors for scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d, validate_data

from . import _core
from ._estimator_base import FloatArray, GaussmithEstimator, seed_of
from ._linear import LinearMixin
from ._prediction import Prediction
from ._process import ProcessMixin


def _numbers(y: Any) -> FloatArray:
    found: FloatArray = check_array(column_or_1d(y, warn=True), ensure_2d=False, dtype=np.float64, input_name="y")
    return found


class RegressorBase(RegressorMixin, GaussmithEstimator):  # type: ignore[misc]
    """Means, deviations, quantiles and draws of a response of any kind."""

    def _likelihood(self, y: Any) -> str:
        return "gaussian" if self.likelihood is None else str(self.likelihood)

    def _shared(self) -> dict[str, Any]:
        return {"latent_covariance": self.latent_covariance or ""}

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        trials: Any = None,
        censored: Any = None,
        event: Any = None,
    ) -> Any:
        """Fits the model.

        `X` is an array, a sparse matrix (linear models) or a frame, whose columns of texts and categories become 0/1
        columns; `y` is what the likelihood takes: numbers, counts, positive times. `offset` is added to the latent
        function, `exposure` multiplies expected counts, `trials` belong to binomial counts; of survival times `event`
        is 1 where they were seen to end, `censored` 1 where not. Each is one number a row, or the name of a column.
        """
        if y is None:
            validate_data(self, X, y)
        features = self._features(X, reset=True)
        y = _numbers(y)
        check_consistent_length(X, y)
        rows = {"offset": offset, "exposure": exposure, "trials": trials, "censored": censored, "event": event}
        self._fit(features, y, self._weights(sample_weight, len(y)), rows)
        return self

    def _predicted(self, X: Any, offset: Any, exposure: Any, trials: Any) -> Prediction:
        made = self._table_prediction(X, {"offset": offset, "exposure": exposure, "trials": trials})
        if not made.has_response:
            raise ValueError(made.missing)
        return made

    def predict(
        self, X: Any, return_std: bool = False, *, offset: Any = None, exposure: Any = None, trials: Any = None
    ) -> Any:
        """The mean of a new response, its median where there is no mean; with `return_std` also its deviation."""
        made = self._predicted(X, offset, exposure, trials)
        mean = made.mean
        if np.isnan(mean).any():
            mean = made.quantile(0.5)
        if not return_std:
            return mean
        if np.isnan(made.variance).any():
            raise ValueError(f"return_std: a response of {self._fitted.saved.likelihood.name} has no variance here; use predict_quantiles")
        return mean, made.sd

    def predict_quantiles(
        self,
        X: Any,
        quantiles: Sequence[float] = (0.05, 0.5, 0.95),
        *,
        offset: Any = None,
        exposure: Any = None,
        trials: Any = None,
    ) -> FloatArray:
        """Quantiles of a new response: rows x quantiles."""
        made = self._predicted(X, offset, exposure, trials)
        levels = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"quantiles: expected numbers between 0 and 1, found {levels.tolist()}")
        return np.column_stack([made.quantile(float(level)) for level in levels])

    def predict_latent(self, X: Any, return_std: bool = False, *, offset: Any = None, exposure: Any = None, trials: Any = None) -> Any:
        """Mean (and sd) of the latent function."""
        return self._latent(self._predicted(X, offset, exposure, trials), return_std)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = 0,
        *,
        offset: Any = None,
        exposure: Any = None,
        trials: Any = None,
    ) -> FloatArray:
        """Draws of new responses, independent between rows: rows x n_samples."""
        return self._predicted(X, offset, exposure, trials).sample(n_samples, seed_of(random_state))

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        trials: Any = None,
    ) -> float:
        """R^2 of the mean, as everywhere in scikit-learn."""
        made = self.predict(X, offset=offset, exposure=exposure, trials=trials)
        return float(r2_score(y, made, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        for info in _core.likelihood_catalogue():
            if info["name"] == self.likelihood:
                tags.target_tags.positive_only = info["response"] in ("positive", "count")
        return tags


class GaussianProcessRegressor(ProcessMixin, RegressorBase):
    """Regression by a latent Gaussian process, with any likelihood.

    `likelihood` is "gaussian" (None), "student-t", "cauchy" or "laplace" for outliers, "poisson", "negative-binomial"
    or "binomial-logit" for counts, "weibull", "exponential" or "gamma" for times. The other parameters and the
    attributes are those of :class:`GaussianProcessClassifier`; `mean` is the constant mean of the process, "auto" the
    level of the data.
    """


class BayesianLinearRegressor(LinearMixin, RegressorBase):
    """Linear regression with the posterior of its coefficients, with any likelihood.

    Parameters and attributes are those of :class:`BayesianLinearClassifier` and :class:`GaussianProcessRegressor`.
    """

    _prior = "linear"


class SparseLinearRegressor(LinearMixin, RegressorBase):
    """Linear regression with Laplace priors of the coefficients, which pull small ones to zero.

    The variance of a coefficient is (`prior_scale` s_y / s_j)^2 with s_j the deviation of its column, so that units do
    not matter: a smaller `prior_scale` pulls harder, and `log_evidence_` compares. The intercept keeps a wide Gaussian
    prior. ``parameters={"prior.variance": 1}`` gives all columns as they are one variance, which is then learned.
    Parameters and attributes are those of :class:`BayesianLinearRegressor`; there is no formula.
    """

    _prior = "laplace"

    def _method(self) -> Any:
        if self.method is not None:
            return self.method
        known = {info["name"]: info for info in _core.likelihood_catalogue()}
        return "vb" if known.get(self._likelihood(None), {}).get("super_gaussian", True) else "ep"
