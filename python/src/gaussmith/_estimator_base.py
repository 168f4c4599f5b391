"""What all estimators share: tables from what scikit-learn hands over, the fit, and what is left of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _core
from ._checked import mapping, names as to_names
from ._files import SavedModel
from ._inference import Integrated, Learned, Posterior
from ._kernel_text import kernel_text
from ._network import NetworkPosterior
from ._posterior_base import LeaveOneOut
from ._prediction import Prediction
from ._reports import LearnReport, Printed, Report
from ._tables import TableFit, TablePrediction, as_columns, fit_table, predict_table, refuse_twice

FloatArray = npt.NDArray[np.float64]


class Summary(Printed):
    """What a fit found, as lines; a table in notebooks."""

    def __init__(self, title: str, fields: Sequence[tuple[str, str]]) -> None:
        self._title = title
        self.fields = list(fields)

    def _fields(self) -> list[tuple[str, str]]:
        return self.fields

    def __repr__(self) -> str:
        return str(self)


class Fitted:
    """The model file of a fit, with what is computed from it at first need. A pickle holds the file."""

    def __init__(self, fit: TableFit, threads: int) -> None:
        self.fit: TableFit | None = fit
        self._saved: SavedModel | None = None
        self._left_out: LeaveOneOut | None = None
        self._threads = threads
        self._lock = threading.Lock()

    @property
    def saved(self) -> SavedModel:
        with self._lock:
            if self._saved is None:
                assert self.fit is not None
                self._saved = self.fit.saved()
        return self._saved

    @property
    def left_out(self) -> LeaveOneOut:
        """Of the rows of the data; the first time it is asked for it is computed."""
        with self._lock:
            if self._left_out is None:
                assert self.fit is not None
                self._left_out = self.fit.leave_one_out
        return self._left_out

    @property
    def posterior(self) -> Posterior | NetworkPosterior:
        if self.fit is None:
            raise AttributeError("posterior_: a pickle holds what prediction needs; fit again for the posterior")
        return self.fit.posterior

    def predict(self, data: Any, beside: Mapping[str, Any], **options: Any) -> TablePrediction:
        if isinstance(data, dict):
            return predict_table(self.saved._core, {**data, **beside}, threads=self._threads, **options)
        return predict_table(self.saved._core, data, beside=beside, threads=self._threads, **options)

    def __getstate__(self) -> dict[str, Any]:
        return {"file": self.saved.to_bytes(), "left_out": self.left_out, "threads": self._threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.fit = None
        self._saved = SavedModel.from_bytes(state["file"])
        self._left_out = state["left_out"]
        self._threads = state["threads"]
        self._lock = threading.Lock()


def threads_of(n_jobs: Any) -> int:
    """As scikit-learn counts: None is one, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs: expected an integer other than 0, or None, found {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))


