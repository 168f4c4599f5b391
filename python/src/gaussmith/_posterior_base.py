"""What posteriors of models and of networks share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ._reports import Printed, Report, make_report

if TYPE_CHECKING:
    import os

    from . import _core
    from ._files import SavedModel

FloatArray = npt.NDArray[np.float64]


class LeaveOneOut(Printed):
    """Every row seen from the others, without refitting."""

    def __init__(self, fields: Mapping[str, FloatArray]) -> None:
        self.mean = fields["mean"]  #: Of eta without the row's own site; NaN where that is no distribution.
        self.variance = fields["variance"]
        self.log_density = fields["log_density"]  #: log predictive density of the row's response given the others.

    def first(self, rows: int) -> LeaveOneOut:
        """Of the first rows alone: those below may be sites of a prior."""
        return LeaveOneOut({name: values[:rows] for name, values in vars(self).items()})

    @property
    def total(self) -> float:
        """The sum over the rows that have one."""
        return float(np.nansum(self.log_density))

    def _fields(self) -> list[tuple[str, str]]:
        known = np.flatnonzero(np.isfinite(self.log_density))
        worst = known[np.argsort(self.log_density[known], kind="stable")][:3]
        fields = [
            ("Rows", f"{len(self.log_density)}" + (f", {len(known)} of them with a density" if len(known) < len(self.log_density) else "")),
            ("Log density", f"total {self.total:.6g}" + (f", mean {self.total / len(known):.6g}" if len(known) else "")),
        ]
        if len(worst):
            fields.append(("Least likely", ", ".join(f"row {row}: {self.log_density[row]:.4g}" for row in worst)))
        return fields

    def __repr__(self) -> str:
        return f"<LeaveOneOut: total log predictive density {self.total:.6g} over {len(self.log_density)} rows>"


class PosteriorBase(Printed):
    """Evidence, report and moments at the model's rows."""

    def __init__(self, core: _core.Posterior | _core.NetworkPosterior) -> None:
        self._core: _core.Posterior | _core.NetworkPosterior = core
        self._evidence = core.log_evidence()

    @property
    def log_evidence(self) -> float:
        """NaN for ``ess`` and ``nuts``, whose chains do not tell it; of a network that of the best start."""
        return float(self._evidence["value"])

    @property
    def evidence_kind(self) -> str:
        """"exact", "lower-bound", "approximation" or "estimate"."""
        return str(self._evidence["kind"])

    @cached_property
    def report(self) -> Report:
        return make_report(self._core.report())

    @property
    def converged(self) -> bool:
        return self.report.converged

    @cached_property
    def _latent(self) -> tuple[FloatArray, FloatArray]:
        return self._core.latent()

    @property
    def mean(self) -> FloatArray:
        """Mean of eta, or of f of a network, at the model's rows; N x C where rows have several latents."""
        return self._latent[0]

    @property
    def variance(self) -> FloatArray:
        """Its variance at the model's rows."""
        return self._latent[1]

    @cached_property
    def leave_one_out(self) -> LeaveOneOut:
        return LeaveOneOut(self._core.leave_one_out())

    def saved(self) -> SavedModel:
        """What a file or a pickle holds: all that prediction needs."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file for :func:`load` and for ``gaussmith predict``, whose tables have columns x1, x2, ..."""
        self.saved().save(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.saved().__reduce__()
