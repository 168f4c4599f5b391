"""The estimators: scikit-learn's own checks, what they answer, and that they answer it everywhere alike."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import gaussmith as gs
import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")
joblib = pytest.importorskip("joblib")

from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

WEIGHTS = "starting values and medians of weak hyperpriors come from the spread of the rows, whatever their weights"


def exceptions(estimator: Any) -> dict[str, str]:
    """Checks that an estimator does not pass, each with the reason that docs/python.md gives."""
    if isinstance(estimator, (gs.GaussianProcessClassifier, gs.GaussianProcessRegressor)):
        return {"check_sample_weight_equivalence_on_dense_data": WEIGHTS}
    return {}


# Several classes by laplace: the default, kl, passes the same checks and takes four times as long.
@pytest.mark.filterwarnings("ignore::gaussmith.ConvergenceWarning")
@parametrize_with_checks(
    [
        gs.GaussianProcessClassifier(method="laplace", max_evaluations=20),
        gs.GaussianProcessRegressor(),
        gs.BayesianLinearClassifier(),
        gs.BayesianLinearRegressor(),
        gs.SparseLinearRegressor(),
        gs.NetworkRegressor(units=2, starts=1),
        gs.NetworkClassifier(units=2, starts=1),
    ],
    expected_failed_checks=exceptions,
)
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 3))
SIGNAL = np.sin(2 * X[:, 0]) + X[:, 1]
LABELS = np.where(SIGNAL + 0.3 * RNG.normal(size=60) > 0, "yes", "no")
NUMBERS = SIGNAL + 0.1 * RNG.normal(size=60)
COUNTS = RNG.poisson(np.exp(0.5 * SIGNAL + 1))


def frame() -> Any:
    kinds = np.array(["red", "green", "blue"])[np.arange(60) % 3]
    return pd.DataFrame({"dose": X[:, 0], "age": X[:, 1], "kind": pd.Categorical(kinds), "site": np.arange(60) % 4})


def test_a_classifier_answers() -> None:
    model = gs.GaussianProcessClassifier("se-ard").fit(X, LABELS)
    proba = model.predict_proba(X)
    assert model.classes_.tolist() == ["no", "yes"] and model.score(X, LABELS) > 0.9
    assert np.allclose(proba.sum(axis=1), 1) and (model.predict(X) == model.classes_[proba.argmax(axis=1)]).all()
    assert set(model.sample_y(X, 4, random_state=1).ravel()) == {"no", "yes"}
    assert model.loo_.log_density.shape == (60,) and model.kernel_.name == "se"
    assert model.log_marginal_likelihood_value_ == model.log_evidence_
    assert "log evidence" in str(model.summary()) and "<table>" in model.summary()._repr_html_()


def test_several_classes_keep_their_order() -> None:
    three = np.digitize(X[:, 1], [-0.5, 0.5]) * 5 + 5  # as texts, 10 comes before 5
    model = gs.BayesianLinearClassifier().fit(X, three)
    assert model.classes_.tolist() == [5, 10, 15] and model.score(X, three) > 0.8
    assert model.coef_.shape == (3, 3) and model.intercept_.shape == (3,)
    assert set(np.unique(model.sample_y(X, 2))) <= {5, 10, 15}


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t", "laplace", "cauchy"])
def test_a_regressor_answers(likelihood: str) -> None:
    method = "ep" if likelihood == "laplace" else None
    model = gs.GaussianProcessRegressor(likelihood=likelihood, method=method).fit(X, NUMBERS)
    quantiles = model.predict_quantiles(X, (0.1, 0.9))
    mean = model.predict(X)
    assert model.score(X, NUMBERS) > 0.9 and np.isfinite(mean).all()
    assert ((quantiles[:, 0] < mean) & (mean < quantiles[:, 1])).all()
    assert model.sample_y(X, 3).shape == (60, 3)
    if likelihood == "cauchy":
        with pytest.raises(ValueError, match="no variance"):
            model.predict(X, return_std=True)
    elif likelihood == "gaussian":
        assert (model.predict(X, return_std=True)[1] > 0).all()


def test_counts_have_exposure() -> None:
    exposure = np.linspace(1, 3, 60)
    model = gs.GaussianProcessRegressor(likelihood="poisson").fit(X, COUNTS, exposure=exposure)
    assert np.allclose(model.predict(X, exposure=2 * exposure), 2 * model.predict(X, exposure=exposure))
    with pytest.raises(ValueError, match="exposure: the model was fitted with it"):
        model.predict(X)
    table = frame().assign(days=exposure)
    by_name = gs.GaussianProcessRegressor("se(dose, age)", likelihood="poisson").fit(table, COUNTS, exposure="days")
    assert by_name.predict(table).shape == (60,)


def test_survival_has_censoring() -> None:
    times, event = np.exp(0.3 * NUMBERS) + 0.1, (np.arange(60) % 3 > 0).astype(float)
    model = gs.GaussianProcessRegressor(likelihood="weibull").fit(X, times, event=event)
    other = gs.GaussianProcessRegressor(likelihood="weibull").fit(X, times, censored=1 - event)
    assert np.array_equal(model.predict(X), other.predict(X)) and (model.predict_quantiles(X) > 0).all()


def test_frames_have_names_and_categories() -> None:
    model = gs.BayesianLinearRegressor(categorical=["site"]).fit(frame(), NUMBERS)
    assert model.feature_names_in_.tolist() == ["dose", "age", "kind", "site"]
    names = [c["name"] for c in model.coefficients_]
    assert names == ["(intercept)", "dose", "age", "kind=green", "kind=red", "site=1", "site=2", "site=3"]
    with pytest.raises(ValueError, match="purple"):
        model.predict(frame().assign(kind="purple"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame()[["age", "dose", "kind", "site"]])


def test_polars_gives_the_numbers_of_pandas() -> None:
    polars = pytest.importorskip("polars")
    other = polars.DataFrame({name: cells.tolist() for name, cells in frame().items()})
    mine, theirs = (gs.GaussianProcessClassifier().fit(table, LABELS) for table in (frame(), other))
    assert np.array_equal(mine.predict_proba(frame()), theirs.predict_proba(other))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_with_missing_cells_may_be_left_out(library: str) -> None:
    made = pytest.importorskip(library).DataFrame
    columns = {name: cells.tolist() for name, cells in frame().items()}
    columns["age"][5] = columns["kind"][7] = None
    table = made(columns)
    with pytest.raises(ValueError, match="row 6, column \"age\": the cell is missing; .* with drop_missing"):
        gs.BayesianLinearRegressor().fit(table, NUMBERS)
    model = gs.BayesianLinearRegressor(drop_missing=True).fit(table, NUMBERS, sample_weight=np.arange(60) % 3 + 1.0)
    kept = np.delete(np.arange(60), [5, 7])
    whole = gs.BayesianLinearRegressor().fit(frame().iloc[kept], NUMBERS[kept], sample_weight=kept % 3 + 1.0)
    assert model.coef_ == pytest.approx(whole.coef_, rel=1e-9) and len(model.loo_.log_density) == 58
    holes = np.where(np.arange(60)[:, None] == [5, 7, 99], np.nan, X)
    with pytest.raises(ValueError, match="NaN; leave rows with missing cells out with drop_missing=True$"):
        gs.GaussianProcessClassifier().fit(holes, LABELS)
    array = gs.GaussianProcessClassifier(drop_missing=True).fit(holes, LABELS)
    assert np.array_equal(array.predict_proba(X), gs.GaussianProcessClassifier().fit(X[kept], LABELS[kept]).predict_proba(X))
    with pytest.raises(ValueError, match="NaN"):
        array.predict(holes)


def test_columns_of_all_kinds() -> None:
    decimal = pytest.importorskip("decimal").Decimal
    table = frame().assign(town="Ulm", price=[decimal(i) / 4 for i in range(60)], seen=pd.array(X[:, 2] > 0, dtype="boolean"))
    model = gs.BayesianLinearRegressor().fit(table, NUMBERS)
    names = [c["name"] for c in model.coefficients_]
    assert names == ["(intercept)", "dose", "age", "kind=green", "kind=red", "site", "price", "seen"]
    assert 'column "town" is constant ("Ulm"); it is left out' in str(model.summary())
    twice = pd.DataFrame(X, columns=["a", "b", "a"])
    with pytest.raises(ValueError, match='two columns "a"'):
        gs.BayesianLinearRegressor().fit(twice, NUMBERS)
    with pytest.raises(ValueError, match='column "l": expected numbers or texts, found'):
        gs.BayesianLinearRegressor().fit(frame().assign(l=[[1, 2]] * 60), NUMBERS)


def test_categories_of_arrays_go_by_their_places() -> None:
    levels = np.column_stack([X[:, 0], np.arange(60) % 4])
    model = gs.BayesianLinearRegressor(categorical="x2").fit(levels, NUMBERS)
    assert [c["name"] for c in model.coefficients_] == ["(intercept)", "x1", "x2=1", "x2=2", "x2=3"]
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(levels), model.predict(levels))


def words() -> Any:
    """Counts of words: 200 rows, 30 columns, few of them matter."""
    rng = np.random.default_rng(5)
    return sparse.random_array((200, 30), density=0.2, rng=rng, format="csr"), rng


@pytest.mark.parametrize("made", [gs.BayesianLinearClassifier, gs.BayesianLinearRegressor, gs.SparseLinearRegressor])
def test_linear_models_take_sparse_matrices(made: Any) -> None:
    counts, rng = words()
    dense = counts.toarray()
    signal = dense[:, :5] @ rng.normal(size=5) * 4
    signal -= np.median(signal)
    y = np.where(signal > 0, "spam", "ham") if made is gs.BayesianLinearClassifier else signal
    rows, columns = made().fit(counts, y), made().fit(dense, y)
    # The same but for the prior of the intercept, which is wide instead of at the columns' means.
    assert (abs(rows.coef_ - columns.coef_) < 0.2 * columns.coef_std_).all()
    assert np.array_equal(rows.predict(counts), rows.predict(dense))
    assert np.array_equal(columns.predict(counts.tocoo()), columns.predict(dense))
    again = pickle.loads(pickle.dumps(rows))
    assert np.array_equal(again.predict(counts), rows.predict(counts)) and rows.score(counts, y) > 0.95


def test_sparse_rows_have_weights_exposure_and_offsets() -> None:
    counts, rng = words()
    exposure, offset, weights = rng.uniform(1, 3, 200), rng.normal(size=200), np.arange(200) % 3
    y = rng.poisson(exposure * np.exp(counts.toarray()[:, 0] + offset))
    beside = {"exposure": exposure, "offset": offset}
    rows = gs.BayesianLinearRegressor(likelihood="poisson").fit(counts, y, weights, **beside)
    columns = gs.BayesianLinearRegressor(likelihood="poisson").fit(counts.toarray(), y, weights, **beside)
    assert rows.predict(counts, **beside) == pytest.approx(columns.predict(counts.toarray(), **beside), rel=0.02)
    assert np.allclose(rows.predict(counts, exposure=2 * exposure, offset=offset), 2 * rows.predict(counts, **beside))
    with pytest.raises(ValueError, match="exposure: the model was fitted with it"):
        rows.predict(counts)


def test_text_in_a_pipeline() -> None:
    letters = ["win cash now", "cash prize win", "meeting at noon", "lunch at noon", "win a prize", "notes of the meeting"] * 5
    labels = np.array([1, 1, 0, 0, 1, 0] * 5)
    pipeline = make_pipeline(TfidfVectorizer(), gs.BayesianLinearClassifier()).fit(letters, labels)
    assert pipeline.predict(["cash cash", "noon meeting", "unknown words"]).tolist()[:2] == [1, 0]
    search = GridSearchCV(pipeline, {"bayesianlinearclassifier__prior_scale": [0.5, 2.5]}, cv=3).fit(letters, labels)
    assert search.best_score_ == 1


def test_formulas_add_terms() -> None:
    table = frame()
    model = gs.GaussianProcessRegressor(formula="age + (1|site) + gp(dose)", mean=0.0).fit(table, NUMBERS)
    assert model.score(table, NUMBERS) > 0.9 and "random[0].sd" in model.parameters_


def test_kernel_objects_are_where_learning_starts() -> None:
    kernel = gs.kernel("se", lengthscale=[0.5, 2.0], signal_sd=1.5).on([0, 1]) + gs.kernel("linear", signal_sd=0.1)
    model = gs.GaussianProcessRegressor(kernel, learn=False, standardize=False, mean=0.0, parameters={"likelihood.variance": 0.01})
    found = model.fit(X, NUMBERS).parameters_
    assert found["kernel.terms[0].lengthscale[1]"] == 2.0 and found["kernel.terms[1].signal_sd"] == 0.1
    process = gs.GaussianProcess(X, kernel)
    exact = gs.infer(gs.Model(process, gs.observe("gaussian", NUMBERS, variance=0.01)), threads=1)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence, rel=1e-12)


def se(lengthscale: Any, signal_sd: float = 1.0) -> gs.Kernel:
    return gs.kernel("se", lengthscale=lengthscale, signal_sd=signal_sd)


KERNELS = {
    "in another order": se([0.5, 2.0, 9.0]).on([2, 1, 0]),
    "one number in another order": se(0.5).on([2, 1, 0]),
    "a sum in a sum": (se(0.5) + se(1.0)).on([1]) + se(2.0, 3.0),
    "a sum after one": se(2.0, 3.0) + (se(0.5) + gs.kernel("matern32", lengthscale=4.0)).on([1, 2]),
    "a product in a product": (se(0.5) * se(1.0)).on([1]) * se(2.0, 3.0),
    "a product of sums": (se(0.5) + se([1.0, 4.0, 2.0]).on([1, 2, 0])) * (se(2.0, 3.0) + gs.kernel("linear", signal_sd=0.2)),
    "a sum of products": se(0.5) * se(1.0) + se(2.0, 3.0) * gs.kernel("linear", signal_sd=0.2),
    "columns of columns": (se([0.5, 3.0]).on([1, 0]) + se([1.0, 4.0])).on([0, 2]) + se(1.0),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_objects_keep_their_columns_and_places(name: str) -> None:
    kernel = KERNELS[name]
    exact = gs.infer(gs.Model(gs.GaussianProcess(X, kernel), gs.observe("gaussian", NUMBERS, variance=0.5)), threads=1)
    values = {"likelihood.variance": 0.5}
    model = gs.GaussianProcessRegressor(kernel, learn=False, standardize=False, mean=0.0, parameters=values).fit(X, NUMBERS)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence, rel=1e-12)
    assert model.parameters_ == exact.parameters
    assert model.predict(X[:5] + 0.3) == pytest.approx(exact.predict(X[:5] + 0.3).mean, rel=1e-9)


def test_kernels_on_some_columns_leave_the_others_to_fixed_effects() -> None:
    """N(0, k on two columns + prior of the intercept and of the third), in closed form."""
    kernel = se([0.5, 2.0]).on([2, 0])
    values = {"likelihood.variance": 0.5, "prior.scale": 1e-8}
    model = gs.GaussianProcessRegressor(kernel, learn=False, standardize=False, parameters=values).fit(X, NUMBERS)
    level, spread = NUMBERS.mean(), 10 * NUMBERS.std()
    covariance = kernel(X) + 0.5 * np.eye(60) + spread**2
    residual = NUMBERS - level
    _, logdet = np.linalg.slogdet(2 * np.pi * covariance)
    expected = -0.5 * (residual @ np.linalg.solve(covariance, residual) + logdet)
    assert model.log_evidence_ == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("kernel", ["se(x1)+se(x2)+se(x3)", "se(x1, x2, x3)", "se+linear(x1)", se([1.0, 2.0, 3.0]).on([2, 0, 1])], ids=str)
def test_kernels_that_name_all_columns_have_the_level_of_the_data(kernel: Any) -> None:
    model = gs.GaussianProcessRegressor(kernel, learn=False).fit(X, NUMBERS + 100)
    assert model.posterior_.model.prior.mean == pytest.approx(np.mean(NUMBERS + 100))  # type: ignore[union-attr]
    assert model.predict(np.full((1, 3), 50.0)) == pytest.approx([np.mean(NUMBERS + 100)], abs=60)


def test_what_a_fit_has_is_not_there_before() -> None:
    from sklearn.exceptions import NotFittedError

    for name in ("loo_", "posterior_", "model_", "kernel_", "coef_", "coef_std_", "intercept_"):
        made = gs.BayesianLinearRegressor() if "coef" in name or name == "intercept_" else gs.GaussianProcessRegressor()
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            getattr(made, name)
        assert not hasattr(made, name)


def test_weights_of_zero_leave_rows_out() -> None:
    weights = np.ones(60)
    weights[40:] = 0
    whole = gs.GaussianProcessClassifier().fit(X, LABELS, sample_weight=weights)
    part = gs.GaussianProcessClassifier().fit(X[:40], LABELS[:40])
    assert np.array_equal(whole.predict_proba(X), part.predict_proba(X))


def test_the_tool_gives_the_same_bits(tool: Path, tmp_path: Path) -> None:
    table = frame().drop(columns="kind").assign(label=LABELS)
    table.to_csv(tmp_path / "train.csv", index=False)
    read = pd.read_csv(tmp_path / "train.csv")
    model = gs.GaussianProcessClassifier("se-ard").fit(read.drop(columns="label"), read["label"])
    common = ["--threads", "1", "--quiet"]
    words = ["--target", "label", "--likelihood", "bernoulli-logit", "--kernel", "se-ard", "--standardize", "--mean", "auto"]
    subprocess.run([tool, "fit", "--data", "train.csv", *words, "--learn", "--hyperpriors", "weak", "--save", "m.gsm", *common],
                   cwd=tmp_path, check=True, capture_output=True)  # fmt: skip
    subprocess.run([tool, "predict", "--model", "m.gsm", "--data", "train.csv", "--output", "p.csv", *common],
                   cwd=tmp_path, check=True, capture_output=True)  # fmt: skip
    theirs = np.genfromtxt(tmp_path / "p.csv", delimiter=",", names=True, dtype=None, encoding="utf8")["probability"]
    assert np.array_equal(theirs, model.predict_proba(read.drop(columns="label"))[:, 1])
    model.save(tmp_path / "mine.gsm")
    assert gs.load(tmp_path / "m.gsm").log_evidence == model.log_evidence_
    again = gs.load(tmp_path / "mine.gsm").predict_table(read)
    assert np.array_equal(again.probability, theirs)


def random_pipeline(rng: np.random.Generator) -> tuple[Any, Any]:
    steps = {0: [], 1: [StandardScaler()], 2: [MinMaxScaler()], 3: [PolynomialFeatures(2), StandardScaler()]}
    kernel = str(rng.choice(["se", "se-ard", "matern32", "se+linear"]))
    fast = {"max_evaluations": 15, "random_state": int(rng.integers(9))}
    choice = [
        lambda: (gs.GaussianProcessClassifier(kernel, likelihood=str(rng.choice(["logit", "probit"])), **fast), LABELS),
        lambda: (gs.GaussianProcessRegressor(kernel, **fast), NUMBERS),
        lambda: (gs.GaussianProcessRegressor(kernel, likelihood="poisson", **fast), COUNTS),
        lambda: (gs.BayesianLinearClassifier(**fast), LABELS),
        lambda: (gs.BayesianLinearRegressor(likelihood=str(rng.choice(["gaussian", "student-t"])), **fast), NUMBERS),
        lambda: (gs.SparseLinearRegressor(prior_scale=float(rng.choice([0.1, 1])), **fast), NUMBERS),
    ]
    estimator, y = choice[int(rng.integers(6))]()
    return make_pipeline(*steps[int(rng.integers(4))], estimator), y


@pytest.mark.filterwarnings("ignore::gaussmith.ConvergenceWarning")
def test_fifty_pipelines_survive_pickling() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        pipeline, y = random_pipeline(rng)
        pipeline.fit(X[:40], y[:40])
        again = pickle.loads(pickle.dumps(pipeline))
        assert np.array_equal(again.predict(X), pipeline.predict(X))
        assert again[-1].log_evidence_ == pipeline[-1].log_evidence_
        assert np.array_equal(again[-1].loo_.log_density, pipeline[-1].loo_.log_density, equal_nan=True)
        assert str(again[-1].summary()) == str(pipeline[-1].summary())


def test_searches_and_parallel_fits_agree() -> None:
    search = GridSearchCV(gs.BayesianLinearClassifier(), {"prior_scale": [0.5, 2.5]}, cv=3).fit(X, LABELS)
    assert search.best_score_ > 0.8
    model = gs.GaussianProcessClassifier()
    alone = cross_val_score(model, X, LABELS, cv=3)
    assert np.array_equal(alone, cross_val_score(clone(model), X, LABELS, cv=3, n_jobs=2))
    with joblib.parallel_config("threading", n_jobs=3):
        assert np.array_equal(alone, cross_val_score(clone(model), X, LABELS, cv=3))


def test_two_threads_give_the_bits_of_one() -> None:
    def fitted(rows: int) -> Any:
        return gs.GaussianProcessClassifier("se-ard").fit(X[:rows], LABELS[:rows]).predict_proba(X)

    alone = [fitted(50), fitted(60)]
    found: list[Any] = [None, None]

    def run(at: int) -> None:
        found[at] = fitted((50, 60)[at])

    threads = [threading.Thread(target=run, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(a, b) for a, b in zip(alone, found))


def test_a_fork_after_a_fit_does_not_hang() -> None:
    code = """
