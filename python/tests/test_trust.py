"""The card, the checks and marginals as Python sees them."""

import numpy as np
import pytest

import gaussmith as gs


@pytest.fixture
def skewed():
    rows = np.array([[1, 0.5], [1, -1], [1, 2], [1, 0.3]])
    return gs.Model(gs.Isotropic(2, 9.0), [gs.observe("bernoulli-logit", np.ones(4))], design=rows)


def test_card(skewed):
    laplace = gs.infer(skewed, "laplace").diagnose(seed=1)
    assert laplace.verdict == "do-not-trust" and not laplace.trusted
    assert "use gs.Ep()" in laplace.advice
    assert laplace.check["draws"] == 4000
    ep = gs.infer(skewed, "ep").diagnose(seed=1)
    assert ep.trusted and ep.advice == ""
    lower, upper = ep.evidence_interval
    assert lower < ep.log_evidence_corrected < upper
    assert ep.second_order["share"].sum() == pytest.approx(ep.second_order["evidence"])
    assert ep.loo_pit.shape == (4,)
    assert str(laplace).startswith("Trust") and "do-not-trust" in laplace._repr_html_()
    again = gs.infer(skewed, "ep").diagnose(seed=1, threads=2)
    assert again.check["log_evidence"] == ep.check["log_evidence"]
    with pytest.raises(gs.InvalidOption, match="100"):
        gs.infer(skewed, "ep").diagnose(draws=50)


def test_checks(skewed):
    checks = gs.infer(skewed, "laplace").checks
    assert abs(checks.mean_shift) > 0.5 and checks.outvoted == []
    assert gs.infer(skewed, "ep").checks.mean_shift is None


def test_marginals(skewed):
    posterior = gs.infer(skewed, "ep")
    found = posterior.marginals([2, 0], weights=[1], design=np.array([[1.0, 2.0]]), levels=[0.1, 0.9], ep="one-step")
    assert [len(found.rows), len(found.weights), len(found.points)] == [2, 1, 1]
    row = found.rows[0]
    assert np.trapezoid(row.density, row.grid) == pytest.approx(1, abs=1e-5)
    assert row.skewness > 0.3 and row.quantiles[0] < row.mean < row.quantiles[1]
    assert found.points[0].mean == pytest.approx(row.mean, abs=1e-6)  # The same point as row 2.
    with pytest.raises(gs.InvalidOption):
        gs.infer(skewed, "kl").marginals([0])


def test_tierney_kadane(skewed):
    points = np.array([[1.0, 0.0], [1.0, 3.0]])
    laplace = gs.infer(skewed, "laplace")
    ratio = laplace.tierney_kadane_probability(design=points)
    ep = gs.infer(skewed, "ep").predict(design=points).probability
    assert np.all(np.abs(ratio - ep) < 0.5 * np.abs(laplace.predict(design=points).probability - ep))
