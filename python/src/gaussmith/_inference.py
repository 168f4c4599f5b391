"""infer and learn, and the posteriors that they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._checked import instance, mapping, method as to_method, names, points, threads_and_seed, to_seed, whole
from ._network import NetworkPosterior, infer_network
from ._posterior_base import LeaveOneOut, PosteriorBase
from ._prediction import Prediction
from ._progress import Progress, started
from ._reports import (
    IntegrationReport,
    LearnReport,
    make_integration_report,
    make_learn_report,
    warn_unless_converged,
)
from ._trust import Checks, Marginals, TrustCard, make_marginals

if TYPE_CHECKING:
    from ._files import SavedModel

FloatArray = npt.NDArray[np.float64]
Form = Literal["auto", "covariance", "precision", "sparse", "matrix-free"]


class MixtureScales(NamedTuple):
    """Under ``vmf``: the noise variance of a Student-t or Cauchy row is inverse-gamma(shape, rate); NaN in other rows."""

    shape: FloatArray
    rate: FloatArray
    mean_precision: FloatArray  #: E[1/variance], of Laplace and logistic rows too: small for outliers.


class Posterior(PosteriorBase):
    """The result of inference: a Gaussian over w with its evidence and its report."""

    def __init__(self, core: _core.Posterior) -> None:
        super().__init__(core)
        self._core: _core.Posterior = core

    @property
    def model(self) -> _core.Model:
        return self._core.model

    @property
    def method(self) -> _core.Method:
        return self._core.method

    @property
    def log_evidence_error(self) -> float:
        """An estimate of the numerical error of log_evidence alone."""
        return float(self._evidence["numerical_error"])

    @property
    def log_evidence_se(self) -> float | None:
        """The standard error of an evidence that is an estimate."""
        error = self._evidence["standard_error"]
        return None if error is None else float(error)

    @property
    def parameters(self) -> dict[str, float]:
        return self.model.parameters

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray]:
        return self._core.weights()

    @property
    def weights_mean(self) -> FloatArray:
        """Mean of w; computed when first asked for."""
        return self._weights[0]

    @property
    def weights_variance(self) -> FloatArray:
        return self._weights[1]

    @cached_property
    def gradient(self) -> dict[str, float]:
        """d log evidence / d log(parameter) for every learnable parameter."""
        return self._core.gradient()

    def covariance(self, rows: npt.ArrayLike) -> FloatArray:
        """Covariance of eta between these rows."""
        return self._core.latent_covariance(rows)

    def sample(self, draws: int, seed: int = 0) -> FloatArray:
        """Draws of w: D x draws."""
        return self._core.sample_weights(whole("draws", draws, 1), to_seed(seed))

    def to_arviz(self, draws: int = 500, *, chains: int = 4, seed: int = 0) -> Any:
        """Independent draws as an InferenceData of ArviZ.

        Groups: ``posterior`` (``eta`` at the rows, and ``w`` where a design stands between the two),
        ``posterior_predictive`` and ``log_likelihood`` (``y`` a row), ``observed_data``. The draws are of the Gaussian that
        stands for the posterior, so chains agree by construction; those of a sampler are taken from its own draws.
        """
        from ._arviz import to_arviz

        return to_arviz(self, draws, chains, seed)

    @cached_property
    def checks(self) -> Checks:
        """Warning signs at next to no cost: predicted shifts, skewness, rows that the others outvote."""
        return Checks(**_core.quick_checks(self._core))

    def diagnose(
        self,
        *,
        draws: int = 4000,
        most_draws: int = 40000,
        modes: bool = True,
        advice: bool = True,
        threads: int = 0,
        seed: int = 0,
        progress: Progress = None,
    ) -> TrustCard:
        """May this fit be trusted? Second order, other modes, and a check by importance sampling (docs/trust.md).

        The check makes `draws` at a time until the verdict is decided, `most_draws` at most. Where it is not ``"trust"``
        other methods are fitted and held against the same draws, unless `advice` is False.
        """
        threads, seed = threads_and_seed(threads, seed)
        draws, most_draws = whole("draws", draws, 1), whole("most_draws", most_draws, 1)
        with started(progress, "diagnosing") as told:
            fields, interrupted = _core.diagnose(self._core, draws, most_draws, bool(modes), bool(advice), threads, seed, told)
        warn_unless_converged("the diagnosis", "converged", "", interrupted)
        return TrustCard(fields)

    def marginals(
        self,
        rows: npt.ArrayLike | None = None,
        *,
        weights: npt.ArrayLike | None = None,
        inputs: npt.ArrayLike | None = None,
        design: Any = None,
        offset: npt.ArrayLike | None = None,
        ep: Literal["factorised", "one-step"] = "factorised",
        levels: Sequence[float] = (0.025, 0.25, 0.5, 0.75, 0.975),
    ) -> Marginals:
        """Marginals of rows, weights and new points beyond the Gaussian, for laplace and ep (docs/trust.md)."""
        return make_marginals(
            _core.corrected_marginals(self._core, rows, weights, inputs, design, offset, ep, list(levels))
        )

    def tierney_kadane_probability(
        self,
        inputs: npt.ArrayLike | None = None,
        *,
        design: Any = None,
        offset: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """P(y = 1) at new points as ratios of Laplace evidences; the laplace method and two classes."""
        return _core.tierney_kadane_probability(self._core, inputs, design, offset)

    @property
    def scales(self) -> MixtureScales | None:
        """Of ``vmf`` with rows that are scale mixtures: the posterior of every row's noise variance."""
        found = self._core.scales()
        return None if found is None else MixtureScales(*found)

    @property
    def site_approximation(self) -> tuple[FloatArray, FloatArray]:
        """Precisions and shifts of the Gaussian sites that stand for the model's."""
        return self._core.site_approximation()

    def predict(
        self,
        inputs: npt.ArrayLike | None = None,
        *,
        design: Any = None,
        offset: npt.ArrayLike | None = None,
        variance: npt.ArrayLike | None = None,
        block: int = 0,
        **arguments: npt.ArrayLike,
    ) -> Prediction:
        """Predictions at new inputs of a Gaussian process, or for new rows of the design.

        `arguments` are those of the likelihood for the new rows, e.g. ``exposure=...``; missing ones keep the value
        that was the same in all rows of the model. `variance` is added to the latent one.
        """
        points(inputs, design)
        return Prediction(self._core.predict(inputs, design, offset, variance, whole("block", block), arguments))

    def saved(self) -> SavedModel:
        """What a file or a pickle holds: all that prediction needs."""
        from ._files import SavedModel

        return SavedModel(_core.SavedModel.of(self._core, _core.plain_coding(self.model)))

    def to_dict(self, *, leave_one_out: bool = False) -> dict[str, Any]:
        """All that ``gaussmith fit --json`` prints of a result, under the names of docs/formats.md."""
        import json

        from ._files import result_json

        found: dict[str, Any] = json.loads(result_json(self, leave_one_out=leave_one_out))
        return found

    def _fields(self) -> list[tuple[str, str]]:
        kinds = {
            "exact": "exact",
            "lower-bound": "a lower bound",
            "approximation": "an approximation: the true value may be higher or lower",
            "estimate": "an estimate" if self.log_evidence_se is None else f"an estimate, standard error {self.log_evidence_se:.2g}",
        }
        fields = [("Model", repr(self.model).removeprefix("<Model: ").removesuffix(">"))]
        fields.append(("Method", repr(self.method)))
        known = self.log_evidence == self.log_evidence
        fields.append(("Evidence", f"log evidence {self.log_evidence:.6f} ({kinds[self.evidence_kind]})" if known else "none: chains do not tell it"))
        return fields + self.report._fields()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.method!r}, log evidence {self.log_evidence:.6f}, {self.report.status}>"


