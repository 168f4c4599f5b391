"""What the estimators by Gaussian processes share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._estimator_base import keep_parameters, kernel_options


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
        keep_parameters(self, locals())

    def _options(self: Any, names: Sequence[str]) -> dict[str, Any]:
        made = kernel_options(self.kernel, names, self.formula, "se")
        # A formula says itself whether there is an intercept.
        mean = 0.0 if self.mean == "auto" and self.formula else self.mean
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
