"""Averages over the parameters, leave-one-out and bounds: as the tool has them."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import gaussmith as gs
import numpy as np
import pytest

COUNTS = {"target": "observed", "exposure": "expected", "features": ["aff_pct"], "kernel": "se", "threads": 1}


def by_the_tool(tool: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        subprocess.run([tool, "fit", "--json", "--threads", "1", *words], check=True, capture_output=True, text=True).stdout
    )
    return found


def counts_by_the_tool(tool: Path, data: Path, *words: str) -> dict[str, Any]:
    table = ["--data", str(data / "lip_cancer.csv"), "--target", "observed", "--exposure", "expected", "--features", "aff_pct"]
    return by_the_tool(tool, *table, "--likelihood", "poisson", "--kernel", "se", *words)


@pytest.mark.parametrize("inducing", [None, 8])
def test_weak_hyperpriors_of_an_average_are_around_the_start(tool: Path, data: Path, inducing: int | None) -> None:
    words = ["--integrate", "--hyperpriors", "weak", "--loo"] + ([] if inducing is None else ["--inducing", str(inducing)])
    theirs = counts_by_the_tool(tool, data, *words)
    mine = gs.fit_table(data / "lip_cancer.csv", "poisson", fit="integrate", hyperpriors="weak", inducing=inducing, **COUNTS)
    assert mine.integrated is not None and mine.integrated.report.proper
    assert mine.integrated.log_evidence == theirs["integration"]["log_evidence"]
    assert mine.leave_one_out.log_density.tolist() == theirs["leave_one_out"]["log_density"]
    assert abs(mine.leave_one_out.total - mine.posterior.leave_one_out.total) > 0.1  # Not that of the mode.


def test_hyperpriors_of_an_average_stay_where_learning_began() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = 100 * np.sin(x[:, 0]) + rng.normal(size=40)
    model = gs.Model(gs.GaussianProcess(x, "se"), gs.observe("gaussian", y, variance=1.0))
    by_name = {name: (value, 1.5) for name, value in model.parameters.items()}
    weak, named = (gs.learn(model, hyperpriors=kind, integrate=True) for kind in ("weak", by_name))  # type: ignore[arg-type]
    assert weak.integrated is not None and named.integrated is not None
    assert weak.parameters["kernel.signal_sd"] > 10  # Far from the start, so that the two would differ.
    assert weak.integrated.log_evidence == named.integrated.log_evidence


def test_options_of_an_average_are_refused_before_any_work() -> None:
    steps: list[gs.Iteration] = []
    model = gs.Model(gs.GaussianProcess([[0.0], [1.0]], "se"), gs.observe("poisson", [1, 2]))
    for wrong in ({"fineness": -1.0}, {"integration_design": "star"}, {"max_fits": 2**40}):
        with pytest.raises(gs.InvalidOption):
            gs.learn(model, integrate=True, progress=steps.append, **wrong)  # type: ignore[arg-type]
    assert steps == []


def test_nothing_free_leaves_no_average() -> None:
    model = gs.Model(gs.GaussianProcess([[0.0], [1.0]], "se"), gs.observe("poisson", [1, 2]))
    learned = gs.learn(model, fixed="kernel.lengthscale kernel.signal_sd".split(), integrate=True)
    assert learned.integrated is None and "nothing to learn" in str(learned)


def test_estimators_leave_rows_out_of_the_average() -> None:
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(25, 1))
    y = np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=25)
    model = gs.GaussianProcessRegressor(integrate=True).fit(x, y)
    posterior = model.posterior_
    assert isinstance(posterior, gs.Learned) and posterior.integrated is not None
    assert posterior.integrated.leave_one_out is not None
    assert np.array_equal(model.loo_.log_density, posterior.integrated.leave_one_out.log_density)
    assert np.abs(model.loo_.log_density - posterior.leave_one_out.log_density).max() > 1e-3
    assert np.array_equal(pickle.loads(pickle.dumps(model)).loo_.log_density, model.loo_.log_density)


def test_rows_of_a_prior_are_not_left_out(tool: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 6))
    label = np.where(x[:, 0] + 0.5 * rng.normal(size=40) > 0, "b", "a")
    path = tmp_path / "rows.csv"
    lines = ["a1,a2,a3,a4,a5,a6,y"] + [",".join([*map(repr, row), name]) for row, name in zip(x.tolist(), label)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["--data", str(path), "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "laplace", "--method", "vb", "--loo"]
    theirs = by_the_tool(tool, *words)["leave_one_out"]["log_density"]
    fit = gs.fit_table(path, "bernoulli-logit", target="y", prior="laplace", method="vb", fit="infer", threads=1)
    assert fit.model.rows > 40 == len(theirs)
    assert fit.leave_one_out.log_density.tolist() == theirs


def test_bounds_move_a_start_that_nobody_gave(tool: Path, data: Path) -> None:
    theirs = counts_by_the_tool(tool, data, "--learn", "--bounds", "kernel.lengthscale=20,50")
    bounds = {"kernel.lengthscale": (20.0, 50.0)}
    mine = gs.fit_table(data / "lip_cancer.csv", "poisson", bounds=bounds, **COUNTS)
    assert mine.log_evidence == theirs["log_evidence"] and mine.parameters == theirs["parameters"]
    with pytest.raises(gs.InvalidOption, match="starts at 3, outside its bounds"):
        gs.fit_table(data / "lip_cancer.csv", "poisson", bounds=bounds, parameters={"kernel.lengthscale": 3.0}, **COUNTS)
    with pytest.raises(gs.InvalidOption, match="0 < lower < upper"):
        gs.fit_table(data / "lip_cancer.csv", "poisson", bounds={"kernel.lengthscale": (-5.0, 1.0)}, **COUNTS)