class Integrated:
    """The average over the parameters of a model."""

    def __init__(self, core: _core.Integrated) -> None:
        self._core = core

    @property
    def model(self) -> _core.Model:
        """At the mode."""
        return self._core.model

    @cached_property
    def report(self) -> IntegrationReport:
        return make_integration_report(self._core.report())

    @property
    def log_evidence(self) -> float:
        return self.report.log_evidence

    @property
    def mean(self) -> FloatArray:
        """Mean of eta at the model's rows."""
        return self._core.latent()[0]

    @property
    def variance(self) -> FloatArray:
        return self._core.latent()[1]

    @property
    def weights_mean(self) -> FloatArray:
        return self._core.weights()[0]

    @property
    def weights_variance(self) -> FloatArray:
        return self._core.weights()[1]

    @property
    def leave_one_out(self) -> LeaveOneOut | None:
        """Where integration was asked for it."""
        fields = self._core.leave_one_out()
        return None if fields is None else LeaveOneOut(fields)

    def predict(
        self,
        inputs: npt.ArrayLike | None = None,
        *,
        design: Any = None,
        offset: npt.ArrayLike | None = None,
        variance: npt.ArrayLike | None = None,
        block: int = 0,
        threads: int = 0,
        **arguments: npt.ArrayLike,
    ) -> Prediction:
        """As :meth:`Posterior.predict`, averaged over the parameters."""
        points(inputs, design)
        threads, _ = threads_and_seed(threads, 0)
        return Prediction(self._core.predict(inputs, design, offset, variance, whole("block", block), arguments, threads))

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __repr__(self) -> str:
        return f"<Integrated: {self.report.message}>"


