"""Two-layer networks and sparse linear models whose scales are all integrated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._posterior_base import PosteriorBase
from ._prediction import Prediction
from ._progress import Progress, started
from ._reports import warn_unless_converged

if TYPE_CHECKING:
    from ._files import SavedModel

FloatArray = npt.NDArray[np.float64]


class NetworkModel(_core.NetworkModel):
    """y ~ t(y | f), f(x) = u'(x, 1) + sum_k v_k erf(w_k'(x, 1) / sqrt 2): a network of `units` hidden units beside a linear one.

    `sites` are ``observe("gaussian", y, variance=1)``, whose variance is unknown whatever it says, or of a likelihood
    without free parameters (bernoulli-probit, poisson). ``units=0`` is a sparse linear model. `weights` says which input
    weights share an unknown log scale: "gaussian", "ard", "laplace", "laplace-ard" or "independent"; `groups` maps names
    to columns that share one under "ard" and "laplace-ard". Inputs and Gaussian responses are standardised beforehand.
    """

    def __init__(
        self,
        inputs: npt.ArrayLike,
        sites: _core.Sites,
        *,
        units: int = 10,
        weights: str = "ard",
        groups: Mapping[str, Sequence[int]] = {},
        linear: bool = True,
        scale_prior: tuple[float, float] = (-2.0, 3.0),
        noise_prior: tuple[float, float] = (-2.0, 2.0),
        bias_sd: float = 1.0,
        intercept_sd: float = 1.0,
        output_scale: float = 2.0,
        output_degrees: float = 4.0,
        offset: npt.ArrayLike | None = None,
        input_names: Sequence[str] = (),
        standardize: bool = True,
    ) -> None:
        given = {
            "units": int(units),
            "weights": weights,
            "groups": {str(name): list(columns) for name, columns in groups.items()},
            "linear": bool(linear),
            "scale_prior": scale_prior,
            "noise_prior": noise_prior,
            "bias_sd": bias_sd,
            "intercept_sd": intercept_sd,
            "output_scale": output_scale,
            "output_degrees": output_degrees,
            "offset": offset,
            "input_names": [str(name) for name in input_names],
            "standardize": bool(standardize),
        }
        super().__init__(inputs, sites, given)


@dataclass(frozen=True)
class Relevance:
    """What one input contributes."""

    input: int
    name: str
    share: float  #: Of the squared weights of all inputs.
    hidden_scale: tuple[float, float] | None  #: Under ard, laplace-ard: mean and sd of the log variance of its weights in hidden units,
    linear_scale: tuple[float, float] | None  #: and in the linear unit.
    irrelevant: bool  #: Its weights cannot be told from zero.


@dataclass(frozen=True)
class NetworkStart:
    """How one start ended."""

    log_evidence: float
    weight: float  #: In the mixture that predicts.
    residual: float
    sweeps: int
    units: int
    leave_one_out: float  #: Mean leave-one-out log density.
    status: str


class NetworkPosterior(PosteriorBase):
    """A fitted network: starts, stacked by their leave-one-out densities, with noise, scales and relevance."""

    integrated = None
    parameters: dict[str, float] = {}

    def __init__(self, core: _core.NetworkPosterior) -> None:
        super().__init__(core)
        self._core: _core.NetworkPosterior = core
        self._summary = core.summary()

    @property
    def model(self) -> _core.NetworkModel:
        return self._core.model

    @property
    def method(self) -> _core.NetworkEp:
        return self._core.method

    @property
    def units_kept(self) -> int:
        """Hidden units that the data have not switched off, in the heaviest start."""
        return int(self._summary["units_kept"])

    @property
    def noise(self) -> tuple[float, float] | None:
        """Of gaussian sites: mean and sd of the log of the noise variance."""
        found: tuple[float, float] | None = self._summary["noise"]
        return found

    @property
    def log_scales(self) -> dict[str, tuple[float, float]]:
        """Mean and sd of every log scale of input weights, of standardised inputs."""
        found: dict[str, tuple[float, float]] = self._summary["scales"]
        return found

    @cached_property
    def relevance(self) -> list[Relevance]:
        """What every input contributes, the largest share first."""
        return [Relevance(**fields) for fields in self._summary["relevance"]]

    @cached_property
    def starts(self) -> list[NetworkStart]:
        return [NetworkStart(**fields) for fields in self._summary["starts"]]

    def coefficients(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Of a sparse linear model, on the scale of the columns; empty for a network."""
        found: list[dict[str, Any]] = self._core.coefficients(level)
        return found

    def predict(self, inputs: npt.ArrayLike, *, offset: npt.ArrayLike | None = None, **arguments: npt.ArrayLike) -> Prediction:
        """Predictions at new inputs; `arguments` are those of the likelihood for the new rows, e.g. ``exposure=...``."""
        return Prediction(self._core.predict(inputs, offset, arguments))

    def saved(self) -> SavedModel:
        """What a file or a pickle holds: all that prediction needs."""
        from ._files import SavedModel

        return SavedModel(_core.SavedModel.of(self._core, _core.plain_coding(self.model)))

    def to_dict(self, *, leave_one_out: bool = False) -> dict[str, Any]:
        """All that ``gaussmith fit --json`` prints of a result, under the names of docs/formats.md."""
        import json

        found: dict[str, Any] = json.loads(_core.network_result_json(self._core, None, leave_one_out, None))
        return found

    def _fields(self) -> list[tuple[str, str]]:
        fields = [
            ("Model", repr(self.model).removeprefix("<NetworkModel: ").removesuffix(">")),
            ("Method", repr(self.method)),
            ("Evidence", f"log evidence {self.log_evidence:.6f} (an approximation: the true value may be higher or lower)"),
        ]
        if self.model.units > 0:
            fields.append(("Units", f"{self.units_kept} of {self.model.units} kept"))
        if self.noise is not None:
            fields.append(("Noise", f"sd {np.exp(0.5 * self.noise[0]):.4g} (log variance {self.noise[0]:.3f} +- {self.noise[1]:.3f})"))
        for input in self.relevance[:20]:
            unclear = ", cannot be told from irrelevant" if input.irrelevant else ""
            fields.append((f"  {input.name}", f"relevance {input.share:.4f}{unclear}"))
        return fields + self.report._fields()

    def __repr__(self) -> str:
        return f"<NetworkPosterior: {self.method!r}, log evidence {self.log_evidence:.6f}, {self.report.status}>"


def to_network_method(method: _core.NetworkEp | Any) -> _core.NetworkEp:
    """The method of a network from what infer() is given."""
    if method is None or method == "ep":
        return _core.NetworkEp()
    if not isinstance(method, _core.NetworkEp):
        raise _core.InvalidOption(f"method: networks and sparse linear models are fitted by NetworkEp alone, found {method!r}")
    return method


def infer_network(
    model: _core.NetworkModel, method: Any, threads: int, seed: int, form: str, progress: Progress
) -> NetworkPosterior:
    chosen = to_network_method(method)
    with started(progress, "ep") as told:
        core, interrupted = _core.infer_network(model, chosen, threads, seed, form, told)
    posterior = NetworkPosterior(core)
    warn_unless_converged("inference", posterior.report.status, posterior.report.message, interrupted, depth=4)
    return posterior
