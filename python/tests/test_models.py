from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path

import gaussmith as gs
import numpy as np
import pytest

X = np.asfortranarray(np.random.default_rng(0).normal(size=(40, 2)))
SIGNS = np.where(X[:, 0] > 0, 1.0, -1.0)


def classifier() -> gs.Model:
    return gs.Model(gs.GaussianProcess(X, "se"), gs.observe("bernoulli-probit", SIGNS))


def test_a_posterior_answers_with_arrays() -> None:
    posterior = gs.infer(classifier(), gs.Laplace(tolerance=1e-9))
    assert posterior.converged
    assert posterior.mean.shape == posterior.variance.shape == (40,)
    assert set(posterior.gradient) == {"kernel.signal_sd", "kernel.lengthscale"}
    assert posterior.predict(X[:3]).probability.shape == (3,)
    assert "log evidence" in str(posterior) and "<table>" in posterior._repr_html_()


def test_evidence_and_gradient_agree_with_differences() -> None:
    model, step = classifier(), 1e-5
    gradient = gs.infer(model, "ep").gradient["kernel.lengthscale"]
    sides = [gs.infer(model.with_parameters({"kernel.lengthscale": np.exp(s)}), "ep").log_evidence for s in (step, -step)]
    assert gradient == pytest.approx((sides[0] - sides[1]) / (2 * step), rel=1e-5)


def test_a_pickle_predicts_the_same_bits() -> None:
    learned = gs.learn(classifier(), "laplace", hyperpriors="weak")
    assert learned.learning.converged
    again = pickle.loads(pickle.dumps(learned))
    assert np.array_equal(again.predict(X[:5]).probability, learned.predict(X[:5]).probability)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.Laplace(tolerance=-1), "laplace.tolerance must lie in"),
        (lambda: gs.Laplace(steps=3), "laplace has no option laplace.steps"),
        (lambda: gs.observe("poison", [1]), "did you mean poisson"),
        (lambda: gs.observe("poisson", [1, -1]), "response of row 1 is -1"),
        (lambda: gs.observe("gaussian", ["a"], variance=1), "y: expected numbers"),
        (lambda: gs.observe("gaussian", np.ones((2, 2)), variance=1), "expected one number or one dimension"),
        (lambda: gs.observe("gaussian", np.array([object()]), variance=1), "dtype object"),
        (lambda: gs.Model(3, gs.observe("poisson", [1])), "prior: expected Isotropic"),
        (lambda: gs.Model(gs.Isotropic(1), [3]), "sites: expected what observe"),
        (lambda: gs.Model(gs.GaussianProcess([[np.nan]]), gs.observe("poisson", [1])), "must be a finite number"),
        (lambda: gs.infer(classifier(), "laplas"), "did you mean laplace"),
        (lambda: gs.infer(classifier(), "exact"), "exact"),
        (lambda: gs.infer(classifier(), threads=-1), "threads: expected 0"),
    ],
)
def test_a_mistake_is_one_clear_error(make: object, message: str) -> None:
    with pytest.raises(gs.InvalidInput, match=message) as caught:
        make()  # type: ignore[operator]
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


