"""Every example runs as it stands, without a warning, and finds what its text says."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib").use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def few_errors(names: dict[str, Any]) -> None:
    assert names["errors"] <= 17  # 5 % of 341


def wider_than_poisson(names: dict[str, Any]) -> None:
    assert names["wider"].log_evidence > names["poisson"].log_evidence + 30


def robust_is_better(names: dict[str, Any]) -> None:
    robust, gaussian, at = names["robust"], names["gaussian"], names["new_x"][:, None]
    assert robust.log_evidence > gaussian.log_evidence + 30
    better = robust.predict(at).log_density(names["new_y"]) - gaussian.predict(at).log_density(names["new_y"])
    assert better.mean() > 0.3


def old_die_sooner(names: dict[str, Any]) -> None:
    fit = names["fit"]
    patients = {"age": [35.0, 75.0], "log_cells": [2.0, 2.0], "deprivation": [0.0, 0.0]}
    dead = fit.predict(patients).cdf([1.0, 1.0])
    assert dead[1] > dead[0] + 0.2


def spam_is_found(names: dict[str, Any]) -> None:
    assert names["rate"] < 0.12
    assert {"remove", "$"} < set(names["clear"]) and len(names["clear"]) < len(names["fit"].coefficients())


def quantiles_in_order(names: dict[str, Any]) -> None:
    # The last curve is that of 0.9; its derivatives are those of its density.
    assert 0.85 < np.mean(names["acceleration"] < names["fit"].mean) < 0.97
    eta, y, step = np.linspace(-20, 20, 9), np.zeros(9), 1e-3
    density, found = names["log_density"], names["derivatives"](eta, y, 0.3)
    first = (density(eta + step, y, 0.3) - density(eta - step, y, 0.3)) / (2 * step)
    assert found[0] == pytest.approx(first, abs=1e-6)
    for lower, higher in zip(found, found[1:]):
        k = [d is lower for d in found].index(True)
        ahead, behind = (names["derivatives"](eta + s, y, 0.3)[k] for s in (step, -step))
        assert higher == pytest.approx((ahead - behind) / (2 * step), abs=1e-6)
    # And it is a density.
    grid = np.linspace(-400, 400, 200001)
    assert np.exp(density(np.zeros_like(grid), grid, 0.3)).sum() * (grid[1] - grid[0]) == pytest.approx(1, abs=1e-6)


def bounds_lie_below(names: dict[str, Any]) -> None:
    import gaussmith as gs

    found = {method: gs.infer(names["model"], method).log_evidence for method in ("vb", "kl", "ep")}
    assert found["vb"] < found["kl"] < found["ep"] + 0.01


def same_evidence(names: dict[str, Any]) -> None:
    before, after = names["before"], names["after"]
    assert after.log_marginal_likelihood_value_ == pytest.approx(before.log_marginal_likelihood_value_, abs=1e-6)
    assert names["probability"]["gaussmith"] == pytest.approx(names["probability"]["scikit-learn"], abs=2e-3)


CLAIMS: dict[str, Callable[[dict[str, Any]], None]] = {
    "classifier": few_errors,
    "counts": wider_than_poisson,
    "robust_curve": robust_is_better,
    "survival": old_die_sooner,
    "sparse_text": spam_is_found,
    "custom_likelihood": quantiles_in_order,
    "compare_methods": bounds_lie_below,
    "from_sklearn": same_evidence,
}


def test_every_example_has_a_claim() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(CLAIMS)


def test_every_name_is_in_the_reference(tmp_path: Path) -> None:
    """Under the module where it is found: tools of documentation leave other names out without a word."""
    import re
    from importlib import import_module

    import gaussmith as gs

    runpy.run_path(str(EXAMPLES.parents[1] / "scripts" / "docs_pages.py"))["reference"](tmp_path)
    page = (tmp_path / "reference" / "python.md").read_text(encoding="utf-8")
    listed = re.findall(r"^::: ([\w.]+)$", page, flags=re.MULTILINE)
    members = re.findall(r"\w+", page.partition("members: [")[2].partition("]")[0])
    here = {name: path.rpartition(".")[0] for path in listed if path != "gaussmith._core" for name in [path.rpartition(".")[2]]}
    core = import_module("gaussmith._core")
    for name, module in here.items():
        found = getattr(import_module(module), name)
        # Objects of the extension are described by its own list.
        assert getattr(found, "__module__", module) != "gaussmith._core", name
    assert all(hasattr(core, name) for name in members)
    assert {name for name in gs.__all__ if name != "__version__"} - set(here) - set(members) == set()


@pytest.mark.parametrize("name", CLAIMS)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        CLAIMS[name](runpy.run_path(str(EXAMPLES / f"{name}.py")))
        assert len(plt.get_fignums()) == 1
        for ax in plt.gcf().axes:
            outer = ax.get_subplotspec()
            assert ax.get_xlabel() or not outer.is_last_row() or not ax.get_visible()
        plt.gcf().canvas.draw()
    finally:
        plt.close("all")
