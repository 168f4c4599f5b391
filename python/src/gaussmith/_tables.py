"""Models of tables: columns by name, categories, missing cells, as the command line makes them."""

from __future__ import annotations

import decimal
import numbers
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from . import _core
from ._files import SavedModel, content_of, is_open
from ._checked import names as to_names
from ._inference import Form, Integrated, Learned, Posterior, infer, learn_options, learned
from ._network import NetworkPosterior
from ._posterior_base import LeaveOneOut
from ._prediction import Prediction
from ._progress import Progress
from ._reports import Printed

FloatArray = npt.NDArray[np.float64]

#: A path, an open file, a mapping of columns, a frame of pandas or polars, an array or a sparse matrix of features.
TableLike = Any

#: Neighbours: a file, or pairs of names.
Graph = str | os.PathLike[str] | Sequence[tuple[Any, Any]]


def _graphs(graph: Graph | Mapping[str, Graph] | None) -> dict[str, Any]:
    """Neighbours by the column of their field; "" for the only one."""
    if graph is None:
        return {}
    by_column = graph if isinstance(graph, Mapping) else {"": graph}
    return {
        column: os.fspath(each) if isinstance(each, (str, os.PathLike)) else [(str(a), str(b)) for a, b in each]
        for column, each in by_column.items()
    }


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def _texts(cells: Any) -> list[str]:
    """Cells as the texts that a CSV file would have; missing ones are empty."""
    out = []
    for cell in cells:
        if _is_missing(cell):
            out.append("")
        elif isinstance(cell, (bool, np.bool_)):
            out.append(str(bool(cell)))
        elif isinstance(cell, (float, np.floating)) and float(cell).is_integer():
            out.append(str(int(cell)))
        else:
            out.append(str(cell))
    return out


def _column(name: str, cells: Any, categorical: bool) -> Any:
    """Numbers as an array of float64, anything else as a list of texts."""
    dtype = getattr(cells, "dtype", None)
    kind = getattr(dtype, "kind", "")
    type_name = str(dtype).lower()
    if categorical or type_name.startswith(("category", "categorical", "enum", "string", "str", "utf8")):
        return _texts(cells)
    if (kind and kind in "mM") or type_name.startswith(("date", "time", "duration")):
        raise _core.InvalidFile(f'column "{name}": dates are not numbers; give a number, such as days since the first')
    if hasattr(cells, "to_numpy") and kind not in "OUS":
        try:
            return np.asarray(cells.to_numpy(dtype="float64", na_value=np.nan))
        except (TypeError, ValueError):
            pass
    array = np.asarray(cells)
    if array.ndim != 1:
        raise _core.InvalidFile(f'column "{name}": expected one dimension, found shape {array.shape}')
    if array.dtype.kind in "fiub":
        return array.astype("float64", copy=False)
    if array.dtype.kind == "O":
        present = [cell for cell in array if not _is_missing(cell)]
        if all(isinstance(cell, (numbers.Real, decimal.Decimal, np.bool_)) for cell in present):
            return np.array([np.nan if _is_missing(cell) else float(cell) for cell in array])
        if any(not isinstance(cell, (str, int, float, np.generic)) for cell in present):
            found = next(type(cell).__name__ for cell in present if not isinstance(cell, (str, int, float, np.generic)))
            raise _core.InvalidFile(f'column "{name}": expected numbers or texts, found {found}')
        return _texts(array)
    if array.dtype.kind in "US":
        return _texts(array.astype("U"))
    raise _core.InvalidFile(f'column "{name}": expected numbers or texts, found dtype {array.dtype}')


def refuse_twice(columns: Any) -> None:
    """Columns are found by their names."""
    seen: set[str] = set()
    for name in map(str, columns):
        if name in seen:
            raise _core.InvalidFile(f'the table has two columns "{name}"')
        seen.add(name)


