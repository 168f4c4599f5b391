"""Methods side by side with the truth, and calibration by simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._checked import instance, method as to_method, threads_and_seed, whole
from ._inference import Posterior
from ._progress import Progress, started
from ._reports import Printed, warn_unless_converged


class Comparison(Printed):
    """What :func:`compare` found. `rows` holds a dictionary a method, `truth` one or None (docs/compare.md)."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self.rows: list[dict[str, Any]] = [
            {**row, "posterior": Posterior(row["posterior"])} for row in fields["rows"]
        ]
        self.truth: dict[str, Any] | None = fields["truth"]
        self.best_bound: float | None = fields["best_bound"]  #: The largest lower bound on the log evidence.
        self.notes: list[str] = list(fields["notes"])

    def __getitem__(self, method: str) -> dict[str, Any]:
        for row in self.rows:
            if row["method"] == method:
                return row
        raise KeyError(method)

    def _fields(self) -> list[tuple[str, str]]:
        truth = self.truth
        fields = [("Truth", "none" if truth is None else f"{truth['method']}, log evidence {truth['log_evidence']:.6g}")]
        for row in self.rows:
            known = row["posterior"].log_evidence == row["posterior"].log_evidence
            text = f"log evidence {row['posterior'].log_evidence:.6g}" if known else "log evidence none"
            if row["error"] is not None:
                error = row["error"]
                text += f", to truth {error['log_evidence']:+.3g}" if known else ""
                text += f", mean off by {error['mean']:.2g} sd, sd ratio {error['sd_ratio']:.3g}"
            if row["verdict"] is not None:
                text += f", {row['verdict']}"
            fields.append((row["method"], text))
        return fields

    def __repr__(self) -> str:
        return str(self)


def _is_model(model: Any) -> None:
    # Fits of tables have theirs.
    inside = getattr(model, "model", None)
    expected = "a Model (give its .model)" if isinstance(inside, _core.Model) else "a Model"
    instance("model", model, _core.Model, expected)


def compare(
    model: _core.Model,
    methods: _core.Method | str | Sequence[_core.Method | str] = (),
    *,
    truth: bool = True,
    verdicts: bool = True,
    threads: int = 0,
    seed: int = 0,
    progress: Progress = None,
) -> Comparison:
    """Runs several methods on a model; without `methods` all that take it.

    With `truth` the evidence and every mean and standard deviation are compared with the best reference there is: closed
    form, quadrature or sampling. With `verdicts` every fit but samplers' has the verdict of its card.
    """
    _is_model(model)
    threads, seed = threads_and_seed(threads, seed)
    asked = [methods] if isinstance(methods, (str, _core.Method)) else methods
    chosen = [to_method(method) for method in asked]
    with started(progress, "comparing") as told:
        fields, interrupted = _core.compare(model, chosen, bool(truth), bool(verdicts), threads, seed, told)
    warn_unless_converged("the comparison", "converged", "", interrupted)
    return Comparison(fields)


def calibrate(
    model: _core.Model,
    method: _core.Method | str = "laplace",
    *,
    simulations: int = 300,
    draws: int = 99,
    weights: Sequence[int] = (0,),
    threads: int = 0,
    seed: int = 0,
    progress: Progress = None,
) -> dict[str, Any]:
    """Simulation-based calibration: ``ranks`` and ``p_values`` of single weights and of the log likelihood."""
    _is_model(model)
    threads, seed = threads_and_seed(threads, seed)
    simulations, draws = whole("simulations", simulations, 1), whole("draws", draws, 1)
    chosen = to_method(method)
    with started(progress, "calibrating") as told:
        fields, interrupted = _core.calibrate(model, chosen, simulations, draws, list(weights), threads, seed, told)
    warn_unless_converged("calibration", "converged", "", interrupted)
    return dict(fields)
