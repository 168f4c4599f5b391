"""Pictures of fits and predictions, with matplotlib.

Every function draws into `ax`, an axes of its own where none is given, and returns it. Labels that the axes already has
are kept. Colours are those of Okabe and Ito, which readers with any kind of colour vision tell apart; classes also differ
by their marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ._core import InvalidOption
from ._inference import Integrated, Posterior
from ._network import Relevance
from ._posterior_base import LeaveOneOut
from ._prediction import Prediction
from ._reports import Iteration
from ._tables import TableFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration", "class_map", "coefficients", "coverage", "curve", "evidence", "leave_one_out", "palette", "relevance"]

FloatArray = npt.NDArray[np.float64]

#: Blue, vermilion, green, orange, purple, sky blue, yellow, black.
palette = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#F0E442", "#000000")
_marks = ("o", "^", "s", "D", "v", "P", "X", "*")


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("gaussmith.plot draws with matplotlib: pip install matplotlib") from None
    made: Axes = plt.subplots(layout="constrained")[1]
    return made


def _name(ax: Axes, x: str, y: str) -> None:
    """Names the axes, but for what they are called already."""
    if not ax.get_xlabel():
        ax.set_xlabel(x)
    if not ax.get_ylabel():
        ax.set_ylabel(y)


def _numbers(values: Any, what: str, length: int | None = None) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidOption(f"{what}: expected numbers, found {type(values).__name__}") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidOption(f"{what}: expected one dimension, found shape {array.shape}")
    if length is not None and len(array) != length:
        raise InvalidOption(f"{what}: expected {length} numbers, found {len(array)}")
    return array


def _level(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidOption(f"levels: expected numbers between 0 and 1, found {level}")
    return float(level)


def _band(prediction: Prediction, of: str, level: float) -> tuple[FloatArray, FloatArray]:
    """The central interval of what is drawn."""
    if of == "response":
        return prediction.quantile(0.5 - level / 2), prediction.quantile(0.5 + level / 2)
    if of == "mean":
        bounds = prediction.interval(level)
        lower = next(values for name, values in bounds.items() if name.endswith("_lower"))
        return lower, next(values for name, values in bounds.items() if name.endswith("_upper"))
    if of == "latent":
        from statistics import NormalDist

        reach = NormalDist().inv_cdf(0.5 + level / 2) * np.sqrt(prediction.latent_variance)
        return prediction.latent_mean - reach, prediction.latent_mean + reach
    raise InvalidOption(f'of: expected "response", "mean" or "latent", found {of!r}')


def curve(
    x: npt.ArrayLike,
    prediction: Prediction,
    *,
    data: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    levels: Sequence[float] = (0.5, 0.95),
    of: Literal["response", "mean", "latent"] = "response",
    label: str | None = None,
    color: str = palette[0],
    ax: Axes | None = None,
) -> Axes:
    """A curve over x with its bands, and the data that it was fitted to.

    `prediction` is what a fit says at the points x. The line is the median, the bands are central intervals, of a new
    response, of the mean (probability, rate) behind it, or of the latent function. `data` is (x, y). With a `label` only the
    line is named, so that several curves share a legend.
    """
    ax = _axes(ax)
    points = _numbers(x, "x", len(prediction))
    order = np.argsort(points, kind="stable")
    points = points[order]
    if of not in ("response", "mean", "latent"):
        raise InvalidOption(f'of: expected "response", "mean" or "latent", found {of!r}')
    # An interval that has shrunk to its middle is the median, whatever is drawn.
    middle = _band(prediction, of, 1e-9)[0][order]
    names = {"response": "median", "mean": "median of the mean", "latent": "latent mean"}
    for shade, level in enumerate(sorted((_level(level) for level in levels), reverse=True)):
        lower, upper = (side[order] for side in _band(prediction, of, level))
        name = f"{100 * level:g} % band" if label is None else None
        ax.fill_between(points, lower, upper, color=color, alpha=0.15 + 0.12 * shade, linewidth=0, label=name)
    ax.plot(points, middle, color=color, linewidth=1.8, label=names[of] if label is None else label)
    if data is not None:
        at = _numbers(data[0], "data")
        ax.scatter(at, _numbers(data[1], "data", len(at)), s=12, color=palette[7], alpha=0.65, linewidths=0, zorder=3, label="data")
    _name(ax, "x", "latent function" if of == "latent" else "y")
    ax.margins(x=0)
    ax.legend(frameon=False)
    return ax


def _named_columns(inputs: FloatArray, names: Sequence[str], like: Any) -> Any:
    """A frame as what was given is one; of pandas for an estimator that knows names where nothing was."""
    columns = {name: inputs[:, j] for j, name in enumerate(names)}
    if hasattr(like, "columns"):
        return type(like)(columns)
    try:
        return import_module("pandas").DataFrame(columns)
    except ImportError:
        return inputs


def _probabilities(fit: Any, inputs: FloatArray, names: Sequence[str] | None, like: Any) -> FloatArray:
    """M x C, of whatever can be asked for classes."""
    if hasattr(fit, "predict_proba"):
        known = getattr(fit, "feature_names_in_", None)
        asked = inputs if known is None else _named_columns(inputs, [str(name) for name in known], like)
        return np.asarray(fit.predict_proba(asked), dtype=np.float64)
    if isinstance(fit, TableFit):
        columns = list(names) if names is not None else list(fit.coding["columns"])
        probability = fit.predict({name: inputs[:, j] for j, name in enumerate(columns)}).probability
    elif hasattr(fit, "predict"):
        probability = fit.predict(inputs).probability
    elif callable(fit):
        probability = np.asarray(fit(inputs), dtype=np.float64)
    else:
        raise InvalidOption(f"fit: expected what predicts classes, found {type(fit).__name__}")
    return np.column_stack([1.0 - probability, probability]) if probability.ndim == 1 else probability


def class_map(
    fit: Any,
    x: npt.ArrayLike,
    y: Sequence[Any] | npt.NDArray[Any],
    *,
    classes: Sequence[Any] | None = None,
    features: Sequence[str] | None = None,
    points: int = 120,
    ax: Axes | None = None,
) -> Axes:
    """The probabilities of classes over two features, with the rows x (N x 2) and their classes y.

    `fit` is anything that gives probabilities for M x 2 inputs: a posterior, a fit of a table with two features, a
    scikit-learn estimator, a function. Every place has the mixture of the colours of its classes, pale where none is
    sure. Of two classes the lines are those of probability 0.1, 0.25, 0.5, 0.75 and 0.9; of several they are the borders
    between the likeliest ones. `classes` is in the order of the probabilities: by default the sorted values of y.
    """
    ax = _axes(ax)
    rows = np.asarray(x, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise InvalidOption(f"x: expected two columns, found shape {rows.shape}")
    labels = np.asarray(y)
    if labels.shape != (len(rows),):
        raise InvalidOption(f"y: expected {len(rows)} classes, found shape {labels.shape}")
    if classes is None:
        classes = list(getattr(fit, "classes_", [])) or (isinstance(fit, TableFit) and fit.coding["classes"]) or sorted(set(labels.tolist()))
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    across, up = (np.linspace(low[j] - margin[j], high[j] + margin[j], points) for j in (0, 1))
    first, second = np.meshgrid(across, up)
    names = features
    if names is None and isinstance(fit, TableFit):
        names = list(fit.coding["columns"])
    elif names is None:
        names = [str(name) for name in getattr(fit, "feature_names_in_", getattr(x, "columns", ("x1", "x2")))]
    inputs = np.column_stack([first.ravel(), second.ravel()])
    probability = _probabilities(fit, inputs, names, x).reshape(points, points, -1)
    count = probability.shape[2]
    if count != len(classes):
        raise InvalidOption(f"classes: expected {count} of them, found {len(classes)}")
    if count > len(palette):
        raise InvalidOption(f"fit: a map shows up to {len(palette)} classes, found {count}")

    from matplotlib.colors import to_rgb

    colours = np.array([to_rgb(colour) for colour in palette[:count]])
    # Sure of a class: two thirds of its colour. Knows nothing: white.
    sure = (probability.max(axis=2, keepdims=True) - 1.0 / count) / (1.0 - 1.0 / count)
    shade = 1.0 - 0.65 * sure * (1.0 - probability @ colours)
    extent = (across[0], across[-1], up[0], up[-1])
    ax.imshow(np.clip(shade, 0, 1), origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)
    if count == 2:
        levels = [0.1, 0.25, 0.5, 0.75, 0.9]
        lines = ax.contour(across, up, probability[:, :, 1], levels=levels, colors="black", linewidths=[0.6, 0.6, 1.6, 0.6, 0.6])
        ax.clabel(lines, fmt=lambda level: f"{level:g}", fontsize=8)
    else:
        for c in range(count):
            rivals = np.delete(probability, c, axis=2).max(axis=2)
            ax.contour(across, up, probability[:, :, c] - rivals, levels=[0.0], colors="black", linewidths=1.2)
    for c, name in enumerate(classes):
        mine = labels == name
        ax.scatter(rows[mine, 0], rows[mine, 1], s=26, marker=_marks[c], color=palette[c], edgecolors="white", linewidths=0.6, zorder=3, label=str(name))
    _name(ax, *names)
    ax.legend(framealpha=0.9)
    return ax


def _share(hits: FloatArray, of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    share = hits / of
    centre = (share + z * z / (2 * of)) / (1 + z * z / of)
    reach = z / (1 + z * z / of) * np.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return centre - reach, centre + reach


def calibration(
    probability: npt.ArrayLike | Prediction,
    y: npt.ArrayLike,
    *,
    bins: int = 10,
    label: str = "observed",
    color: str = palette[0],
    ax: Axes | None = None,
) -> Axes:
    """How often a class came about, beside how probable it was called.

    `probability` is that of the class; `y` says whether it came about: true or false, 1 or 0, 1 or -1. Bars at a point are
    a 95 % interval of its share (Wilson's), numbers are the rows behind it.
    """
    ax = _axes(ax)
    said = _numbers(probability.probability if isinstance(probability, Prediction) else probability, "probability")
    came = _numbers(y, "y", len(said))
    if not np.isin(came, (-1.0, 0.0, 1.0)).all():
        raise InvalidOption("y: expected 1 where the class came about, 0 or -1 elsewhere")
    if not ((said >= 0) & (said <= 1)).all():
        raise InvalidOption("probability: expected numbers between 0 and 1")
    if bins < 1:
        raise InvalidOption(f"bins: expected 1 or more, found {bins}")
    where = np.minimum((said * bins).astype(int), bins - 1)
    rows = np.bincount(where, minlength=bins).astype(np.float64)
    full = rows > 0
    hits = np.bincount(where, weights=(came > 0).astype(np.float64), minlength=bins)[full].astype(np.float64)
    mean = np.bincount(where, weights=said, minlength=bins)[full] / rows[full]
    lower, upper = _share(hits, rows[full])
    share = hits / rows[full]
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="perfectly calibrated", zorder=1)
    bars = np.clip(np.stack([share - lower, upper - share]), 0, None)
    ax.errorbar(mean, share, yerr=bars, fmt="o", color=color, capsize=3, linewidth=1.2, markersize=5, label=label, zorder=3)
    for at, top, count in zip(mean, upper, rows[full]):
        ax.annotate(f"{count:.0f}", (at, top), (0, 3), textcoords="offset points", ha="center", fontsize=8, color="0.35")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.1))
    _name(ax, "predicted probability", "observed share")
    ax.legend(frameon=False, loc="lower right")
    return ax


def coverage(
    prediction: Prediction,
    y: npt.ArrayLike,
    *,
    levels: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99),
    label: str = "observed",
    color: str = palette[0],
    marker: str = "o",
    ax: Axes | None = None,
) -> Axes:
    """The share of responses within their central intervals, beside the share that ought to be: calibration of numbers."""
    ax = _axes(ax)
    observed = _numbers(y, "y", len(prediction))
    wanted = np.array(sorted(_level(level) for level in levels))
    # Between the quantiles of (1 - level) / 2 and (1 + level) / 2, without looking for them: P(Y <= y) and P(Y < y), which
    # are one number where responses are continuous.
    up_to, below = prediction.cdf(observed), prediction.cdf(np.nextafter(observed, -np.inf))
    share = [np.mean((up_to >= 0.5 - level / 2) & (below <= 0.5 + level / 2)) for level in wanted]
    if not any(line.get_label() == "perfectly calibrated" for line in ax.lines):
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--", label="perfectly calibrated", zorder=1)
    ax.plot(wanted, share, marker=marker, color=color, linewidth=1.4, markersize=5, label=label, zorder=3)
    ax.set(xlim=(0, 1.03), ylim=(0, 1.03))
    _name(ax, "probability of the central interval", "share of rows inside")
    ax.legend(frameon=False, loc="lower right")
    return ax


def _coefficient_rows(fit: Any, level: float) -> list[Mapping[str, Any]]:
    """With the central intervals of a level, which an estimator from a pickle has of 0.95 alone."""
    table = getattr(getattr(fit, "_fitted", None), "fit", fit)
    if hasattr(table, "coefficients"):
        found: list[Mapping[str, Any]] = table.coefficients(level)
        return found
    rows = getattr(fit, "coefficients_", fit)
    if rows is not fit and level != 0.95:
        raise InvalidOption(f"level: a pickle holds the intervals of 0.95 alone, found {level}; fit again for others")
    if not isinstance(rows, Iterable) or isinstance(rows, str):
        raise InvalidOption(f"fit: expected what has coefficients, found {type(fit).__name__}")
    return list(rows)


def coefficients(
    fit: TableFit | Posterior | Integrated | Iterable[Mapping[str, Any]] | Any,
    *,
    level: float = 0.95,
    names: Sequence[str] | None = None,
    largest: int | None = None,
    intercept: bool = False,
    color: str = palette[0],
    ax: Axes | None = None,
) -> Axes:
    """Coefficients with their central intervals, the largest on top.

    `fit` is a fit of a table, a linear estimator, a posterior (its weights, called by `names`) or rows as
    :meth:`TableFit.coefficients` gives them. `largest` keeps so many, those with the largest means. Hollow points have an interval that holds zero.
    """
    ax = _axes(ax)
    _level(level)
    found: list[tuple[str, float, float, float]]
    if isinstance(fit, (Posterior, Integrated)):
        from statistics import NormalDist

        if fit.weights_mean.ndim != 1:
            raise InvalidOption("fit: there are weights of several latents; give the rows of one of them")
        reach = NormalDist().inv_cdf(0.5 + level / 2) * np.sqrt(fit.weights_variance)
        called = [f"w{j + 1}" for j in range(len(reach))] if names is None else [str(name) for name in names]
        if len(called) != len(reach):
            raise InvalidOption(f"names: expected {len(reach)} of them, found {len(called)}")
        found = [(name, m, m - r, m + r) for name, m, r in zip(called, fit.weights_mean.tolist(), reach.tolist())]
    else:
        rows = _coefficient_rows(fit, level)
        found = [(str(row["name"]), row["mean"], row["lower"], row["upper"]) for row in rows]
    if not intercept:
        found = [row for row in found if row[0].split(" [")[0] not in ("intercept", "(intercept)", "(Intercept)")]
    if not found:
        raise InvalidOption("fit: there are no coefficients to draw")
    left_out = 0
    if largest is not None and largest < len(found):
        left_out = len(found) - largest
        found = sorted(found, key=lambda row: -abs(row[1]))[:largest]
    found = sorted(found, key=lambda row: row[1])
    place = np.arange(len(found))
    mean, lower, upper = (np.array([row[k] for row in found]) for k in (1, 2, 3))
    clear = (lower > 0) | (upper < 0)
    ax.axvline(0, color="0.6", linewidth=1, zorder=0)
    ax.hlines(place, lower, upper, color=color, linewidth=1.6, zorder=2)
    ax.scatter(mean, place, s=30, color=np.where(clear, color, "white").tolist(), edgecolors=color, zorder=3)
    ax.set_yticks(place, [row[0] for row in found])
    ax.set_ylim(-0.7, len(found) - 0.3)
    _name(ax, f"coefficient, {100 * level:g} % interval", " ")
    if left_out:
        ax.set_title(f"the {len(found)} largest of {len(found) + left_out}", fontsize="medium", loc="left")
    return ax


def evidence(
    steps: Iterable[Iteration],
    *,
    label: str | None = None,
    color: str = palette[0],
    gap: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """The objective along a run: of learning, where `steps` is a list that ``learn(..., progress=steps.append)`` filled,
    or of one inference (``posterior.report.history``). Learning raises the log evidence plus the log densities of the
    hyperpriors, where there are some.

    With `gap` it is the distance to the best value on a logarithmic scale, which shows how a search ends.
    """
    ax = _axes(ax)
    from matplotlib.ticker import MaxNLocator

    run = list(steps)
    if not run:
        raise InvalidOption("steps: expected at least one; give learn progress=steps.append")
    value = np.array([step.objective for step in run])
    at = np.arange(1, len(value) + 1)
    if gap:
        left = value.max() - value
        # What is left at the end is nothing; a logarithm shows the smallest gap above rounding instead.
        floor = 1e-12 * max(1.0, abs(value.max()))
        ax.semilogy(at, np.maximum(left, floor), marker=".", color=color, linewidth=1.4, label=label)
        _name(ax, "evaluation", "objective below its best")
    else:
        ax.plot(at, value, marker=".", color=color, linewidth=1.4, label=label)
        _name(ax, "evaluation", "objective")
        # Full figures instead of an offset at the corner.
        ax.ticklabel_format(axis="y", useOffset=False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if label is not None:
        ax.legend(frameon=False)
    return ax


def _left_out(fit: Any) -> FloatArray:
    known = fit
    for name in ("loo_", "leave_one_out"):
        known = getattr(fit, name, None)
        if known is not None:
            break
    if isinstance(fit, LeaveOneOut):
        known = fit
    density = getattr(known, "log_density", None)
    return _numbers(fit if density is None or callable(density) else density, "fit")


def leave_one_out(
    fit: Any,
    other: Any = None,
    *,
    names: Sequence[Any] | None = None,
    worst: int = 3,
    label: str | None = None,
    color: str = palette[0],
    ax: Axes | None = None,
) -> Axes:
    """The log predictive density of every row given the others, with the rows that surprise most called by name.

    With `other` it is the difference, `fit` minus `other`, a row: above zero the first one predicts better. Names are row
    numbers from 0 unless given.
    """
    ax = _axes(ax)
    value = _left_out(fit)
    if other is not None:
        value = value - _numbers(_left_out(other), "other", len(value))
    if names is not None and len(names) != len(value):
        raise InvalidOption(f"names: expected {len(value)} of them, found {len(names)}")
    known = np.isfinite(value)
    if not known.any():
        raise InvalidOption("fit: no row has a leave-one-out density")
    total = float(value[known].sum())
    spread = float(np.sqrt(known.sum()) * value[known].std())
    what = "total" if other is None else "difference in total"
    text = f"{what} {total:.1f}" + (f" ± {spread:.1f}" if other is not None else "")
    rows = np.arange(len(value))
    ax.axhline(0.0 if other is not None else float(value[known].mean()), color="0.6", linewidth=1, zorder=0)
    ax.scatter(rows[known], value[known], s=14, color=color, linewidths=0, label=None if label is None else f"{label}, {text}")
    surprising = np.where(known, -np.abs(value) if other is not None else value, np.inf)
    for row in np.argsort(surprising, kind="stable")[:worst]:
        # Names lean away from the side of the picture that they would leave.
        side = "right" if row > 0.7 * len(value) else "left"
        name = str(row if names is None else names[row])
        ax.annotate(name, (row, value[row]), (-6 if side == "right" else 6, 0), textcoords="offset points", fontsize=8, ha=side, va="center")
    # What is written may hide no row: it gets a strip of its own.
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + 0.13 * (top - bottom))
    if label is None:
        ax.annotate(text, (1, 1), (-6, -6), xycoords="axes fraction", textcoords="offset points", ha="right", va="top")
    else:
        ax.legend(frameon=False, loc="upper right")
    _name(ax, "row", "log predictive density, left out" if other is None else "difference of log predictive density")
    return ax


def relevance(fit: Any, *, largest: int | None = None, ax: Axes | None = None) -> Axes:
    """What the inputs of a network contribute, the largest share on top; faint bars cannot be told from irrelevant.

    `fit` is a posterior of a network, a fit of a table, an estimator, or a list of :class:`gaussmith.Relevance`. Shares
    stand on a logarithmic scale.
    """
    found = fit
    for name in ("posterior", "relevances_", "relevance"):
        found = getattr(found, name, found)
    if not isinstance(found, list) or not all(isinstance(input, Relevance) for input in found):
        raise InvalidOption(f"fit: expected a network with its relevance, found {type(fit).__name__}")
    shown = [input for input in found if input.share > 0][:largest]
    if not shown:
        raise InvalidOption("fit: no input has any relevance")
    ax = _axes(ax)
    colors = [palette[5] if input.irrelevant else palette[0] for input in shown]
    ax.barh(range(len(shown)), [input.share for input in shown], color=colors, height=0.7)
    ax.set_yticks(range(len(shown)), [input.name for input in shown])
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlabel(ax.get_xlabel() or "relevance")
    return ax