import os, numpy as np, gaussmith as gs
x = np.random.default_rng(0).normal(size=(90, 2)); y = x[:, 0] > 0
one = gs.GaussianProcessClassifier(n_jobs=2, max_evaluations=3).fit(x, y).predict_proba(x)
child = os.fork()
two = gs.GaussianProcessClassifier(n_jobs=2, max_evaluations=3).fit(x, y).predict_proba(x)
if child == 0:
    os._exit(0 if np.array_equal(one, two) else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.GaussianProcessClassifier().fit(X, np.zeros(60)), "one class"),
        (lambda: gs.GaussianProcessClassifier().fit(X[:50], LABELS), "inconsistent numbers of samples"),
        (lambda: gs.GaussianProcessClassifier("sse").fit(X, LABELS), "unknown kernel"),
        (lambda: gs.GaussianProcessClassifier(3).fit(X, LABELS), "kernel: expected a text"),
        (lambda: gs.GaussianProcessClassifier(method="laplas").fit(X, LABELS), "did you mean laplace"),
        (lambda: gs.GaussianProcessClassifier(likelihood="logits").fit(X, LABELS), "unknown likelihood"),
        (lambda: gs.GaussianProcessClassifier(method=3).fit(X, LABELS), "method: expected a name"),
        (lambda: gs.GaussianProcessClassifier(max_evaluations="a").fit(X, LABELS), "max_evaluations: expected a whole number"),
        (lambda: gs.GaussianProcessClassifier(categorical="site ").fit(frame(), LABELS), 'there is no column "site "'),
        (lambda: gs.BayesianLinearClassifier(categorical=["x4"]).fit(X, LABELS), 'there is no column "x4"'),
        (lambda: gs.GaussianProcessClassifier().fit(X, np.where(X[:, 0] > 0, np.nan, 1)), "Input y contains NaN"),
        (lambda: gs.GaussianProcessRegressor(n_jobs=0).fit(X, NUMBERS), "n_jobs"),
        (lambda: gs.GaussianProcessRegressor().fit(np.full((60, 2), np.nan), NUMBERS), "NaN"),
        (lambda: gs.GaussianProcessRegressor().fit(X, np.where(X[:, 0] > 1, np.inf, 0)), "infinity"),
        (lambda: gs.GaussianProcessRegressor(likelihood="poisson").fit(X, NUMBERS), "is not a count"),
        (lambda: gs.GaussianProcessRegressor().fit(frame().assign(kind=None), NUMBERS), "missing"),
        (lambda: gs.GaussianProcessRegressor().fit(X, NUMBERS, exposure=np.ones(60)), "has no exposure"),
        (lambda: gs.GaussianProcessRegressor().fit(X, NUMBERS, offset=np.ones(3)), "one number a row"),
        (lambda: gs.GaussianProcessRegressor().fit(X, NUMBERS, sample_weight=-np.ones(60)), "weights of 0 or more"),
        (lambda: gs.GaussianProcessRegressor().fit(sparse.csr_array(X), NUMBERS), "dense data is required"),
        (lambda: gs.BayesianLinearRegressor(formula="x1").fit(sparse.csr_array(X), NUMBERS), "sparse features have no names"),
        (lambda: gs.BayesianLinearRegressor(likelihood="poisson").fit(sparse.csr_array(X), COUNTS, exposure="days"), "give an array"),
        (lambda: gs.SparseLinearRegressor(formula="x1").fit(X, NUMBERS), "formula"),
    ],
)
def test_a_mistake_is_one_error(make: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value).split(" Here", 1)[0].strip() or "NaN" in str(caught.value)


def test_import_leaves_scikit_learn_alone() -> None:
    code = """
import sys, gaussmith as gs
assert not {'sklearn', 'scipy', 'matplotlib', 'pandas'} & {*sys.modules}
assert {'GaussianProcessClassifier', 'plot', 'Ep', 'infer'} <= {*dir(gs)}
assert not {'Any', 'TYPE_CHECKING'} & {*dir(gs)} and all(hasattr(gs, name) for name in dir(gs) if name != 'plot')
"""
    subprocess.run([sys.executable, "-c", code], check=True)