def test_rows_are_seen_through_few_inputs(tool: Path, tmp_path: Path) -> None:
    whole = gs.infer(classifier(), "kl").log_evidence
    chosen = gs.infer(classifier(), inducing=12)
    inputs = chosen.model.prior.inducing  # type: ignore[union-attr]
    assert inputs.shape == (12, 2) and whole - 3 < chosen.log_evidence < whole
    given = gs.Model(gs.GaussianProcess(X, "se", inducing=inputs), gs.observe("bernoulli-probit", SIGNS))
    assert gs.infer(given, "kl").log_evidence == pytest.approx(chosen.log_evidence, abs=1e-6)
    learned = gs.learn(classifier(), inducing=12, hyperpriors="weak")
    assert learned.learning.converged and learned.method.name == "kl"
    problem = {
        "format": "gaussmith-problem/1",
        "prior": {"type": "gp", "inputs": X.tolist(), "kernel": {"type": "se"}, "inducing": {"count": 9}},
        "sites": [{"type": "bernoulli-probit", "y": SIGNS.tolist()}],
    }
    (tmp_path / "problem.json").write_text(json.dumps(problem), encoding="utf-8")
    command = [tool, "fit", "--problem", tmp_path / "problem.json", "--method", "kl", "--json"]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    mine = gs.infer(gs.read_problem(tmp_path / "problem.json").model, "kl")
    assert mine.log_evidence == theirs["log_evidence"] and mine.mean.tolist() == theirs["latent"]["mean"]
    for bad in ({"inducing": 0}, {"inducing": 5, "inducing_select": "all"}, {"inducing": 5, "method": "laplace"}):
        with pytest.raises(gs.InvalidInput):
            gs.infer(classifier(), **bad)  # type: ignore[arg-type]


def test_a_result_as_the_tool_prints_it() -> None:
    posterior = gs.infer(classifier())
    fields = posterior.to_dict(leave_one_out=True)
    assert fields["log_evidence"] == posterior.log_evidence and fields["converged"] is True
    assert fields["latent"]["mean"] == posterior.mean.tolist()


def test_every_method_of_the_library_has_its_class() -> None:
    for info in gs.method_catalogue():
        made = getattr(gs, info["name"].capitalize())()
        assert made == gs.make_method(info["name"]) and isinstance(made, gs.Method)
        # Options under another's name keep it: decoupled_penalty of kl.
        keywords = [option["name"].removeprefix(info["name"] + ".").replace(".", "_") for option in info["options"]]
        assert {"name", *keywords} <= {*dir(made)}
        assert all(keyword in type(made).__doc__ for keyword in keywords)
        again = pickle.loads(pickle.dumps(made))
        assert again == made and hash(again) == hash(made) and repr(again) == repr(made)
    assert {info["name"].capitalize() for info in gs.method_catalogue()} <= {*dir(gs)}


def test_parts_of_a_model_show_their_numbers() -> None:
    model = classifier()
    assert np.array_equal(model.sites[0].responses, SIGNS)
    assert isinstance(model.prior, gs.GaussianProcess) and np.array_equal(model.prior.inputs, X)
    assert gs.Isotropic(2, mean=3).mean.tolist() == [3, 3]
    diagonal = gs.Diagonal([1, 2])
    assert diagonal.variance.tolist() == [1, 2] and diagonal.mean.tolist() == [0, 0]
    assert gs.Latents(2).covariance.tolist() == [[1, 0], [0, 1]]


def test_fields_beside_coefficients() -> None:
    pairs = [(f"r{i}", f"r{i + 1}") for i in range(11)]
    regions = [f"r{i}" for i in range(12)] + ["island"]
    table = {"region": regions, "x": np.linspace(-1, 1, 13), "y": np.arange(13) % 5 + 1.0}
    fitted = gs.fit_table(table, "poisson", formula="y ~ x + besag(region)", graph=pairs)
    field = fitted.field_effects()[0]
    assert sorted(field["nodes"]) == sorted(regions)
    by_name = dict(zip(field["nodes"], field["mean"], strict=True))
    assert abs(sum(value for name, value in by_name.items() if name != "island")) < 1e-9
    edges = [(i, i + 1) for i in range(11)]
    prior = gs.Additive(
        gs.FixedEffects([3.0]), fields=[gs.IntrinsicField("besag", 13, field["precision"], edges, scaled=True)]
    )
    design = np.hstack([np.ones((13, 1)), np.eye(13)])
    posterior = gs.infer(gs.Model(prior, gs.observe("poisson", table["y"]), design=design), "laplace")
    assert "fields[0].precision" in posterior.gradient
    with pytest.raises(gs.InvalidInput, match="graph"):
        gs.fit_table(table, "poisson", formula="y ~ besag(region)")
