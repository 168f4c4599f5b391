"""Draws for ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._checked import to_seed, whole

if TYPE_CHECKING:
    from ._inference import Posterior

FloatArray = npt.NDArray[np.float64]


def to_arviz(posterior: Posterior, draws: int, chains: int, seed: int) -> Any:
    try:
        import arviz
    except ImportError:
        raise ImportError("to_arviz needs arviz: pip install gaussmith[arviz]") from None
    draws, chains, seed = whole("draws", draws, 1), whole("chains", chains, 1), to_seed(seed)
    model = posterior.model
    weights = posterior.sample(draws * chains, seed)
    eta = _core.latent_draws(model, weights)

    def shaped(values: FloatArray, latents: int = 1) -> FloatArray:
        """chain x draw x row, and x latent where there are several."""
        shape = (chains, draws, len(values) // latents) + ((latents,) if latents > 1 else ())
        return np.ascontiguousarray(values.T).reshape(shape)

    count = model.latents
    last = ["latent"] if count > 1 else []
    groups: dict[str, Any] = {"posterior": {"eta": shaped(eta, count)}}
    if model.design_kind != "identity":
        groups["posterior"]["w"] = shaped(weights, count)
    groups["log_likelihood"] = {"y": shaped(_core.log_density_draws(model, eta))}
    try:
        # Another stream than that of the weights.
        groups["posterior_predictive"] = {"y": shaped(_core.response_draws(model, eta, to_seed(seed + 1)))}
    except _core.InvalidInput:
        pass  # A likelihood of one's own that says nothing of new responses.
    observed = {"y": np.concatenate([block.responses for block in model.sites])}
    made = arviz.from_dict(
        **groups,
        observed_data=observed,
        dims={"eta": ["row", *last], "w": ["weight", *last], "y": ["row"]},
        attrs={"inference_library": "gaussmith"},
    )
    made.posterior.attrs.update(method=posterior.method.name, log_evidence=posterior.log_evidence)
    return made
