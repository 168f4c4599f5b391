"""Sequential design of measurements: ask where to measure, tell what it brought (docs/design.md)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._checked import method as to_method
from ._inference import Posterior
from ._reports import Printed


@dataclass(frozen=True)
class Proposal:
    """Rows to measure next."""

    rows: NDArray[np.float64]  #: One row a measurement.
    chosen: list[int]  #: Of candidates: the groups, in the order of their choice.
    gain: float  #: 1/2 log|I + X V X' / variance| in nats; 0 where rows were drawn at random.


class DesignSession(Printed):
    """Chooses measurements y = x'w + noise of w under a model whose sites are the sparsity prior.

    `rule` is "greedy" (default), "eigen" or "random" for free rows of unit norm. With `candidates`, rows that can be measured
    or an operator, the best of them are taken; `groups` are lists of rows measured together. In between fits, every `refit`
    steps, the sites are held. `state` is a file of :meth:`save` or of ``gaussmith design measure`` to go on from.
    """

    def __init__(
        self,
        model: _core.Model,
        method: _core.Method | str = "kl",
        *,
        noise_variance: float,
        rule: str = "greedy",
        candidates: Any = None,
        groups: Sequence[Sequence[int]] = (),
        repeats: bool = False,
        refit: int = 1,
        threads: int = 0,
        seed: int = 0,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        self._core = _core.DesignSession(
            model, to_method(method), float(noise_variance), rule, candidates, [[int(row) for row in group] for group in groups],
            repeats, refit, threads, seed, "" if state is None else os.fspath(state),
        )

    def ask(self, count: int = 1, *, at_random: bool = False) -> Proposal:
        """`count` rows, or groups of candidates, to measure next: the same until they are told or others are asked for."""
        fields = self._core.propose(count, at_random)
        return Proposal(fields["rows"], list(fields["chosen"]), float(fields["gain"]))

    def tell(self, values: ArrayLike, rows: ArrayLike | None = None) -> None:
        """What the rows asked for measured, or these `rows`."""
        self._core.observe(np.atleast_1d(np.asarray(values)), None if rows is None else np.atleast_2d(np.asarray(rows)))

    @property
    def mean(self) -> NDArray[np.float64]:
        """Of the weights, all measurements taken in."""
        found: NDArray[np.float64] = self._core.belief()["mean"]
        return found

    @property
    def variance(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._core.belief()["variance"]
        return found

    @property
    def log_evidence(self) -> float:
        return float(self._core.belief()["log_evidence"])

    @property
    def converged(self) -> bool:
        """Whether the last fit reached its tolerance."""
        return bool(self._core.belief()["converged"])

    @property
    def rows(self) -> NDArray[np.float64]:
        """All rows that were measured, in order."""
        found: NDArray[np.float64] = self._core.state()["rows"]
        return found

    @property
    def values(self) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._core.state()["values"]
        return found

    def gain(self, rows: ArrayLike) -> float:
        """1/2 log|I + X V X' / variance| of any rows."""
        return float(self._core.gain(np.atleast_2d(np.asarray(rows))))

    def covariance_times(self, x: ArrayLike) -> NDArray[np.float64]:
        """V X for a block of vectors, one a column."""
        found: NDArray[np.float64] = self._core.covariance_times(np.asarray(x))
        return found

    def posterior(self) -> Posterior:
        """The posterior of all measurements; fits where some have come since the last fit."""
        return Posterior(self._core.posterior())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a state to go on from; ``gaussmith design measure`` reads it as one of its own."""
        self._core.save(os.fspath(path))

    def _fields(self) -> list[tuple[str, str]]:
        state = self._core.state()
        return [
            ("Measurements", f"{len(state['values'])}, {state['fitted']} of them in the last fit"),
            ("Fits", f"{state['iterations']} factorisations, {state['unconverged']} fits not converged"),
        ]

    def __repr__(self) -> str:
        return str(self)


def random_rows(count: int, dimension: int, *, seed: int = 0, measurements: int = 0) -> NDArray[np.float64]:
    """Rows of unit norm drawn uniformly."""
    found: NDArray[np.float64] = _core.random_rows(count, dimension, seed, measurements)
    return found


def read_pgm(path: str | os.PathLike[str]) -> NDArray[np.float64]:
    """A portable grey map, from 0 to 1."""
    found: NDArray[np.float64] = _core.read_pgm(os.fspath(path))
    return found


def write_png(path: str | os.PathLike[str], grey: ArrayLike) -> None:
    """A grey picture of 8 bits: 0 is black, 1 is white."""
    _core.write_png(os.fspath(path), np.asarray(grey))
