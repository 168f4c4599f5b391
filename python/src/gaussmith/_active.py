"""Active learning of a linear classifier: which rows of a pool to ask the label of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _core
from ._checked import method as to_method, threads_and_seed
from ._progress import Progress, started
from ._reports import Printed, warn_unless_converged


class ActivePoint(NamedTuple):
    """A point of the learning curve."""

    labels: int
    test_error: float  #: The share of wrong classes among the test rows; 0 without any.
    test_log_loss: float  #: The mean of -log P(label) there.
    seconds: float


class ActiveRun(Printed):
    """The labels bought, in their order, and what they led to. A run is where another one may go on."""

    def __init__(self, core: _core.ActiveState) -> None:
        self._core = core
        fields = core.fields()
        self.selected: npt.NDArray[np.int64] = np.array(fields["selected"], dtype=np.int64)  #: Rows, from 0.
        self.labels: npt.NDArray[np.float64] = np.array(fields["labels"], dtype=np.float64)
        self.curve: list[ActivePoint] = [ActivePoint(*point) for point in fields["curve"]]
        self.unconverged: int = fields["unconverged"]  #: Fits that did not reach their tolerance.

    def _fields(self) -> list[tuple[str, str]]:
        fields = [("Labels", f"{len(self.selected)}, {int((self.labels > 0).sum())} of them 1")]
        if self.curve:
            last = self.curve[-1]
            fields.append(("Test", f"error {last.test_error:.4g}, log loss {last.test_log_loss:.4g}"))
        if self.unconverged:
            fields.append(("Warning", f"{self.unconverged} fits did not reach their tolerance"))
        return fields

    def __repr__(self) -> str:
        return f"<ActiveRun: {len(self.selected)} labels>"


def learn_actively(
    rows: Any,
    labels: npt.ArrayLike | Callable[[int], float],
    *,
    test: tuple[Any, npt.ArrayLike] | None = None,
    score: Literal["uncertainty", "information-gain", "random"] = "uncertainty",
    initial: int = 100,
    block: int = 3,
    count: int = 1000,
    every: int = 1,
    prior: Literal["gaussian", "laplace"] = "gaussian",
    prior_size: float = 1.0,
    method: _core.Method | str | None = None,
    lanczos: int = 0,
    threads: int = 0,
    seed: int = 0,
    progress: Progress = None,
    resume: ActiveRun | None = None,
) -> ActiveRun:
    """Buys labels -1 and 1 of the rows (N x D, an array or sparse) that tell most (docs/active.md).

    `labels` is a function that is asked for the label of a row when it is chosen, or all labels, which are looked at
    then. `initial` rows are drawn, then labels come `block` by block with a fit after each, until there are `count`.
    `test` is (rows, labels) for the curve. `prior_size` is the variance of gaussian weights, the scale of laplace ones.
    `resume` goes on where a run ended, with the same rows and options but `count` and `every`.
    """
    threads, seed = threads_and_seed(threads, seed)
    options = {
        "score": str(score),
        "initial": initial,
        "block": block,
        "count": count,
        "every": every,
        "prior": str(prior),
        "prior_size": prior_size,
        "method": None if method is None else to_method(method),
        "lanczos": lanczos,
    }
    test_rows, test_labels = (None, None) if test is None else test
    start = None if resume is None else resume._core
    with started(progress, "buying labels") as told:
        state, interrupted = _core.learn_actively(rows, labels, test_rows, test_labels, options, threads, seed, told, start)
    warn_unless_converged("active learning", "converged", "", interrupted)
    return ActiveRun(state)
