"""Draws for ArviZ against moments and formulas."""

from __future__ import annotations

import math
import warnings

import gaussmith as gs
import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Of an import that announces later versions.
    pytest.importorskip("arviz")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(25, 3))
COUNTS = RNG.poisson(2.0, size=25).astype(float)


def test_draws_of_a_linear_model() -> None:
    offset = np.linspace(-0.2, 0.2, 25)
    sites = gs.observe("poisson", COUNTS, exposure=2.0)
    posterior = gs.infer(gs.Model(gs.Isotropic(3), sites, design=X, offset=offset))
    made = posterior.to_arviz(1000, chains=4, seed=3)
    eta, w = made.posterior["eta"].values, made.posterior["w"].values
    assert eta.shape == (4, 1000, 25) and w.shape == (4, 1000, 3)
    assert eta == pytest.approx(w @ X.T + offset)
    error = np.sqrt(posterior.variance / 4000)
    assert np.all(abs(eta.mean(axis=(0, 1)) - posterior.mean) < 5 * error)
    assert eta.var(axis=(0, 1)) == pytest.approx(posterior.variance, rel=0.15)
    log_factorial = np.array([math.lgamma(y + 1) for y in COUNTS])
    rate = eta + math.log(2.0)
    assert made.log_likelihood["y"].values == pytest.approx(COUNTS * rate - np.exp(rate) - log_factorial)
    drawn = made.posterior_predictive["y"].values
    assert np.all(drawn == np.floor(drawn))
    expected = np.exp(rate).mean(axis=(0, 1))
    assert np.all(abs(drawn.mean(axis=(0, 1)) - expected) < 6 * np.sqrt(drawn.var(axis=(0, 1)) / 4000))
    assert np.array_equal(made.observed_data["y"].values, COUNTS)
    assert made.posterior.sizes["row"] == 25
    again = posterior.to_arviz(1000, chains=4, seed=3)
    assert np.array_equal(again.posterior_predictive["y"].values, drawn)


def test_draws_of_several_classes_stand_in_their_places() -> None:
    labels = np.argmax(X, axis=1).astype(float)
    posterior = gs.infer(gs.Model(gs.GaussianProcess(X, "se"), gs.observe("multinomial-logit", labels, classes=3)), "laplace")
    made = posterior.to_arviz(1000, chains=2)
    eta = made.posterior["eta"].values
    assert eta.shape == (2, 1000, 25, 3) and "w" not in made.posterior
    assert np.all(abs(eta.mean(axis=(0, 1)) - posterior.mean) < 5 * np.sqrt(posterior.variance / 2000))
    chosen = np.take_along_axis(eta, labels.astype(int)[None, None, :, None], axis=3)[..., 0]
    assert made.log_likelihood["y"].values == pytest.approx(chosen - np.log(np.exp(eta).sum(axis=3)))


def test_weights_count_and_mistakes_are_errors() -> None:
    weights = np.where(np.arange(25) < 5, 2.0, 1.0)
    sites = gs.observe("poisson", COUNTS)
    single = gs.infer(gs.Model(gs.Isotropic(3), sites, design=X)).model
    weighted = gs.Model(gs.Isotropic(3), sites, design=X, weights=weights)
    eta = np.asfortranarray(RNG.normal(size=(25, 2)))
    assert gs._core.log_density_draws(weighted, eta) == pytest.approx(weights[:, None] * gs._core.log_density_draws(single, eta))
    with pytest.raises(gs.InvalidInput, match="draws: expected 1 or more"):
        gs.infer(weighted).to_arviz(0)


def test_a_likelihood_of_ones_own_has_no_new_responses() -> None:
    own = gs.CustomLikelihood(lambda eta, y: -0.5 * (y - eta) ** 2, log_concave=True, smooth=True)
    made = gs.infer(gs.Model(gs.Isotropic(3), gs.observe(own, COUNTS), design=X)).to_arviz(10, chains=1)
    assert "log_likelihood" in made.groups() and "posterior_predictive" not in made.groups()
