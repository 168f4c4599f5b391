"""Methods side by side, and calibration, as Python sees them."""

import numpy as np
import pytest

import gaussmith as gs


@pytest.fixture
def model():
    rows = np.array([[1, 0.5], [1, -1], [1, 2], [1, 0.3]])
    return gs.Model(gs.Isotropic(2, 9.0), [gs.observe("bernoulli-logit", np.ones(4))], design=rows)


def test_compare(model):
    found = gs.compare(model, ["laplace", gs.Kl()], seed=1)
    assert [row["method"] for row in found.rows] == ["laplace", "kl"]
    assert found.truth["method"] == "quadrature"
    error = found["kl"]["posterior"].log_evidence - found.truth["log_evidence"]
    assert error < 0 and found["kl"]["error"]["log_evidence"] == pytest.approx(error, abs=1e-12)
    assert found["laplace"]["verdict"] == "do-not-trust"
    assert found.best_bound == found["kl"]["posterior"].log_evidence
    assert "laplace" in str(found) and "quadrature" in found._repr_html_()
    assert gs.compare(model, ["laplace"], truth=False, verdicts=False).truth is None
    with pytest.raises(KeyError):
        found["exact"]
    with pytest.raises(ValueError, match="gaussian"):
        gs.compare(model, ["exact"])


def test_compare_prints_none_for_chains(model):
    printed = str(gs.compare(model, ["ess"], seed=1))
    assert "log evidence none" in printed and "nan" not in printed


def test_a_fit_of_a_table_is_no_model_but_has_one(model):
    fit = gs.fit_table({"a": [1, 2, 3], "y": [1, 2, 2.5]}, "gaussian", target="y", prior="linear")
    with pytest.raises(ValueError, match=r"model: expected a Model \(give its \.model\), found TableFit"):
        gs.compare(fit)


def test_calibrate():
    model = gs.Model(gs.Isotropic(2, 1.0), [gs.observe("gaussian", np.zeros(4), variance=1.0)], design=np.eye(4, 2))
    found = gs.calibrate(model, "exact", simulations=100, seed=1)
    assert all(len(ranks) == 100 and 0 <= min(ranks) and max(ranks) <= 99 for ranks in found["ranks"].values())
    assert all(p > 1e-3 for p in found["p_values"].values())
    assert gs.calibrate(model, "exact", simulations=100, seed=1)["ranks"] == found["ranks"]
