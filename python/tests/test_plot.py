"""Pictures draw what they are given, into the axes that they are given."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import gaussmith as gs
import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from gaussmith import plot  # noqa: E402

X = np.linspace(-2, 2, 30)
Y = np.sin(X)
FIT = gs.infer(gs.Model(gs.GaussianProcess(X[:, None], "se"), gs.observe("gaussian", Y, variance=0.01)))


@pytest.fixture
def ax() -> Any:
    yield plt.subplots()[1]
    plt.close("all")


def test_a_curve_has_its_quantiles(ax: Any) -> None:
    prediction = FIT.predict(X[::-1, None])
    assert plot.curve(X[::-1], prediction, data=(X, Y), levels=[0.9], ax=ax) is ax
    line = ax.lines[0]
    assert np.array_equal(line.get_xdata(), X)  # In order, although the points were not.
    assert line.get_ydata() == pytest.approx(prediction.mean[::-1], abs=1e-6)
    corners = ax.collections[0].get_paths()[0].vertices
    assert corners[:, 1].min() == pytest.approx(prediction.quantile(0.05).min())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["90 % band", "median", "data"]
    assert ax.get_xlabel() == "x"


@pytest.mark.parametrize("of", ["mean", "latent"])
def test_bands_of_the_mean_are_narrower_than_of_responses(ax: Any, of: Any) -> None:
    def width(of: Any) -> float:
        shade = plot.curve(X, FIT.predict(X[:, None]), levels=[0.9], of=of, ax=plt.subplots()[1]).collections[0]
        return float(np.ptp(shade.get_paths()[0].vertices[:, 1]))

    assert width(of) < width("response")


def test_labels_that_are_there_stay(ax: Any) -> None:
    ax.set_xlabel("time, s")
    plot.curve(X, FIT.predict(X[:, None]), ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time, s", "y")


def test_a_class_map_of_two_and_of_three(ax: Any) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    model = gs.Model(gs.GaussianProcess(x, "se"), gs.observe("bernoulli-probit", y))
    plot.class_map(gs.infer(model), x, y, points=20, ax=ax)
    picture = ax.images[0].get_array()
    assert picture.shape == (20, 20, 3)
    left, right = picture[10, 2], picture[10, -3]
    assert left[2] > left[0] and right[0] > right[2]  # Blue for the first class, vermilion for the second.
    three = plot.class_map(lambda at: np.tile([0.2, 0.3, 0.5], (len(at), 1)), x, rng.integers(0, 3, 30), points=5, ax=plt.subplots()[1])
    assert [text.get_text() for text in three.get_legend().get_texts()] == ["0", "1", "2"]


def test_calibration_counts(ax: Any) -> None:
    plot.calibration([0.05, 0.05, 0.95, 0.95], [0, 1, 1, 1], bins=2, ax=ax)
    points = ax.lines[1].get_xydata()
    assert points == pytest.approx(np.array([[0.05, 0.5], [0.95, 1.0]]))
    assert [text.get_text() for text in ax.texts] == ["2", "2"]


def test_coverage_counts(ax: Any) -> None:
    prediction = FIT.predict(X[:, None])
    plot.coverage(prediction, prediction.mean, levels=[0.5, 0.9], ax=ax)
    assert ax.lines[1].get_ydata() == pytest.approx([1, 1])
    plot.coverage(prediction, prediction.mean + 100, levels=[0.5, 0.9], ax=ax)
    assert ax.lines[2].get_ydata() == pytest.approx([0, 0])


def test_coefficients_are_in_order_and_cut(ax: Any) -> None:
    rows = [{"name": n, "mean": m, "lower": m - 1, "upper": m + 1} for n, m in (("(intercept)", 9), ("a", 0.1), ("b", -3), ("c", 2))]
    plot.coefficients(rows, largest=2, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["b", "c"]
    own = plt.subplots()[1]
    plot.coefficients(FIT, largest=3, ax=own)
    assert len(own.get_yticks()) == 3


def test_evidence_and_leave_one_out(ax: Any) -> None:
    steps: list[gs.Iteration] = []
    learned = gs.learn(FIT.model, progress=steps.append)
    plot.evidence(steps, ax=ax)
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(learned.log_evidence)
    plot.evidence(steps, gap=True, ax=plt.subplots()[1])
    rows = plot.leave_one_out(learned, FIT, ax=plt.subplots()[1]).collections[0].get_offsets()
    assert np.asarray(rows)[:, 1] == pytest.approx(learned.leave_one_out.log_density - FIT.leave_one_out.log_density)


def test_evidence_names_what_it_draws(ax: Any) -> None:
    steps: list[gs.Iteration] = []
    learned = gs.learn(FIT.model, hyperpriors="weak", progress=steps.append)
    plot.evidence(steps, ax=ax)
    assert ax.get_ylabel() == "objective"
    assert max(ax.lines[0].get_ydata()) == pytest.approx(learned.learning.objective)
    assert abs(learned.learning.objective - learned.log_evidence) > 0.1


def test_coefficients_of_estimators(ax: Any) -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 2))
    model = gs.BayesianLinearClassifier().fit(x, x[:, 0] + rng.normal(size=40) > 0)
    plot.coefficients(model, level=0.5, ax=ax)
    assert sorted(text.get_text() for text in ax.get_yticklabels()) == ["x1", "x2"]
    ends = sorted(float(np.ptp(path.vertices[:, 0])) for path in ax.collections[0].get_paths())
    half = 2 * 0.6744897501960817 * np.sort(model.coef_std_[0])  # The quartiles of a Gaussian.
    assert ends == pytest.approx(half)
    again = pickle.loads(pickle.dumps(model))
    plot.coefficients(again, ax=plt.subplots()[1])
    with pytest.raises(gs.InvalidOption, match="0.95 alone"):
        plot.coefficients(again, level=0.5)
    three = gs.BayesianLinearClassifier().fit(x, np.arange(40) % 3)
    names = [text.get_text() for text in plot.coefficients(three, ax=plt.subplots()[1]).get_yticklabels()]
    assert len(names) == 6 and not any("intercept" in name for name in names)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_class_map_of_a_frame_has_its_names(library: str, ax: Any) -> None:
    pytest.importorskip("sklearn")
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(30, 2))
    table = frames.DataFrame({"dose": x[:, 0], "age": x[:, 1]})
    model = gs.BayesianLinearClassifier().fit(table, x[:, 0] > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot.class_map(model, table, x[:, 0] > 0, points=5, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "age")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plot.curve(X[:3], FIT.predict(X[:, None])), "x: expected 30 numbers, found 3"),
        (lambda: plot.curve(X, FIT.predict(X[:, None]), levels=[95]), "levels: expected numbers between 0 and 1"),
        (lambda: plot.curve(X, FIT.predict(X[:, None]), of="y"), "of: expected"),  # type: ignore[arg-type]
        (lambda: plot.class_map(FIT, X, Y), "x: expected two columns"),
        (lambda: plot.calibration([0.5, 2.0], [0, 1]), "between 0 and 1"),
        (lambda: plot.calibration([0.5], [3]), "y: expected 1 where"),
        (lambda: plot.coefficients([]), "no coefficients"),
        (lambda: plot.coefficients(3), "expected what has coefficients"),
        (lambda: plot.evidence([]), "steps: expected at least one"),
        (lambda: plot.leave_one_out(FIT, names=["a"]), "names: expected 30"),
    ],
)
def test_a_mistake_is_one_clear_error(draw: Any, message: str) -> None:
    with pytest.raises(gs.InvalidInput, match=message):
        draw()
    plt.close("all")