def as_columns(data: TableLike, categorical: Sequence[str] = ()) -> dict[str, Any]:
    """The columns of a mapping, a frame or an array (x1, x2, ...)."""
    if isinstance(data, Mapping):
        return {str(name): _column(str(name), cells, name in categorical) for name, cells in data.items()}
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        refuse_twice(data.columns)
        return {str(name): _column(str(name), data[name], name in categorical) for name in data.columns}
    array = np.asarray(data)
    if array.ndim == 0:
        expected = "a path, an open file, a mapping of columns, a frame, an array or a sparse matrix"
        raise _core.InvalidFile(f"data: expected {expected}, found {type(data).__name__}")
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise _core.InvalidFile(f"data: expected an array of two dimensions, found shape {array.shape}")
    names = [f"x{j + 1}" for j in range(array.shape[1])]
    return {name: _column(name, array[:, j], name in categorical) for j, name in enumerate(names)}


def _is_sparse(data: Any) -> bool:
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


def _is_path(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def _name_of(data: Any) -> str:
    """Of an open file, for messages; the ending says what kind of table it is."""
    name = getattr(data, "name", "")
    return name if isinstance(name, str) and "." in name else "table.csv"


def _all_there(categorical: Sequence[str], columns: Mapping[str, Any]) -> None:
    for name in categorical:
        if name not in columns:
            raise _core.InvalidOption(f'categorical: there is no column "{name}"; the columns are {", ".join(columns)}')


def _known_by_row(likelihood: str, given: Sequence[str]) -> None:
    """Refuses keywords that are no argument by row of any likelihood: a mistyped option."""
    catalogue = {info["name"]: [a["name"] for a in info["arguments"] if a["by_row"]] for info in _core.likelihood_catalogue()}
    everywhere = {name for names in catalogue.values() for name in names}
    for name in given:
        if name == "learn":
            raise _core.InvalidOption('learn: there is no such option; fit="infer" takes the parameters as they are, fit="learn" learns')
        if name not in everywhere:
            own = ", ".join(catalogue.get(likelihood, ())) or "none"
            raise _core.InvalidOption(f"{name}: there is no such option, and by row the likelihood {likelihood} takes {own}")


class TablePrediction(Prediction):
    """Predictions for the rows of a table."""

    def __init__(self, core: _core.TablePrediction, probability: str, tolerance: float, seed: int, threads: int) -> None:
        super().__init__(core.prediction, probability, tolerance, seed, threads)
        self._table = core
        self.rows: list[int] = core.rows  #: Where the rows predicted stood in the table, from 0.
        self.notes: list[str] = core.notes
        self.warnings: list[str] = core.warnings

    @property
    def classes(self) -> list[str]:
        """The labels, in the order of the columns of `probability`; of two classes the second is y = 1."""
        return self._table.classes()

    def columns(
        self, *, quantiles: Sequence[float] = (), samples: int = 0, interval: float | None = None, rows: bool = False
    ) -> dict[str, Any]:
        """The columns that ``gaussmith predict`` writes: arrays of numbers and lists of texts."""
        rule, tolerance, seed, threads = self._goal
        return self._table.columns(rows, list(quantiles), samples, seed, interval, rule, tolerance, threads)

    @property
    def label(self) -> list[str]:
        """The likelier class of every row, under its own name."""
        labels: list[str] = self.columns()["label"]
        return labels


def predict_table(
    saved: _core.SavedModel,
    data: TableLike,
    *,
    observed: bool = False,
    drop_missing: bool = False,
    population: bool = False,
    new_levels: Literal["prior", "error"] = "prior",
    keep: str | Sequence[str] = (),
    beside: Mapping[str, npt.ArrayLike] = {},
    probability: str = "auto",
    tolerance: float = 1e-4,
    seed: int = 0,
    threads: int = 0,
) -> TablePrediction:
    """Codes a table as at training and predicts; `beside` holds the columns beside sparse features."""
    kept = to_names("keep", keep)
    if _is_path(data):
        table = _core.Table.read_for(os.fspath(data), saved, kept)
    elif is_open(data):
        table = _core.Table.parse_for(content_of(data), _name_of(data), saved, kept)
    elif _is_sparse(data):
        table = _core.Table.from_rows(data, None, {name: _column(name, cells, False) for name, cells in beside.items()})
    else:
        texts = [name for name, is_text in saved.coding.fields()["column_types"].items() if is_text]
        table = _core.Table.from_columns(as_columns(data, texts), texts)
    if new_levels not in ("prior", "error"):
        raise _core.InvalidOption(f'new_levels: expected "prior" or "error", found {new_levels!r}')
    made = _core.predict_table(saved, table, observed, drop_missing, population, new_levels == "error", kept, threads)
    return TablePrediction(made, probability, tolerance, seed, threads)


class TableFit(Printed):
    """A model of a table with what was fitted. Pickles hold the model file: prediction goes on, the posterior does not."""

    _most_coefficients = 20

    def __init__(self, built: _core.TableModel | _core.TableNetwork, posterior: Posterior | NetworkPosterior) -> None:
        self._built = built
        self.posterior = posterior
        self.notes: list[str] = built.notes  #: What was done to the data, and which parameters took their defaults.
        self.warnings: list[str] = built.warnings

    @property
    def model(self) -> _core.Model | _core.NetworkModel:
        return self.posterior.model

    @property
    def log_evidence(self) -> float:
        return self.posterior.log_evidence

    @property
    def parameters(self) -> dict[str, float]:
        return self.posterior.parameters

    @property
    def integrated(self) -> Integrated | None:
        return self.posterior.integrated if isinstance(self.posterior, Learned) else None

    @cached_property
    def coding(self) -> dict[str, Any]:
        """How tables become inputs and responses: features, target, classes."""
        return self._built.coding.fields()

    @cached_property
    def _saved(self) -> _core.SavedModel:
        coding = self._built.coding
        if isinstance(self.posterior, Learned):
            if self.posterior.integrated is not None:
                return _core.SavedModel.of(self.posterior._learned, self.posterior.integrated._core, coding)
            return _core.SavedModel.of(self.posterior._learned, coding)
        return _core.SavedModel.of(self.posterior._core, coding)

    def saved(self) -> SavedModel:
        """What a file or a pickle holds."""
        return SavedModel(self._saved)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a model file for :func:`load` and for ``gaussmith predict``."""
        self._saved.save(os.fspath(path))

    def predict(self, data: TableLike, **options: Any) -> TablePrediction:
        """Predictions for a table with the same columns; options as in :meth:`SavedModel.predict_table`."""
        return predict_table(self._saved, data, **options)

    @property
    def leave_one_out(self) -> LeaveOneOut:
        """Of the rows of the table; averaged over the parameters where they are integrated."""
        averaged = None if self.integrated is None else self.integrated.leave_one_out
        # Below the rows of the table the model may have sites of a prior.
        return (averaged or self.posterior.leave_one_out).first(self.coding["training_rows"])

    def coefficients(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Of a linear model or of fixed effects, on the scale of the table's columns; empty where there are none."""
        if isinstance(self.posterior, NetworkPosterior):
            return self.posterior.coefficients(level)
        source = self.posterior._core if self.integrated is None else self.integrated._core
        return _core.coefficients(source, self._built.coding, level)

    def field_effects(self) -> list[dict[str, Any]]:
        """The values of every Markov field at its nodes: term, column, precision, nodes, mean, variance."""
        if isinstance(self.posterior, NetworkPosterior):
            return []
        source = self.posterior._core if self.integrated is None else self.integrated._core
        return _core.field_effects(source, self._built.coding)

    def group_effects(self) -> list[dict[str, Any]]:
        """The effects of the levels of every group."""
        if isinstance(self.posterior, NetworkPosterior):
            return []
        source = self.posterior._core if self.integrated is None else self.integrated._core
        return _core.group_effects(source, self._built.coding)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.saved().__reduce__()

    def _fields(self) -> list[tuple[str, str]]:
        """Those of the posterior, with the columns that length-scales belong to, then coefficients and groups."""
        scales = sum(name.startswith("kernel.lengthscale[") for name in self.parameters)
        # Where they are not as many, a kernel on some columns numbers its length-scales by itself.
        columns: list[str] = self.coding["columns"] if scales == len(self.coding["columns"]) else []
        fields = []
        for name, value in self.posterior._fields():
            place = re.fullmatch(r"\s*kernel\.lengthscale\[(\d+)\]", name)
            if place is not None and columns:
                value += f", {columns[int(place[1])]}"
            fields.append((name, value))
        coefficients = self.coefficients()
        if coefficients:
            fields.append(("Coefficients", "mean, sd and 95 % interval on the scale of the columns"))
        for found in coefficients[: self._most_coefficients]:
            interval = f"{found['lower']:.4g} to {found['upper']:.4g}"
            fields.append(("  " + str(found["name"]), f"{found['mean']:.5g}, sd {found['sd']:.4g}, {interval}"))
        if len(coefficients) > self._most_coefficients:
            fields.append(("  ...", f"{len(coefficients) - self._most_coefficients} more in coefficients()"))
        for group in self.group_effects():
            sds = ", ".join(f"{effect['name']} sd {effect['sd']:.5g}" for effect in group["effects"])
            fields.append(("Groups", f"{group['term']}: {len(group['levels'])} levels, {sds}"))
        return fields

    def __repr__(self) -> str:
        return f"<TableFit: {self.posterior!r}>"


def fit_table(
    data: TableLike,
    likelihood: str,
    *,
    target: str | npt.ArrayLike | None = None,
    features: str | Sequence[str] | None = None,
    categorical: str | Sequence[str] = (),
    classes: Sequence[str] = (),
    latent_covariance: str = "",
    formula: str = "",
    prior: Literal["", "gp", "isotropic", "linear", "laplace", "network", "sparse-linear"] = "",
    units: int | None = None,
    weight_prior: str = "",
    kernel: str = "",
    random: str | Sequence[str] = (),
    field: str | Sequence[str] = (),
    graph: Graph | Mapping[str, Graph] | None = None,
    coefficient_priors: Mapping[str, tuple[float, float]] = {},
    mean: float | Literal["auto"] = 0.0,
    intercept: bool = True,
    standardize: bool = False,
    drop_missing: bool = False,
    offset: str | npt.ArrayLike | None = None,
    weights: str | npt.ArrayLike | None = None,
    event: str | npt.ArrayLike | None = None,
    keep: str | Sequence[str] = (),
    parameters: Mapping[str, npt.ArrayLike] = {},
    method: _core.Method | _core.NetworkEp | str | None = None,
    fit: Literal["infer", "learn", "integrate"] = "learn",
    fixed: str | Sequence[str] | None = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    hyperpriors: Mapping[str, tuple[float, float]] | Literal["weak"] | None = None,
    max_evaluations: int = 200,
    tolerance: float = 1e-5,
    restarts: int = 0,
    standard_errors: bool | None = None,
    threads: int = 0,
    seed: int = 0,
    form: Form = "auto",
    progress: Progress = None,
    inducing: int | None = None,
    inducing_select: Literal["active", "random"] = "active",
    **arguments: str | npt.ArrayLike,
) -> TableFit:
    """Builds a model of a table and fits it, as ``gaussmith fit --data`` does.

    `data` is a path, an open file, a mapping of columns, a frame of pandas or polars, an array (its columns are x1, x2, ...) or a
    sparse matrix of scipy. `target`, `offset`, `weights`, `event` and the arguments of the likelihood (``exposure=...``,
    ``trials=...``) are names of columns, or arrays with one number a row. `graph` says who is whose neighbour in a
    field ``besag(column)``: a file, or pairs of names; a mapping from columns where there are several. `inducing` is as
    in :func:`infer`. `units` hidden units and `weight_prior` ("ard", "laplace", ...) belong to the priors "network" and
    "sparse-linear", which integrate all of their scales: `fit` then means "infer", and what is said about learning is
    refused. Their `parameters` are network.linear, network.scale_prior and so on, and network.group.NAME: "a,b".
    """
    texts = to_names("categorical", categorical)
    names: dict[str, str] = {}
    given = {"target": target, "offset": offset, "weights": weights, "event": event, **arguments}
    _known_by_row(likelihood, list(arguments))
    if _is_path(data) or is_open(data):
        for key, value in given.items():
            if value is not None and not isinstance(value, str):
                raise _core.InvalidOption(f"{key}: a table in a file has columns; give the name of one")
            names[key] = value or ""
        if is_open(data):
            table = _core.Table.parse(content_of(data), _name_of(data), texts)
        else:
            table = _core.Table.read(os.fspath(data), texts, False)
    elif _is_sparse(data):
        beside: dict[str, Any] = {}
        for key, value in given.items():
            if isinstance(value, str):
                raise _core.InvalidOption(f"{key}: sparse features have no named columns; give an array with one number a row")
            names[key] = "" if key == "target" or value is None else key
            if names[key]:
                beside[key] = _column(key, value, False)
        table = _core.Table.from_rows(data, target, beside)
    else:
        columns = as_columns(data, texts)
        _all_there(texts, columns)
        for key, value in given.items():
            if value is None or isinstance(value, str):
                names[key] = value or ""
                continue
            if np.ndim(value) == 0:
                raise _core.InvalidOption(f"{key}: expected the name of a column, or one number a row, found {value!r}")
            name = "y" if key == "target" else key
            while name in columns:
                name += "_"
            columns[name] = _column(name, value, False)
            names[key] = name
        table = _core.Table.from_columns(columns, texts)
    options = {
        "target": names.pop("target"),
        "features": to_names("features", features),
        "likelihood": likelihood,
        "classes": [str(label) for label in classes],
        "latent_covariance": latent_covariance,
        "prior": prior,
        "units": units,
        "weight_prior": weight_prior,
        "kernel": kernel,
        "random": to_names("random", random),
        "field": to_names("field", field),
        "graphs": _graphs(graph),
        "formula": formula,
        "coefficient_priors": dict(coefficient_priors),
        "mean": None if mean == "auto" else mean,
        "intercept": intercept,
        "standardize": standardize,
        "drop_missing": drop_missing,
        "event": names.pop("event"),
        "offset": names.pop("offset"),
        "weights": names.pop("weights"),
        "keep": to_names("keep", keep),
        "parameters": dict(parameters),
        "learning": fit != "infer",
        "argument_columns": names,
    }
    if prior in ("network", "sparse-linear"):
        for option, asked in {
            'fit="integrate"': fit == "integrate",
            "fixed": bool(fixed),
            "bounds": bool(bounds),
            "hyperpriors": bool(hyperpriors),
            "restarts": restarts > 0,
            "inducing": inducing is not None,
        }.items():
            if asked:
                raise _core.InvalidOption(f"{option}: nothing is left to learn, every scale of a network is integrated")
        network = _core.build_table_network(table, options)
        of_network = cast("_core.NetworkEp | Literal['ep'] | None", method)  # Others are refused by infer.
        return TableFit(network, infer(network.model, of_network, threads=threads, seed=seed, form=form, progress=progress))
    built = _core.build_table_model(table, options)
    of_model = cast("_core.Method | str | None", method)
    posterior: Posterior
    run: dict[str, Any] = {"threads": threads, "seed": seed, "form": form, "progress": progress}
    run |= {"inducing": inducing, "inducing_select": inducing_select}
    if fit == "infer":
        posterior = infer(built.model, of_model, **run)
    elif fit in ("learn", "integrate"):
        to_learn = learn_options(
            [*to_names("fixed", fixed), *built.kept_parameters],
            bounds,
            hyperpriors,
            max_evaluations,
            tolerance,
            restarts,
            1.0,
            standard_errors,
            given=[str(name) for name in parameters],
        )
        integration = ("auto", 1.0, 4000, True) if fit == "integrate" else None
        posterior = learned(built.model, of_model, to_learn, integration, substitutes=True, **run)
    else:
        raise _core.InvalidOption(f'fit: expected "infer", "learn" or "integrate", found {fit!r}')
    return TableFit(built, posterior)
