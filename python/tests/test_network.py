"""Networks and sparse linear models: the same as the tool, estimators, files."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import gaussmith as gs
import numpy as np
import pytest

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = 5 + 3 * X[:, 0] - 2 * X[:, 2] + 0.2 * RNG.normal(size=40)
CURVED = np.sin(2 * X[:, 0]) + 0.1 * RNG.normal(size=40)
QUICK = gs.NetworkEp(starts=1)


def linear() -> gs.NetworkPosterior:
    return gs.infer(gs.NetworkModel(X, gs.observe("gaussian", Y, variance=1.0), units=0, weights="laplace"))


def network() -> gs.NetworkPosterior:
    return gs.infer(gs.NetworkModel(X, gs.observe("gaussian", CURVED, variance=1.0), units=2), QUICK)


def test_a_sparse_linear_model() -> None:
    fit = linear()
    assert fit.converged and fit.units_kept == 0 and fit.evidence_kind == "approximation"
    assert [input.name for input in fit.relevance] == ["x1", "x3", "x2"]
    assert not fit.relevance[0].irrelevant and sum(input.share for input in fit.relevance) == pytest.approx(1)
    found = {c["name"]: c for c in fit.coefficients()}
    assert abs(found["x1"]["mean"] - 3) < 4 * found["x1"]["sd"] and found["(intercept)"]["mean"] == pytest.approx(5, abs=0.2)
    prediction = fit.predict(X)
    assert prediction.latent_mean == pytest.approx(fit.mean, abs=1e-9)
    assert prediction.latent_variance == pytest.approx(fit.variance, rel=1e-7)
    assert (prediction.variance > prediction.latent_variance).all()
    assert fit.leave_one_out.log_density.shape == (40,)
    assert fit.to_dict(leave_one_out=True)["network"]["relevance"][0]["name"] == "x1"
    assert "log evidence" in str(fit) and "<table>" in fit._repr_html_()


def test_a_network_in_a_file_and_a_pickle(tmp_path: Path) -> None:
    fit = network()
    assert fit.units_kept <= 2 and fit.relevance[0].name == "x1" and len(fit.starts) == 1
    expected = fit.predict(X).mean
    fit.save(tmp_path / "m.gsm")
    for saved in (gs.load(tmp_path / "m.gsm"), pickle.loads(pickle.dumps(fit))):
        assert np.array_equal(saved.predict(X).mean, expected) and saved.method == "ep"
        assert saved.likelihood.name == "gaussian"


def test_a_table_is_what_the_tool_makes_of_it(tmp_path: Path) -> None:
    tool = os.environ.get("GAUSSMITH_TOOL", "build/bin/gaussmith")
    if not Path(tool).exists():
        pytest.skip("the tool is not built")
    rows = ["a,b,c,y", *(",".join(repr(float(v)) for v in (*x, y)) for x, y in zip(X, Y))]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    options = ["--prior", "sparse-linear", "--weights", "ard", "--set", "network.group.ends=a,c", "--threads", "1", "--json"]
    done = subprocess.run([tool, "fit", "--data", tmp_path / "t.csv", "--target", "y", "--likelihood", "gaussian", *options], capture_output=True, check=True)
    told = json.loads(done.stdout)
    fit = gs.fit_table(
        tmp_path / "t.csv", "gaussian", target="y", prior="sparse-linear", weight_prior="ard", parameters={"network.group.ends": "a,c"}, threads=1
    )
    assert fit.log_evidence == told["log_evidence"]
    assert fit.coefficients() == told["coefficients"]
    assert fit.posterior.relevance[0].linear_scale == fit.posterior.relevance[1].linear_scale
    assert fit.predict(tmp_path / "t.csv").mean == pytest.approx(told["latent"]["mean"], abs=1e-9)


def test_a_problem_file() -> None:
    whole = {
        "format": "gaussmith-problem/1",
        "prior": {"type": "sparse-linear", "inputs": X.tolist()},
        "sites": [{"type": "gaussian", "y": Y.tolist()}],
        "predict": {"inputs": X[:2].tolist()},
    }
    problem = gs.read_problem(whole)
    fit = gs.infer(problem.model)
    assert fit.log_evidence == linear().log_evidence
    assert problem.predict(fit).mean == pytest.approx(fit.predict(X[:2]).mean)


def test_methods_are_values() -> None:
    method = gs.NetworkEp(starts=2, start="zero", power=0.5)
    assert method.options["starts"] == 2 and method.options["start"] == "zero"
    assert repr(method) == "NetworkEp(power=0.5, starts=2, start='zero')"
    assert pickle.loads(pickle.dumps(method)) == method != gs.NetworkEp()
    assert {option["name"] for option in gs.network_options()} >= {"network.power", "network.starts"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.NetworkEp(starts=0), "network.starts must lie in"),
        (lambda: gs.NetworkEp(startz=1), "did you mean network.starts?"),
        (lambda: gs.NetworkModel(X, gs.observe("student-t", Y, nu=4, scale=1)), "free parameter"),
        (lambda: gs.NetworkModel(X, gs.observe("gaussian", Y, variance=1), groups={"a": [0], "b": [0]}), "x1 is in a and in b"),
        (lambda: gs.NetworkModel(X, gs.observe("gaussian", Y, variance=1), weights="ridge"), "there are no weights ridge"),
        (lambda: gs.NetworkModel(X * np.nan, gs.observe("gaussian", Y, variance=1)), "finite"),
        (lambda: gs.infer(gs.NetworkModel(X, gs.observe("gaussian", Y, variance=1)), gs.Laplace()), "NetworkEp alone"),
        (lambda: gs.learn(gs.NetworkModel(X, gs.observe("gaussian", Y, variance=1))), "nothing is left to learn"),
        (lambda: gs.fit_table(X, "gaussian", target=Y, prior="network", fit="integrate"), "nothing is left to learn"),
        (lambda: gs.fit_table(X, "gaussian", target=Y, prior="network", weights=np.ones(40)), "no weights"),
        (lambda: gs.fit_table(X, "gaussian", target=Y, prior="linear", units=3), "units belongs to prior network"),
    ],
)
def test_a_mistake_is_one_clear_error(make: Any, message: str) -> None:
    with pytest.raises(gs.InvalidInput, match=message) as raised:
        make()
    assert "\n" not in str(raised.value)


# --- Estimators ---


def test_a_regressor_answers() -> None:
    pytest.importorskip("sklearn")
    model = gs.NetworkRegressor(units=2, method=QUICK).fit(X, CURVED)
    assert model.score(X, CURVED) > 0.8 and model.relevance_.argmax() == 0
    assert model.relevance_.sum() == pytest.approx(1) and model.units_ <= 2 and 0.03 < model.noise_sd_ < 0.5
    mean, sd = model.predict(X, return_std=True)
    quantiles = model.predict_quantiles(X, (0.1, 0.9))
    assert (sd > 0).all() and ((quantiles[:, 0] < mean) & (mean < quantiles[:, 1])).all()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), mean) and np.array_equal(again.relevance_, model.relevance_)
    assert np.array_equal(again.loo_.log_density, model.loo_.log_density)
    assert "relevance" in str(model.summary())


def test_a_classifier_answers_and_texts_have_one_share() -> None:
    pytest.importorskip("sklearn")
    pd = pytest.importorskip("pandas")
    labels = np.where(X[:, 0] > 0, "yes", "no")
    kinds = np.array(["red", "green", "blue"])[np.arange(40) % 3]
    frame = pd.DataFrame({"kind": pd.Categorical(kinds), "dose": X[:, 0], "age": X[:, 1]})
    model = gs.NetworkClassifier(units=0, weights="ard", groups={"body": ["dose", "age"]}).fit(frame, labels)
    assert model.classes_.tolist() == ["no", "yes"] and model.score(frame, labels) > 0.9
    assert model.relevance_.shape == (3,) and model.relevance_.argmax() == 1
    assert len(model.relevances_) == 5
    with pytest.raises(ValueError, match="Only binary classification"):
        gs.NetworkClassifier().fit(X, np.arange(40) % 3)


def test_relevance_is_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    fit = linear()
    ax = gs.plot.relevance(fit, largest=2)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x1", "x3"]
    assert [bar.get_width() for bar in ax.patches] == [input.share for input in fit.relevance[:2]]
    with pytest.raises(gs.InvalidOption, match="a network with its relevance"):
        gs.plot.relevance([1.0])
    plt.close("all")