class Learned(Posterior):
    """The posterior at the learned parameters, with the report of learning."""

    def __init__(self, core: _core.Learned, integrated: Integrated | None = None) -> None:
        super().__init__(core.posterior)
        self._learned = core
        self.integrated = integrated  #: The average over the parameters, where it was asked for.

    @cached_property
    def learning(self) -> LearnReport:
        return make_learn_report(self._learned.report())

    @property
    def converged(self) -> bool:
        return self.report.converged and self.learning.converged

    def saved(self) -> SavedModel:
        from ._files import SavedModel

        coding = _core.plain_coding(self.model)
        if self.integrated is not None:
            return SavedModel(_core.SavedModel.of(self._learned, self.integrated._core, coding))
        return SavedModel(_core.SavedModel.of(self._learned, coding))

    def _fields(self) -> list[tuple[str, str]]:
        fields = super()._fields() + self.learning._fields()
        return fields if self.integrated is None else fields + self.integrated.report._fields()


def default_method(model: _core.Model) -> str:
    """"exact" for Gaussian sites, "laplace" for others; of several latents "kl" where the likelihood has it."""
    methods: list[str] = model.sites[0].traits["methods"]
    if methods:
        return "kl" if "kl" in methods else methods[0]
    return "exact" if all(block.traits["gaussian"] for block in model.sites) else "laplace"


def _named(model: _core.Model, method: _core.Method | str | None, inducing: int | None) -> _core.Method | str:
    if method is not None:
        return method
    return default_method(model) if inducing is None else "kl"


@overload
def infer(
    model: _core.Model,
    method: _core.Method | str | None = None,
    *,
    threads: int = 0,
    seed: int = 0,
    form: Form = "auto",
    substitutes: bool = True,
    progress: Progress = None,
    warm_start: Posterior | None = None,
    inducing: int | None = None,
    inducing_select: Literal["active", "random"] = "active",
) -> Posterior: ...
@overload
def infer(
    model: _core.NetworkModel,
    method: _core.NetworkEp | Literal["ep"] | None = None,
    *,
    threads: int = 0,
    seed: int = 0,
    form: Form = "auto",
    progress: Progress = None,
) -> NetworkPosterior: ...
def infer(
    model: Any,
    method: Any = None,
    *,
    threads: int = 0,
    seed: int = 0,
    form: Form = "auto",
    substitutes: bool = True,
    progress: Progress = None,
    warm_start: Posterior | None = None,
    inducing: int | None = None,
    inducing_select: Literal["active", "random"] = "active",
) -> Any:
    """Runs a method on a model.

    `method` is a :class:`Laplace`, :class:`Kl`, ... with its options, or a name; without one it is ``exact`` for
    Gaussian sites and ``laplace`` for others. `threads` bounds all parallelism (0: all cores) and with `seed` fixes the
    result. `progress` is True for a bar, or a function that is given every :class:`Iteration`; where it returns False
    the run stops and the result so far is returned. So it is on Ctrl-C. `inducing` inputs are chosen among those of the
    rows, through which alone a process is then seen (``kl``, the default then). A :class:`NetworkModel` is fitted by
    :class:`NetworkEp`.
    """
    threads, seed = threads_and_seed(threads, seed)
    if isinstance(model, _core.NetworkModel):
        if warm_start is not None or inducing is not None:
            raise _core.InvalidOption(f"{'inducing' if warm_start is None else 'warm_start'}: a network has no use for it")
        return infer_network(model, method, threads, seed, form, progress)
    instance("model", model, _core.Model, "a Model")
    if warm_start is not None:
        instance("warm_start", warm_start, Posterior, "a Posterior")
    chosen = to_method(_named(model, method, inducing))
    if inducing is not None:
        model, _ = _core.choose_inducing(model, whole("inducing", inducing, 1), inducing_select, threads, seed)
    with started(progress, chosen.name) as told:
        core, interrupted = _core.infer(
            model, chosen, threads, seed, form, substitutes, told, None if warm_start is None else warm_start._core
        )
    posterior = Posterior(core)
    warn_unless_converged("inference", posterior.report.status, posterior.report.message, interrupted)
    return posterior


