"""Problems of all kinds give the same bits in the tool and in the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gaussmith as gs
import numpy as np
import pytest
from same_bits import difference

RNG = np.random.default_rng(4)
X = RNG.normal(size=(30, 2))
ETA = np.sin(X[:, 0]) + 0.5 * X[:, 1]
RESPONSES = {
    "sign": np.sign(ETA + 0.3 * RNG.normal(size=30)),
    "count": RNG.poisson(np.exp(ETA)),
    "positive": np.exp(ETA + 0.3 * RNG.normal(size=30)),
    "label": np.digitize(ETA, [-0.5, 0.5]),
    "real": ETA + 0.2 * RNG.normal(size=30),
}
VALUES = {"trials": 20.0}


def methods_of(info: dict[str, Any]) -> list[str]:
    """Those that the catalogue of likelihoods allows."""
    if info["methods"]:
        return [method for method in info["methods"] if method in {m["name"] for m in gs.method_catalogue()}]
    methods = ["kl", "ep"]
    methods += ["laplace"] if info["smooth"] else []
    methods += ["vb"] if info["super_gaussian"] else []
    return methods + (["exact"] if info["gaussian"] else [])


CASES = [(info, method) for info in gs.likelihood_catalogue() for method in methods_of(info)]


@pytest.mark.parametrize(("info", "method"), CASES, ids=lambda value: value if isinstance(value, str) else value["name"])
def test_a_process(info: dict[str, Any], method: str, tool: Path, tmp_path: Path) -> None:
    site: dict[str, Any] = {"type": info["name"], "y": RESPONSES[info["response"]].tolist()}
    for argument in info["arguments"]:
        if argument["required"] and argument["name"] != "classes":
            site[argument["name"]] = VALUES.get(argument["name"], 0.7)
    problem: dict[str, Any] = {
        "format": "gaussmith-problem/1",
        "prior": {"type": "gp", "inputs": X.tolist(), "kernel": {"type": "matern52", "signal_sd": 1.3, "lengthscale": 0.9}},
        "sites": [site],
        "predict": {"inputs": X[:4].tolist()},
    }
    if info["response"] == "label":
        problem["prior"] |= {"latents": 3}
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem), encoding="utf-8")
    assert gs.infer(gs.read_problem(path).model, method).log_evidence < 0
    assert difference(tool, path, method, {}) == ""


def problem_of(likelihood: str, response: str, prior: dict[str, Any], **more: Any) -> dict[str, Any]:
    site = {"type": likelihood, "y": RESPONSES[response].tolist(), **more.pop("arguments", {})}
    return {"format": "gaussmith-problem/1", "prior": prior, "sites": [site], **more}


PROCESS = {"type": "gp", "inputs": X.tolist(), "kernel": {"type": "se", "signal_sd": 1.2, "lengthscale": 0.8}}
ROWS = {"type": "dense", "rows": X.tolist()}
WEIGHTS = {"type": "isotropic", "dim": 2, "variance": 1.5}
WALK = {"type": "rw2", "dim": 30, "precision": 4.0}
NEWER: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "vmf of a Student-t": (problem_of("student-t", "real", PROCESS, arguments={"nu": 4, "scale": 0.3}), "vmf", {}),
    "vmf one row at a time": (problem_of("bernoulli-probit", "sign", PROCESS), "vmf", {"vmf.order": "sequential"}),
    "the gap ends kl": (problem_of("bernoulli-logit", "sign", PROCESS), "kl", {"kl.stop": "gap"}),
    "decoupled kl": (problem_of("bernoulli-logit", "sign", PROCESS), "kl", {"kl.solver": "decoupled"}),
    "dual kl": (problem_of("poisson", "count", PROCESS), "kl", {"kl.solver": "dual"}),
    "a factor of the covariance": (problem_of("bernoulli-logit", "sign", WEIGHTS, design=ROWS), "kl", {"kl.covariance": "diagonal"}),
    "importance sampling": (problem_of("bernoulli-logit", "sign", WEIGHTS, design=ROWS), "is", {"is.draws": 500}),
    "annealing": (problem_of("poisson", "count", WEIGHTS, design=ROWS), "ais", {"ais.draws": 100}),
    "elliptical slices": (problem_of("bernoulli-probit", "sign", PROCESS), "ess", {"ess.draws": 1000}),
    "no-U-turn": (problem_of("poisson", "count", WEIGHTS, design=ROWS), "nuts", {"nuts.draws": 200}),
    "inducing inputs": (problem_of("bernoulli-logit", "sign", {**PROCESS, "inducing": {"count": 8}}), "kl", {}),
    "a random walk": (problem_of("poisson", "count", WALK), "laplace", {}),
    "a random walk by ep": (problem_of("bernoulli-logit", "sign", WALK), "ep", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", NEWER)
def test_solvers_samplers_and_sparse_models(name: str, tool: Path, tmp_path: Path) -> None:
    problem, method, options = NEWER[name]
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(problem), encoding="utf-8")
    assert difference(tool, path, method, options) == ""
    # Not for being refused alike.
    assert gs.infer(gs.read_problem(path).model, gs.make_method(method, {n: str(v) for n, v in options.items()})).converged
