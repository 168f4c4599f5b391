"""What the estimators by Gaussian processes share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._estimator_base import kernel_options


class ProcessMixin:
    """Parameters of a process, and its kernel."""

    def __init__(
        self,
        kernel: Any = "se",
        *,
        likelihood: str | None = None,
        method: Any = None,
        formula: str | None = None,
        standardize: bool = True,
        mean: Any = "auto",
        categorical: str | Sequence[str] | None = None,
        drop_missing: bool = False,
        latent_covariance: str = "",
        inducing: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        learn: bool = True,
        integrate: bool = False,
        hyperpriors: Any = "weak",
        fixed: str | Sequence[str] | None = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        restarts: int = 0,
        max_evaluations: int = 200,
        tolerance: float = 1e-5,
        form: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.method = method
        self.formula = formula
        self.standardize = standardize
        self.mean = mean
        self.categorical = categorical
        self.drop_missing = drop_missing
        self.latent_covariance = latent_covariance
        self.inducing = inducing
        self.parameters = parameters
        self.learn = learn
        self.integrate = integrate
        self.hyperpriors = hyperpriors
        self.fixed = fixed
        self.bounds = bounds
        self.restarts = restarts
        self.max_evaluations = max_evaluations
        self.tolerance = tolerance
        self.form = form
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _options(self: Any, names: Sequence[str]) -> dict[str, Any]:
        made = kernel_options(self.kernel, names, self.formula, "se")
        # Formulas, and kernels that name their columns, come with an intercept, which is the level of the data.
        own_level = bool(self.formula) or re.search(r"[\w-]\(", made.get("kernel", "")) is not None
        mean = 0.0 if self.mean == "auto" and own_level else self.mean
        return {"standardize": bool(self.standardize), "mean": mean, "inducing": self.inducing, **self._shared(), **made}

    @property
    def kernel_(self: Any) -> Any:
        """The kernel with its learned parameters; None where a formula has none."""
        check_is_fitted(self)
        return self._kernel

    @property
    def log_marginal_likelihood_value_(self: Any) -> float:
        check_is_fitted(self)
        return float(self.log_evidence_)
