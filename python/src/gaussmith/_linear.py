"""What linear estimators share: the prior of the coefficients, and the coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._checked import mapping
from ._estimator_base import FloatArray, keep_parameters
from ._tables import TableFit


class LinearMixin:
    """Coefficients with names, means and deviations."""

    _accepts_sparse = True

    def __init__(
        self,
        *,
        likelihood: str | None = None,
        method: Any = None,
        formula: str | None = None,
        fit_intercept: bool = True,
        prior_scale: float = 2.5,
        coefficient_priors: Mapping[str, tuple[float, float]] | None = None,
        categorical: str | Sequence[str] | None = None,
        drop_missing: bool = False,
        latent_covariance: str = "",
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
        return {**self._shared(), **self._linear_options()}

    def _linear_options(self: Any) -> dict[str, Any]:
        options: dict[str, Any] = {
            "coefficient_priors": mapping("coefficient_priors", self.coefficient_priors),
        }
        if "prior.variance" not in (self.parameters or {}):
            options["parameters"] = {"prior.scale": self.prior_scale}
        if not self.formula or self._prior == "laplace":
            options |= {"prior": self._prior, "intercept": bool(self.fit_intercept)}
        return options

    def _keep(self: Any, fit: TableFit, threads: int) -> None:
        super()._keep(fit, threads)  # type: ignore[misc]
        self.coefficients_ = fit.coefficients()
        self.group_effects_ = fit.group_effects()
        for c in self.coefficients_:
            self._fields.append(("  " + c["name"], f"{c['mean']:.6g}, sd {c['sd']:.2g}, {c['lower']:.6g} to {c['upper']:.6g}"))

    def _by_name(self: Any, what: str, intercept: bool) -> FloatArray:
        check_is_fitted(self)
        found = [c[what] for c in self.coefficients_ if c["name"].startswith("(intercept)") == intercept]
        classes = len(getattr(self, "classes_", ()))
        rows = 1 if classes <= 2 else classes
        array = np.array(found, dtype=np.float64).reshape(rows, -1)
        return array if classes else array[0]

    @property
    def coef_(self: Any) -> FloatArray:
        """Means of the coefficients: one a column, and a row of them for classes."""
        found: FloatArray = self._by_name("mean", False)
        return found

    @property
    def coef_std_(self: Any) -> FloatArray:
        found: FloatArray = self._by_name("sd", False)
        return found

    @property
    def intercept_(self: Any) -> Any:
        found = self._by_name("mean", True).reshape(-1)
        if len(found) == 0:
            found = np.zeros(max(1, len(self.coef_) if hasattr(self, "classes_") else 1))
        return found if hasattr(self, "classes_") else float(found[0])