def seed_of(random_state: Any) -> int:
    """An integer is the seed itself, None is 0: a fit gives the same bits every time."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def keep_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """What __init__ was called with (its locals), as scikit-learn wants it: every parameter as it is under its own name."""
    for name, value in given.items():
        if name not in ("self", "__class__"):
            setattr(estimator, name, value)


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "dtypes") and hasattr(data, "__getitem__")


def _has_texts(frame: Any) -> bool:
    """Whether a frame has columns that are no numbers."""
    refuse_twice(frame.columns)
    for name in frame.columns:
        dtype = frame[name].dtype
        numeric = getattr(dtype, "is_numeric", None)  # of polars
        if numeric is not None and not hasattr(dtype, "kind"):
            if not numeric() and str(dtype) != "Boolean":
                return True
        elif getattr(dtype, "kind", "O") not in "fiub" or str(dtype) == "category":
            return True
    return False


def _chosen(data: Any, rows: npt.NDArray[np.bool_]) -> Any:
    """The rows of an array, a sparse matrix, a list of texts or a mapping of columns."""
    if isinstance(data, dict):
        return {name: _chosen(cells, rows) for name, cells in data.items()}
    if isinstance(data, list):
        return [cell for cell, wanted in zip(data, rows) if wanted]
    return data[rows]


class GaussmithEstimator(BaseEstimator):  # type: ignore[misc]
    """Shapes and names; everything numerical is done by the library, as on the command line."""

    _prior = "gp"
    _accepts_sparse = False
    _fewest_rows = 1

    # --- What subclasses say ---

    def _likelihood(self, y: Any) -> str:
        raise NotImplementedError

    def _method(self) -> Any:
        return self.method

    def _learning(self) -> dict[str, Any]:
        """What fit_table is told about learning."""
        learn = bool(self.learn)
        return {
            "fit": "integrate" if learn and getattr(self, "integrate", False) else "learn" if learn else "infer",
            "fixed": self.fixed,
            "bounds": self.bounds,
            "hyperpriors": self.hyperpriors,
            "max_evaluations": self.max_evaluations,
            "tolerance": self.tolerance,
            "restarts": self.restarts,
        }

    def _options(self, names: Sequence[str]) -> dict[str, Any]:
        """Options of fit_table beside those that all estimators share."""
        raise NotImplementedError

    # --- Tables ---

    def _features(self, X: Any, reset: bool) -> Any:
        """A mapping of columns, or a sparse matrix."""
        categorical = self._categorical()
        texts = _is_frame(X) and (bool(categorical) or _has_texts(X))
        if not reset:
            texts = texts or (_is_frame(X) and any(self._fitted.saved.coding["column_types"].values()))
        if texts:
            validate_data(self, X, skip_check_array=True, reset=reset)
            columns = as_columns(X, categorical)
            empty = len(next(iter(columns.values()), ())) == 0
            if empty:
                raise ValueError(f"Found array with 0 sample(s) or 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
            names = [str(name) for name in X.columns]
            return dict(zip(self._names(len(names)) if not reset else names, columns.values()))
        # The type of sparse entries stays: the library multiplies single precision as it is.
        dtypes = (np.float64, np.float32) if hasattr(X, "tocsr") else np.float64
        accepted = "csr" if self._accepts_sparse else False
        finite = "allow-nan" if self.drop_missing and reset else True
        fewest = self._fewest_rows if reset else 1
        try:
            array = validate_data(
                self, X, accept_sparse=accepted, dtype=dtypes, reset=reset, order=None, ensure_all_finite=finite, ensure_min_samples=fewest
            )
        except ValueError as refused:
            if not reset or "contains NaN" not in str(refused):
                raise
            sentence = str(refused).partition("\n")[0].rstrip(".")
            raise ValueError(f"{sentence}; leave rows with missing cells out with drop_missing=True") from None
        sparse = hasattr(array, "tocsr")
        if not reset and sparse != self._fitted.saved.coding["sparse"]:
            array = array.toarray() if sparse else self._as_sparse(array)
            sparse = not sparse
        if sparse:
            return array
        names = self._names(array.shape[1])
        return {name: array[:, j] for j, name in enumerate(names)}

    def _categorical(self) -> list[str]:
        return to_names("categorical", self.categorical)

    @staticmethod
    def _as_sparse(array: Any) -> Any:
        from scipy.sparse import csr_array

        return csr_array(array)

    def _names(self, count: int) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j + 1}" for j in range(count)] if names is None else [str(name) for name in names]

    # --- Fitting ---

    def _weights(self, sample_weight: Any, count: int) -> FloatArray | None:
        """Weights of rows, checked; those of weight zero are left out of the fit."""
        if sample_weight is None:
            return None
        weights: FloatArray = _check_sample_weight(sample_weight, np.empty((count, 1)), dtype=np.float64)
        if (weights < 0).any():
            raise ValueError(f"sample_weight: expected weights of 0 or more, found {weights.min()}")
        if not (weights > 0).any():
            raise ValueError("sample_weight: every weight is zero; some must be above 0")
        return weights

    def _fit(self, features: Any, y: Any, weights: FloatArray | None, rows: Mapping[str, Any]) -> None:
        """`y` is an array of numbers or a list of texts; `rows` are arguments by row, or names of columns."""
        count = len(y)
        given = {name: value for name, value in rows.items() if value is not None}
        for name, value in given.items():
            if not isinstance(value, str):
                given[name] = self._by_row(name, value, count)
        if weights is not None:
            kept = weights > 0
            if not kept.all():
                features, y, weights = _chosen(features, kept), _chosen(y, kept), weights[kept]
                given = {name: v if isinstance(v, str) else v[kept] for name, v in given.items()}
            if not (weights == 1.0).all():
                given["weights"] = weights
        threads, seed = threads_of(self.n_jobs), seed_of(self.random_state)
        names = list(features) if isinstance(features, dict) else []
        options: dict[str, Any] = {
            "method": self._method(),
            **self._learning(),
            "drop_missing": bool(self.drop_missing),
            "form": self.form,
            "progress": self.progress,
            "threads": threads,
            "seed": seed,
            **self._options(names),
        }
        parameters = {**options.pop("parameters", {}), **mapping("parameters", self.parameters)}
        target: Any = y
        formula = getattr(self, "formula", None)
        if formula and hasattr(features, "tocsr"):
            raise ValueError("formula: sparse features have no names; give an array or a frame")
        if formula:
            left, _, right = str(formula).rpartition("~")
            name = left.strip().strip("`") or "y"
            while name in names:
                name += "_"
            features, target = {**features, name: y}, None
            options.pop("features", None)
            options["formula"] = f"`{name}` ~ {right.strip()}"
        fit = fit_table(
            features,
            self._likelihood(y),
            target=target,
            categorical=self._categorical(),
            parameters=parameters,
            **options,
            **given,
        )
        self._keep(fit, threads)

    def _by_row(self, name: str, value: Any, count: int) -> FloatArray:
        array = np.asarray(value, dtype=np.float64)
        if array.ndim == 0:
            array = np.full(count, float(array))
        if array.shape != (count,):
            raise ValueError(f"{name}: expected one number a row, {count} of them, found shape {array.shape}")
        return array

    def _keep(self, fit: TableFit, threads: int) -> None:
        self._fitted = Fitted(fit, threads)
        posterior = fit.posterior
        integrated: Integrated | None = fit.integrated
        self.log_evidence_ = posterior.log_evidence if integrated is None else integrated.log_evidence
        self.evidence_kind_ = posterior.evidence_kind
        self.parameters_ = dict(posterior.parameters)
        self.method_ = posterior.method.name
        self.report_: Report = posterior.report
        self.learning_report_: LearnReport | None = posterior.learning if isinstance(posterior, Learned) else None
        self.converged_ = posterior.converged
        prior = getattr(posterior.model, "prior", None)
        self._kernel = getattr(getattr(prior, "process", None) or prior, "kernel", None)
        self._fields = [("Estimator", type(self).__name__), *posterior._fields()]
        self._fields += [("Note", note) for note in fit.notes] + [("Warning", text) for text in fit.warnings]
        if integrated is not None:
            self._fields += integrated.report._fields()

    # --- What there is after a fit ---

    @property
    def posterior_(self) -> Posterior | NetworkPosterior:
        """The posterior itself; not there after a pickle."""
        check_is_fitted(self)
        return self._fitted.posterior

    @property
    def model_(self) -> SavedModel:
        """What a pickle, and a file, holds."""
        check_is_fitted(self)
        return self._fitted.saved

    @property
    def loo_(self) -> LeaveOneOut:
        """Leave-one-out predictions of the rows of weight above 0, averaged over the parameters under ``integrate``."""
        check_is_fitted(self)
        return self._fitted.left_out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model file, for :func:`gaussmith.load` and ``gaussmith predict``."""
        check_is_fitted(self)
        self._fitted.saved.save(path)

    def summary(self) -> Summary:
        """What the fit found: prints itself, and shows as a table in notebooks."""
        check_is_fitted(self)
        lines = [*self._fields]
        left_out = self._fitted.left_out
        lines.append(("Leave-one-out", f"total log predictive density {left_out.total:.6g} over {len(left_out.log_density)} rows"))
        return Summary(type(self).__name__, lines)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    # --- Prediction ---

    def _table_prediction(self, X: Any, rows: Mapping[str, Any]) -> TablePrediction:
        check_is_fitted(self)
        features = self._features(X, reset=False)
        count = features.shape[0] if hasattr(features, "tocsr") else len(next(iter(features.values())))
        coding = self._fitted.saved.coding
        known = dict(coding["argument_columns"])
        if coding["offset"]:
            known["offset"] = coding["offset"]
        beside: dict[str, Any] = {}
        for name, value in rows.items():
            if value is None:
                continue
            if name not in known:
                raise ValueError(f"{name}: the model was fitted without it")
            if isinstance(value, str):
                raise ValueError(f"{name}: expected an array with one number a row; a column of the name that fit had is found by itself")
            beside[known[name]] = self._by_row(name, value, count)
        for name, column in known.items():
            absent = column not in beside and (hasattr(features, "tocsr") or column not in features)
            if absent and name != "censored":
                raise ValueError(f"{name}: the model was fitted with it, and rows to predict need it too: give {name}=...")
        return self._fitted.predict(features, beside, seed=seed_of(self.random_state))

    def _latent(self, prediction: Prediction, return_std: bool) -> Any:
        if not return_std:
            return prediction.latent_mean
        return prediction.latent_mean, np.sqrt(prediction.latent_variance)


def kernel_options(kernel: Any, names: Sequence[str], formula: Any, default: str) -> dict[str, Any]:
    """The options of a process: a kernel, or a formula that has them."""
    if formula and kernel == default:
        return {}
    text, values = kernel_text(kernel, names)
    return {"kernel": text, "parameters": values}


__all__ = ["Fitted", "GaussmithEstimator", "Summary", "keep_parameters", "kernel_options", "seed_of", "threads_of"]
