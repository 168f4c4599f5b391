"""What a run says about itself: objects that print themselves, and show as HTML in notebooks."""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class ConvergenceWarning(UserWarning):
    """A run ended before its certificate was reached; the result so far was returned."""


class Iteration(NamedTuple):
    """One step of a method or of learning."""

    number: int
    objective: float  #: What the step increases.
    residual: float  #: The certificate at this step.
    step: str  #: What kind of step it was.
    duality_gap: float | None = None  #: ``kl``: how many nats the bound can still rise, at most.


def fields_as_text(fields: Sequence[tuple[str, str]]) -> str:
    """Names in a column of their own."""
    width = max((len(name) for name, _ in fields), default=0)
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in fields)


def fields_as_html(title: str, fields: Sequence[tuple[str, str]]) -> str:
    """The same as a table."""
    rows = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in fields
    )
    return f"<table><caption>{html.escape(title)}</caption><tbody>{rows}</tbody></table>"


class Printed:
    """What prints itself as lines of names and values, and shows as a table in notebooks."""

    _title = ""  #: Of the table; empty: the name of the class.

    def _fields(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return fields_as_text(self._fields())

    def _repr_html_(self) -> str:
        return fields_as_html(self._title or type(self).__name__, self._fields())


@dataclass(frozen=True)
class Report(Printed):
    """How inference ended, for people and for programs."""

    status: str  #: "converged", "iteration-limit", "stalled", "inaccurate", "numerical-failure" or "stopped".
    message: str  #: One sentence: how it ended and why.
    iterations: int
    residual: float  #: Certificate of convergence; the method states its meaning.
    tolerance: float  #: What the residual had to reach.
    mean_error: float  #: What rounding may have moved a mean by, in posterior standard deviations.
    variance_error: float  #: What rounding may have changed a variance by, relative.
    latent_estimate_error: float  #: Where variances are estimates: a bar on their relative errors.
    weights_estimate_error: float
    duality_gap: float | None  #: ``kl``: how many nats the bound can still rise, at most.
    duality_gap_rows: list[tuple[int, float]]  #: Rows with the largest shares in it, largest first.
    diagnostics: dict[str, float | None] | None  #: Samplers: rhat, bulk_ess, tail_ess and pareto_k, the worst of all.
    core: str  #: The form of the Gaussian core and why it was chosen.
    jittered: int
    clipped: int
    skipped: int
    negative_precisions: int
    local_optimum: bool
    substituted: bool
    seconds: float
    notes: list[str]
    warnings: list[str]
    brief: str  #: One line.
    history: list[Iteration]

    @property
    def converged(self) -> bool:
        return self.status == "converged"

    def _fields(self) -> list[tuple[str, str]]:
        fields = [
            ("Converged", "yes" if self.converged else f"no ({self.status})"),
            ("How", self.message),
            ("Residual", f"{self.residual:.2g} (needed {self.tolerance:.2g}), {self.iterations} iterations"),
        ]
        if self.duality_gap is not None:
            fields.append(("Duality gap", f"{self.duality_gap:.2g} nats"))
        if self.diagnostics is not None:
            found = ", ".join(f"{name} {value:.3g}" for name, value in self.diagnostics.items() if value is not None)
            fields.append(("Draws", found))
        fields += [("Core", self.core), ("Time", f"{self.seconds:.3g} s")]
        fields += [("Note", note) for note in self.notes]
        fields += [("Warning", warning) for warning in self.warnings]
        return fields

    def __repr__(self) -> str:
        return f"<Report: {self.brief}>"


def make_report(fields: Mapping[str, Any]) -> Report:
    known = dict(fields)
    known["history"] = [Iteration(*step) for step in known["history"]]
    return Report(**known)


@dataclass(frozen=True)
class LearnedParameter:
    """How one parameter fared."""

    name: str
    initial: float
    value: float
    gradient: float  #: Of the objective on the parameter's scale, at the end.
    fixed: bool
    at_bound: bool
    standard_error: float | None  #: On its scale, nearly always the logarithm.
    hyperprior: tuple[float, float] | None  #: Median and sd.


@dataclass(frozen=True)
class LearnReport(Printed):
    """How learning ended."""

    _title = "Learning"

    status: str
    message: str
    warnings: list[str]
    evaluations: int
    curvature_evaluations: int
    failed_evaluations: int
    failures: list[str]
    initial_objective: float
    objective: float  #: log evidence plus log hyperpriors.
    log_hyperprior: float
    residual: float
    best_start: int
    start_objectives: list[float]
    parameters: list[LearnedParameter]
    hessian_parameters: list[str]
    hessian: npt.NDArray[np.float64]  #: Of the objective, in these parameters on their scales.

    @property
    def converged(self) -> bool:
        return self.status == "converged"

    def _fields(self) -> list[tuple[str, str]]:
        fields = [
            ("Learning", f"{self.status} after {self.evaluations} evaluations"),
            ("Objective", f"{self.initial_objective:.6f} -> {self.objective:.6f}, largest gradient {self.residual:.2g}"),
        ]
        for p in self.parameters:
            value = f"{p.initial:.6g} -> {p.value:.6g}"
            if p.fixed:
                value = f"{p.value:.6g} (fixed)"
            elif p.at_bound:
                value += " (at its bound)"
            elif p.standard_error is not None:
                value += f", se {p.standard_error:.2g}"
            fields.append(("  " + p.name, value))
        fields += [("Warning", warning) for warning in self.warnings]
        return fields

    def __repr__(self) -> str:
        return f"<LearnReport: {self.status} after {self.evaluations} evaluations, objective {self.objective:.6f}>"


def make_learn_report(fields: Mapping[str, Any]) -> LearnReport:
    known = dict(fields)
    known["parameters"] = [LearnedParameter(**parameter) for parameter in known["parameters"]]
    return LearnReport(**known)


@dataclass(frozen=True)
class IntegratedParameter:
    """The posterior of one parameter."""

    name: str
    mean: float  #: On its scale, nearly always the logarithm.
    sd: float
    lower: float  #: Between these values it lies with probability 0.95.
    upper: float
    identified: bool


@dataclass(frozen=True)
class IntegrationReport(Printed):
    """How integration over the parameters went."""

    _title = "Integration"

    status: str
    message: str
    warnings: list[str]
    fits: int
    failed: int
    cut_off: int
    effective: float  #: 1 / sum of squared weights.
    proper: bool  #: Every parameter has a hyperprior, so that log_evidence is one.
    log_evidence: float
    points: list[dict[str, float]]  #: The heaviest first.
    weights: npt.NDArray[np.float64]  #: Their sum is one.
    parameters: list[IntegratedParameter]

    @property
    def converged(self) -> bool:
        return self.status == "converged"

    def _fields(self) -> list[tuple[str, str]]:
        fields = [
            ("Integration", self.message),
            ("Evidence", f"{self.log_evidence:.6f}" + ("" if self.proper else " (improper: not every parameter has a hyperprior)")),
        ]
        fields += [("  " + p.name, f"{p.lower:.6g} to {p.upper:.6g} with probability 0.95") for p in self.parameters]
        fields += [("Warning", warning) for warning in self.warnings]
        return fields

    def __repr__(self) -> str:
        return f"<IntegrationReport: {self.message}>"


def make_integration_report(fields: Mapping[str, Any]) -> IntegrationReport:
    known = dict(fields)
    known["parameters"] = [IntegratedParameter(**parameter) for parameter in known["parameters"]]
    return IntegrationReport(**known)


def warn_unless_converged(what: str, status: str, message: str, interrupted: bool, depth: int = 3) -> None:
    """One ConvergenceWarning with the report's own sentence."""
    if interrupted:
        warnings.warn(f"{what} was stopped by Ctrl-C; the result so far is returned", ConvergenceWarning, stacklevel=depth)
    elif status != "converged":
        warnings.warn(f"{what} did not converge: {message}", ConvergenceWarning, stacklevel=depth)


def _model_fields(model: Any) -> list[tuple[str, str]]:
    """What a model is made of, and its parameters."""
    shown = 20
    fields = [("Model", repr(model).removeprefix("<Model: ").removesuffix(">")), ("Prior", repr(model.prior))]
    fields += [("Sites", f"{block.name}, {len(block.responses)} rows") for block in model.sites]
    parameters = model.parameters
    fields += [("  " + name, f"{value:.6g}") for name, value in list(parameters.items())[:shown]]
    if len(parameters) > shown:
        fields.append(("  ...", f"{len(parameters) - shown} more"))
    return fields


def model_text(model: Any) -> str:
    return fields_as_text(_model_fields(model))


def model_html(model: Any) -> str:
    return fields_as_html("Model", _model_fields(model))
