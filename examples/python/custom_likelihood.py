"""A likelihood of one's own

The head of a dummy in a motorcycle crash: its acceleration has a curve, and a spread that changes along it. The curves
below which a tenth, half and nine tenths of the measurements lie are fits with a likelihood that no catalogue has to know:
a density whose logarithm is the loss of quantile regression with its kink rounded off (M. Fasiolo et al., *Fast calibrated
additive quantile regression*, JASA 116, 2021). One function of arrays would do; its derivatives, where they are as easily
written down, save the differences. Length-scale and size of each curve are learned.

The bands say how well a quantile's curve is known under this working likelihood; they are not intervals of measurements.
"""

import math
from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from gaussmith import plot

path = Path(__file__).parents[2] / "data" / "motorcycle.csv"
time, acceleration = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
Array = npt.NDArray[np.float64]


scale, rounding = 4.0, 0.5  # Of the loss, and the share of it over which its kink is rounded, in g.


def log_density(eta: Array, y: Array, level: float) -> Array:
    """log of a density in y whose mass below eta is about `level`."""
    beyond = (y - eta) / scale
    norm = math.lgamma(rounding * (1 - level)) + math.lgamma(rounding * level) - math.lgamma(rounding)
    rounded: Array = (1 - level) * beyond - rounding * np.logaddexp(0, beyond / rounding)
    return rounded - norm - math.log(rounding * scale)


def derivatives(eta: Array, y: Array, level: float) -> tuple[Array, Array, Array]:
    """Its first three derivatives in eta."""
    above: Array = 1 / (1 + np.exp(np.clip((eta - y) / (rounding * scale), -700, 700)))
    bend: Array = above * (1 - above) / (rounding * scale**2)
    return (above - (1 - level)) / scale, -bend, bend * (1 - 2 * above) / (rounding * scale)


likelihood = gs.CustomLikelihood(log_density, derivatives=derivatives, log_concave=True, smooth=True, name="quantile")
grid = np.linspace(time.min(), time.max(), 150)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.scatter(time, acceleration, s=12, color="black", alpha=0.6, linewidths=0, label="measurements")
for level, color in zip((0.1, 0.5, 0.9), (plot.palette[0], plot.palette[2], plot.palette[1])):
    model = gs.Model(
        gs.GaussianProcess(time[:, None], gs.kernel("se", signal_sd=50.0, lengthscale=5.0)),
        gs.observe(likelihood, acceleration, level=level),
    )
    fit = gs.learn(model, "laplace")
    below = np.mean(acceleration < fit.mean)
    print(f"{100 * level:.0f} % curve: {100 * below:.0f} % of the measurements lie below; log evidence {fit.log_evidence:.1f}")
    plot.curve(grid, fit.predict(grid[:, None]), of="latent", levels=[0.95], label=f"{100 * level:.0f} % curve", color=color, ax=ax)
ax.set(xlabel="time after impact, ms", ylabel="acceleration, g")
plt.show()
