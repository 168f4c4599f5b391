from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

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


DESIGN = np.random.default_rng(1).normal(size=(40, 5))


def linear(design: Any) -> gs.Posterior:
    return gs.infer(gs.Model(gs.Isotropic(5, 2.0), gs.observe("bernoulli-logit", SIGNS), design=design), "laplace")


def test_operators_are_designs() -> None:
    wrapped = pytest.importorskip("scipy.sparse.linalg")
    whole = linear(DESIGN)
    product = wrapped.LinearOperator(DESIGN.shape, matvec=lambda v: DESIGN @ v, rmatvec=lambda v: DESIGN.T @ v, dtype=float)
    for design in (wrapped.aslinearoperator(DESIGN), product):
        found = linear(design)
        assert found.log_evidence == pytest.approx(whole.log_evidence, abs=1e-6)
        assert found.weights_mean == pytest.approx(whole.weights_mean, abs=1e-6)
    other = wrapped.LinearOperator(DESIGN.shape, matvec=lambda v: DESIGN @ v, rmatvec=lambda v: np.zeros(5), dtype=float)
    with pytest.raises(gs.InvalidModel, match="not the transpose"):
        linear(other)


def test_ready_operators_are_what_their_matrices_are() -> None:
    whole = np.eye(20)
    waves, differences = gs.wavelets((4, 4), 1).matmat(np.eye(16)), gs.finite_differences((4, 5)).matmat(whole)
    assert waves @ waves.T == pytest.approx(np.eye(16), abs=1e-12)
    assert set(np.unique(differences)) == {-1.0, 0.0, 1.0} and not (differences @ np.ones(20)).any()
    blur = gs.convolution([[0.25, 0.5, 0.25]], (4, 5))
    assert blur.matmat(np.ones((20, 1))) == pytest.approx(np.ones((20, 1)))
    both = gs.stacked([gs.finite_differences((4, 5)) @ blur, blur.scaled(2.0)])
    matrix = np.vstack([differences @ blur.matmat(whole), 2 * blur.matmat(whole)])
    assert both.shape == matrix.shape and both.matmat(whole) == pytest.approx(matrix, abs=1e-12)
    assert both.rmatmat(np.eye(len(matrix))) == pytest.approx(matrix.T, abs=1e-12)
    y = matrix @ np.random.default_rng(2).normal(size=20)
    by_operator, by_matrix = (
        gs.infer(gs.Model(gs.Isotropic(20), gs.observe("gaussian", y, variance=0.1), design=design)) for design in (both, matrix)
    )
    assert by_operator.log_evidence == pytest.approx(by_matrix.log_evidence, abs=1e-6)
    assert by_operator.weights_mean == pytest.approx(by_matrix.weights_mean, abs=1e-6)


def test_kernels_add_and_multiply() -> None:
    a, b = gs.kernel("se", lengthscale=0.7), gs.kernel("linear", signal_sd=0.5)
    by_hand = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2) / 0.49)
    assert a(X) == pytest.approx(by_hand, abs=1e-12)
    assert (a * b)(X) == pytest.approx(by_hand * (0.25 * X @ X.T), abs=1e-12)
    assert (a * b + a)(X) == pytest.approx(by_hand * (0.25 * X @ X.T) + by_hand, abs=1e-12)
    assert list((a * b + a).parameters)[0] == "terms[0].terms[0].signal_sd"


def evidence_of_rows(model: gs.Model) -> float:
    return gs.infer(model, "laplace").log_evidence


def test_numbers_are_used_where_they_lie() -> None:
    """A change of the source is a change of the model: nothing was copied. (Nobody should do this.)"""
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.csr_array(np.where(np.abs(DESIGN) > 0.5, DESIGN, 0.0))
    dense, inputs = np.asfortranarray(DESIGN), X.copy(order="F")
    designs = {"csr": (rows, rows.data), "single": (rows.astype(np.float32), None), "dense": (dense, dense)}
    for name, (design, numbers) in designs.items():
        numbers = design.data if numbers is None else numbers
        model = gs.Model(gs.Isotropic(5, 2.0), gs.observe("bernoulli-logit", SIGNS), design=design)
        before = evidence_of_rows(model)
        numbers *= 2
        after = evidence_of_rows(model)
        doubled = gs.Model(gs.Isotropic(5, 2.0), gs.observe("bernoulli-logit", SIGNS), design=design.copy())
        assert after != before and after == evidence_of_rows(doubled), name
    process = gs.Model(gs.GaussianProcess(inputs, "se"), gs.observe("bernoulli-logit", SIGNS))
    before = evidence_of_rows(process)
    inputs *= 2
    assert evidence_of_rows(process) != before


def test_things_print_themselves_and_show_as_tables() -> None:
    model = classifier()
    fit = gs.infer(model, "laplace")
    for thing, said in (
        (model, "kernel.lengthscale"),
        (fit.predict(X), "Latent mean"),
        (fit.leave_one_out, "Least likely"),
        (gs.learn(model, "laplace", hyperpriors="weak").learning, "kernel.lengthscale"),
    ):
        assert said in str(thing) and len(str(thing).splitlines()) > 2
        assert said in thing._repr_html_() and "<table>" in thing._repr_html_()  # type: ignore[attr-defined]
    assert repr(model).startswith("<Model: 40 rows") and "40 points" in repr(fit.predict(X))
    assert str(fit.predict(np.empty((0, 2)))).startswith("Points")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gs.learn(classifier(), max_evaluations=2**32 + 5), "max_evaluations: expected a whole number from 1 to 2147483647, found 4294967301"),
        (lambda: gs.learn(classifier(), restarts=2**32), "restarts: expected a whole number from 0 to"),
        (lambda: gs.learn(classifier(), restarts=-1), "restarts: expected a whole number from 0 to 2147483647, found -1"),
        (lambda: gs.infer(classifier()).sample(2**40), "draws: expected 2147483647 or less"),
        (lambda: gs.infer(classifier()).to_arviz(2.5), "draws: expected a whole number, found 2.5"),
    ],
)
def test_numbers_without_room_are_refused(make: Any, message: str) -> None:
    if "2.5" in message:
        pytest.importorskip("arviz")
    with pytest.raises(gs.InvalidOption, match=message):
        make()
