"""Networks for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from ._classifiers import ClassifierBase
from ._estimator_base import FloatArray, keep_parameters
from ._network import NetworkPosterior, Relevance
from ._regressors import RegressorBase
from ._tables import TableFit


class NetworkMixin:
    """Parameters of a network, and what its inputs contribute."""

    _prior = "network"
    _fewest_rows = 2

    def __init__(
        self,
        units: int = 10,
        *,
        weights: str = "ard",
        likelihood: str | None = None,
        starts: int = 4,
        method: Any = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        linear: bool = True,
        categorical: Sequence[str] | None = None,
        drop_missing: bool = False,
        parameters: Mapping[str, Any] | None = None,
        form: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        keep_parameters(self, locals())

    def _method(self: Any) -> Any:
        return _core.NetworkEp(starts=self.starts) if self.method is None else self.method

    def _learning(self) -> dict[str, Any]:
        return {"fit": "infer"}

    def _options(self: Any, names: Sequence[str]) -> dict[str, Any]:
        hidden = self.units > 0
        parameters: dict[str, Any] = {f"network.group.{name}": ",".join(columns) for name, columns in (self.groups or {}).items()}
        if not self.linear:
            parameters["network.linear"] = 0
        return {
            "prior": "network" if hidden else "sparse-linear",
            "units": int(self.units) if hidden else None,
            "weight_prior": self.weights,
            "parameters": parameters,
        }

    def _keep(self: Any, fit: TableFit, threads: int) -> None:
        super()._keep(fit, threads)  # type: ignore[misc]
        assert isinstance(fit.posterior, NetworkPosterior)
        columns = list(fit.coding["columns"])
        names = list(fit.coding["features"])
        # Of the 0/1 columns of texts the sum: features stand in the order of their columns.
        owner = [max((c for c in columns if n == c or n.startswith(c + "=")), key=len) for n in names]
        shares = dict.fromkeys(columns, 0.0)
        for input in fit.posterior.relevance:
            shares[owner[input.input]] += input.share
        self.relevance_: FloatArray = np.array([shares[name] for name in columns])
        self.relevances_: list[Relevance] = fit.posterior.relevance
        self.units_ = fit.posterior.units_kept
        self.noise_sd_ = None if fit.posterior.noise is None else float(np.exp(0.5 * fit.posterior.noise[0]))


class NetworkRegressor(NetworkMixin, RegressorBase):
    """Regression by a network of two layers whose weights, scales and noise are all integrated.

    Parameters
    ----------
    units : hidden units at most, the data switch off what they do not need; 0 is a sparse linear model
    weights : which input weights share a scale: "ard", "gaussian", "laplace", "laplace-ard", "independent"
    likelihood : "gaussian" (None), whose variance is unknown, or one without free parameters: "poisson", "binomial-logit"
    starts : how many, stacked by their leave-one-out densities
    method : a NetworkEp with its options, instead of `starts`
    groups : names of groups and their columns, which share a scale
    linear : a linear unit beside the hidden ones sees the inputs
    parameters : network.scale_prior, network.noise_prior and so on
    categorical, drop_missing, form, random_state, n_jobs, progress : as everywhere

    Attributes
    ----------
    relevance_ : shares of the features in the squared weights, in the order of columns
    relevances_ : the same with log scales, and whether an input cannot be told from an irrelevant one
    units_, noise_sd_ : hidden units that are left, and the sd of the noise
    log_evidence_, report_, converged_, loo_ : as everywhere
    """

    # Rows of a network have no weights: without the argument scikit-learn does not offer them either.
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        *,
        offset: Any = None,
        exposure: Any = None,
        trials: Any = None,
        censored: Any = None,
        event: Any = None,
    ) -> Any:
        """Fits the network; `X`, `y` and the arguments by row are those of :meth:`GaussianProcessRegressor.fit`."""
        return super().fit(X, y, None, offset=offset, exposure=exposure, trials=trials, censored=censored, event=event)


class NetworkClassifier(NetworkMixin, ClassifierBase):
    """Two classes by a network of two layers, bernoulli-probit unless `likelihood` is "logit".

    Parameters and attributes are those of :class:`NetworkRegressor`.
    """

    _several_classes = False

    def _likelihood(self, y: Any) -> str:
        link = "probit" if self.likelihood is None else str(self.likelihood)
        return f"bernoulli-{link}" if link in ("logit", "probit") else link

    def fit(self, X: Any, y: Any, *, offset: Any = None) -> Any:  # type: ignore[override]
        """Fits the network; `X`, `y` and `offset` are those of :meth:`GaussianProcessClassifier.fit`."""
        return super().fit(X, y, None, offset=offset)
