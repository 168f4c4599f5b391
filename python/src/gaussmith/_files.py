"""Files that programs exchange: problems in, results out, saved models."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

import numpy.typing as npt

from . import _core
from ._checked import points, threads_and_seed, whole
from ._inference import Integrated, Learned, Posterior
from ._network import NetworkPosterior
from ._prediction import Prediction

if TYPE_CHECKING:
    from ._tables import TablePrediction


class Problem:
    """A model from a problem file (``gaussmith-problem/1``), and what it asks to predict."""

    def __init__(self, core: _core.Problem) -> None:
        self._core = core
        self.model = core.model

    def predict(self, posterior: Posterior | NetworkPosterior) -> Prediction:
        """What the file asks to predict."""
        return Prediction(self._core.predict(posterior._core))

    def __repr__(self) -> str:
        return f"<Problem: {self.model!r}>"


#: A path, or a file that is open for reading.
Readable = str | os.PathLike[str] | IO[Any]


def is_open(file: Any) -> bool:
    return hasattr(file, "read") and not hasattr(file, "columns")


def content_of(file: Any) -> bytes:
    """What is left to read of an open file; of a closed one Python says so."""
    content = file.read()
    return content.encode() if isinstance(content, str) else bytes(content)


def path_of(name: str, given: Any) -> str:
    if not isinstance(given, (str, os.PathLike)):
        raise _core.InvalidFile(f"{name}: expected a path or an open file, found {type(given).__name__}")
    return os.fspath(given)


def read_problem(problem: Readable | Mapping[str, Any]) -> Problem:
    """Reads a problem file, or a mapping with its content."""
    if isinstance(problem, Mapping):
        return Problem(_core.parse_problem(json.dumps(problem), "the problem"))
    if is_open(problem):
        return Problem(_core.parse_problem(content_of(problem).decode(), "the problem"))
    return Problem(_core.read_problem(path_of("problem", problem)))


def result_json(
    posterior: Posterior | NetworkPosterior,
    problem: Problem | None = None,
    *,
    leave_one_out: bool = False,
    full: bool = False,
    seconds: float | None = None,
    probability: str = "auto",
    tolerance: float = 1e-4,
    seed: int = 0,
    threads: int = 0,
) -> str:
    """The text that ``gaussmith fit --problem ... --json`` prints."""
    if isinstance(posterior, NetworkPosterior):
        return _core.network_result_json(posterior._core, None if problem is None else problem._core, leave_one_out, seconds)
    learned = posterior if isinstance(posterior, Learned) else None
    integrated = None if learned is None or learned.integrated is None else learned.integrated._core
    return _core.result_json(
        posterior._core,
        None if problem is None else problem._core,
        None if learned is None else learned._learned,
        integrated,
        leave_one_out,
        full,
        seconds,
        probability,
        tolerance,
        seed,
        threads,
    )


class SavedModel:
    """A fitted model as a file holds it (``gaussmith-model/1``): all that prediction needs and nothing else."""

    def __init__(self, core: _core.SavedModel) -> None:
        self._core = core

    @property
    def method(self) -> str:
        return str(self._core.method)

    @property
    def log_evidence(self) -> float:
        return float(self._core.log_evidence)

    @property
    def evidence_kind(self) -> str:
        return str(self._core.evidence_kind)

    @property
    def converged(self) -> bool:
        return bool(self._core.converged)

    @property
    def likelihood(self) -> _core.Sites:
        """Its first block of sites as one row: name and shared arguments."""
        return self._core.likelihood

    @property
    def coding(self) -> dict[str, Any]:
        """How tables become its inputs and responses."""
        return self._core.coding.fields()

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
        """As :meth:`Posterior.predict`; for tables see :meth:`predict_table`."""
        points(inputs, design)
        threads, _ = threads_and_seed(threads, 0)
        return Prediction(self._core.predict(inputs, design, offset, variance, whole("block", block), arguments, threads))

    def predict_table(self, data: Any, **options: Any) -> TablePrediction:
        """Predictions for the rows of a table with the model's columns: a path, a mapping, a frame, an array.

        Options: `observed` (the table has the target, and what is censored in it counts as censored), `drop_missing`,
        `population` (leave the effects of groups out), `new_levels` ("prior" or "error"), `keep` (columns to copy),
        `beside` (columns beside sparse features, such as an exposure), `probability`, `tolerance`, `seed`, `threads`.
        """
        from ._tables import predict_table

        return predict_table(self._core, data, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        self._core.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """The content of the file."""
        return self._core.format()

    @classmethod
    def from_bytes(cls, content: bytes) -> SavedModel:
        return cls(_core.SavedModel.parse(content, "the saved model"))

    def __reduce__(self) -> tuple[Any, ...]:
        return (SavedModel.from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        rows = self.coding["training_rows"]
        return f"<SavedModel: {self.likelihood.name}, {self.method}, log evidence {self.log_evidence:.6f}, {rows} rows>"


def load(path: Readable) -> SavedModel:
    """Reads a model file, written here or by ``gaussmith fit --save``."""
    if is_open(path):
        return SavedModel.from_bytes(content_of(path))
    return SavedModel(_core.SavedModel.load(path_of("path", path)))