def learn_options(
    fixed: str | Sequence[str] | None,
    bounds: Mapping[str, tuple[float, float]] | None,
    hyperpriors: Mapping[str, tuple[float, float]] | str | None,
    max_evaluations: int,
    tolerance: float,
    restarts: int,
    restart_spread: float,
    standard_errors: bool | None,
    given: Sequence[str] | None = None,
) -> dict[str, Any]:
    """What learning is told. `given` names the parameters of a table's model that the caller has set: the others start
    within their bounds."""
    return {
        "fixed": names("fixed", fixed),
        "bounds": mapping("bounds", bounds),
        "hyperpriors": hyperpriors if isinstance(hyperpriors, str) else mapping("hyperpriors", hyperpriors),
        "max_evaluations": max_evaluations,
        "tolerance": tolerance,
        "restarts": restarts,
        "restart_spread": restart_spread,
        "warm_start": True,
        "standard_errors": standard_errors,
        "set": given,
    }


def learn(
    model: _core.Model,
    method: _core.Method | str | None = None,
    *,
    fixed: str | Sequence[str] | None = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    hyperpriors: Mapping[str, tuple[float, float]] | Literal["weak"] | None = None,
    max_evaluations: int = 200,
    tolerance: float = 1e-5,
    restarts: int = 0,
    restart_spread: float = 1.0,
    standard_errors: bool | None = None,
    integrate: bool = False,
    integration_design: Literal["auto", "grid", "composite"] = "auto",
    fineness: float = 1.0,
    max_fits: int = 4000,
    leave_one_out: bool = False,
    threads: int = 0,
    seed: int = 0,
    form: Form = "auto",
    substitutes: bool = True,
    progress: Progress = None,
    inducing: int | None = None,
    inducing_select: Literal["active", "random"] = "active",
) -> Learned:
    """Maximises the evidence over the parameters of a model that are not fixed.

    Names of parameters are full or short (``likelihood.scale``); ``kernel.lengthscale`` stands for all of an ARD kernel.
    `hyperpriors` maps names to (median, sd) of log-normal densities, or is ``"weak"``: one for every parameter around
    its value. `inducing` inputs are chosen anew while learning. ``integrate=True`` also averages over the parameters
    around the learned ones (``.integrated``), `leave_one_out` too where that is True. After Ctrl-C the best parameters so
    far are kept.
    """
    options = learn_options(fixed, bounds, hyperpriors, max_evaluations, tolerance, restarts, restart_spread, standard_errors)
    integration = (integration_design, fineness, whole("max_fits", max_fits, 1), bool(leave_one_out)) if integrate else None
    return learned(model, method, options, integration, threads, seed, form, substitutes, progress, inducing, inducing_select)


def learned(
    model: _core.Model,
    method: _core.Method | str | None,
    options: dict[str, Any],
    integration: tuple[str, float, int, bool] | None,
    threads: int,
    seed: int,
    form: Form,
    substitutes: bool,
    progress: Progress,
    inducing: int | None,
    inducing_select: str,
) -> Learned:
    """:func:`learn` with its options collected; `integration`: the design, its fineness, the most fits, whether rows are left out."""
    if isinstance(model, _core.NetworkModel):
        raise _core.InvalidOption("learn: nothing is left to learn, every scale of a network is integrated; use infer")
    instance("model", model, _core.Model, "a Model")
    threads, seed = threads_and_seed(threads, seed)
    chosen = to_method(_named(model, method, inducing))
    if integration is not None:
        _core.integration_fits(model, options, *integration[:3])  # Refuses what does not suit before any work.
    with started(progress, "learning") as told:
        if inducing is None:
            core, interrupted = _core.learn(model, chosen, options, threads, seed, form, substitutes, told)
        else:
            core, interrupted = _core.learn_inducing(
                model, whole("inducing", inducing, 1), inducing_select, chosen, options, threads, seed, form, substitutes, told
            )
    found = Learned(core)
    usable = found.report.status != "numerical-failure" and not all(p.fixed for p in found.learning.parameters)
    if integration is not None and usable and not interrupted:
        try:
            with started(progress, "integrating") as told:
                made, interrupted = _core.integrate(model, core, options, *integration, threads, seed, form, substitutes, told)
            found.integrated = Integrated(made)
        except KeyboardInterrupt:
            interrupted = True  # What was learned is there.
    if found.report.converged:
        warn_unless_converged("learning", found.learning.status, found.learning.message, interrupted, depth=4)
    else:
        warn_unless_converged("inference", found.report.status, found.report.message, interrupted, depth=4)
    return found
