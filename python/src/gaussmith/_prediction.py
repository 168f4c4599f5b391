"""What a fitted Gaussian says about new points."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ._reports import Printed

if TYPE_CHECKING:
    from . import _core

FloatArray = npt.NDArray[np.float64]


class Prediction(Printed):
    """Predictions at M points, as arrays. Latent quantities are of eta, all others of a new response.

    Points are not coupled; for joint draws see :meth:`Posterior.sample`.
    """

    def __init__(self, core: _core.Prediction, probability: str = "auto", tolerance: float = 1e-4, seed: int = 0, threads: int = 1) -> None:
        self._core = core
        self._goal = (probability, tolerance, seed, threads)

    def __len__(self) -> int:
        return int(self._core.points)

    @cached_property
    def latent_mean(self) -> FloatArray:
        """Mean of eta: one number a point, or one a point and class."""
        return self._core.latent_mean()

    @cached_property
    def latent_variance(self) -> FloatArray:
        return self._core.latent_variance()

    @cached_property
    def latent_covariance(self) -> FloatArray:
        """Of the latents of a point with one another: M x C x C."""
        return self._core.latent_covariance()

    @cached_property
    def mean(self) -> FloatArray:
        """Mean of a new response; NaN where it does not exist."""
        return self._core.response_mean()

    @cached_property
    def variance(self) -> FloatArray:
        """Variance of a new response; NaN where it does not exist."""
        return self._core.response_variance()

    @property
    def sd(self) -> FloatArray:
        return np.sqrt(self.variance)

    @cached_property
    def probability(self) -> FloatArray:
        """P(y = 1) of two classes; M x C for several."""
        if self._core.latents > 1:
            return self._classes[0]
        return self._core.response_probability()

    @cached_property
    def _classes(self) -> tuple[FloatArray, FloatArray]:
        return self._core.class_probabilities(*self._goal)

    @property
    def probability_error(self) -> FloatArray:
        """Of several classes: the absolute error of a point's probabilities that is vouched for."""
        return self._classes[1]

    def quantile(self, level: float) -> FloatArray:
        """The response below which it lies with this probability."""
        return self._core.response_quantile(level)

    def cdf(self, y: npt.ArrayLike) -> FloatArray:
        """P(Y <= y)."""
        return self._core.response_cdf(y)

    def log_density(self, y: npt.ArrayLike) -> FloatArray:
        """log of the predictive density (mass) of y."""
        return self._core.log_density(y)

    def sample(self, draws: int, seed: int = 0) -> FloatArray:
        """Independent draws of the response at every point: M x draws."""
        return self._core.response_samples(draws, seed)

    def interval(self, level: float = 0.95) -> dict[str, FloatArray]:
        """The central interval of what eta stands for (a probability, a rate, a mean), without the noise of a response."""
        return self._core.interval(level)

    @property
    def class_log_density_lower(self) -> FloatArray:
        """Of multinomial-logit: lower bounds on the log probabilities of the classes."""
        return self._core.class_log_density_lower()

    @property
    def class_probabilities_at_mean(self) -> FloatArray:
        return self._core.class_probabilities_at_mean()

    @property
    def has_response(self) -> bool:
        """Whether more than latent quantities can be given; `missing` says why not."""
        return bool(self._core.has_response)

    @property
    def missing(self) -> str:
        return str(self._core.missing)

    def _fields(self) -> list[tuple[str, str]]:
        shown = 5

        def of(values: FloatArray) -> str:
            known = values[np.isfinite(values)]
            if not len(known):
                return "none"
            first = ", ".join(f"{value:.4g}" for value in values.ravel()[:shown])
            return f"{known.min():.4g} to {known.max():.4g}" + (f": {first}" + (", ..." if values.size > shown else ""))

        fields = [("Points", f"{len(self)}" + (f" of {self._core.latents} latents" if self._core.latents > 1 else ""))]
        if len(self):
            fields += [("Latent mean", of(self.latent_mean)), ("Latent sd", of(np.sqrt(self.latent_variance)))]
        fields.append(("Response", self._core.likelihood.name if self.has_response else f"none: {self.missing}"))
        return fields

    def __repr__(self) -> str:
        likelihood = f" of {self._core.likelihood.name}" if self.has_response else ", latent quantities only"
        return f"<Prediction: {len(self)} points{likelihood}>"
