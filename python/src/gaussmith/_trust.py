"""The card of a fit, and marginals beyond the Gaussian."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._reports import Printed

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Checks:
    """What every fit of one latent a row can be asked at next to no cost."""

    mean_shift: float | None  #: The largest shift of a mean that third derivatives predict, in sds; laplace.
    mean_shift_row: int
    skewness: float | None  #: The largest skewness that a site gives its row.
    skewness_row: int
    outvoted: list[int]  #: Rows where log t is convex at the mean.


@dataclass(frozen=True)
class Marginal:
    """A marginal on a grid, no Gaussian."""

    grid: FloatArray
    density: FloatArray  #: Integrates to one.
    mean: float
    sd: float
    skewness: float
    quantiles: FloatArray  #: At the levels asked for.
    settled: bool  #: False where a search along the grid did not reach its end.


@dataclass(frozen=True)
class Marginals:
    """What :meth:`Posterior.marginals` was asked for, in that order."""

    rows: list[Marginal]
    weights: list[Marginal]
    points: list[Marginal]


class TrustCard(Printed):
    """May a fit be trusted? See docs/trust.md."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.verdict: str = fields["verdict"]  #: "trust", "caution" or "do-not-trust".
        self.evidence: str = fields["evidence"]  #: Of the evidence alone.
        self.marginals: str = fields["marginals"]  #: Of means and standard deviations alone.
        self.reasons: list[str] = list(fields["reasons"])
        self.advice: str = fields["advice"]  #: What to do; empty where nothing is wrong.
        self.check: dict[str, Any] | None = fields["check"]  #: What importance sampling measured.
        #: A lower bound and an upper end, None where that would be no limit.
        self.evidence_interval: tuple[float, float | None] = fields["evidence_interval"]
        self.second_order: dict[str, Any] | None = fields["second_order"]
        self.log_evidence_corrected: float | None = fields["log_evidence_corrected"]
        self.worst_sites: list[tuple[int, float]] = list(fields["worst_sites"])  #: Rows with their gaps.
        self.modes_searched: bool = fields["modes_searched"]
        self.mode_starts: int = fields["mode_starts"]
        self.modes_found: int = fields["modes_found"]
        self.loo_log_density: FloatArray = fields["loo_log_density"]
        self.loo_pit: FloatArray = fields["loo_pit"]
        self.checks = Checks(**fields["checks"])

    @property
    def trusted(self) -> bool:
        return self.verdict == "trust"

    def _fields(self) -> list[tuple[str, str]]:
        lower, upper = self.evidence_interval
        fields = [("Trust", f"{self.verdict} (evidence: {self.evidence}, marginals: {self.marginals})")]
        fields += [("", reason) for reason in self.reasons]
        if self.advice:
            fields.append(("Advice", self.advice))
        if self.check is not None:
            told = self.check
            fields.append(("Check", f"{told['draws']} draws, worth {told['effective']:.0f}; k = {told['pareto_k']:.2f}"))
        fields.append(("Interval", f"log evidence between {lower:.4f} and {'no limit' if upper is None else f'{upper:.4f}'}"))
        if self.mode_starts > 0:
            fields.append(("Modes", f"{self.modes_found} found from {self.mode_starts} starts"))
        return fields

    def __repr__(self) -> str:
        return f"<TrustCard: {self.verdict}>"


def make_marginals(fields: Mapping[str, Any]) -> Marginals:
    return Marginals(*([Marginal(**one) for one in fields[kind]] for kind in ("rows", "weights", "points")))
