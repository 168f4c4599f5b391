"""Comparing methods

Two species of irises that overlap, two measurements of their petals, one model, four ways to approximate its posterior.
`kl` and `vb` give lower bounds on the evidence, so the larger of them is nearer to the truth; Laplace and `ep` give
approximations without a side. `ep` is known to be the most accurate for such likelihoods, and its probabilities reach
further towards 0 and 1 than those of Laplace, whose Gaussian sits at the mode of a skewed posterior.
"""

from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from gaussmith import plot


def petals(part: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.str_]]:
    """Length and width of petals, and the species, of the two that overlap."""
    path = Path(__file__).parents[2] / "data" / f"iris_{part}.csv"
    rows = np.loadtxt(path, dtype=str, delimiter=",", skiprows=1)
    rows = rows[rows[:, -1] != "setosa"]
    return rows[:, 2:4].astype(float), rows[:, -1]


x, species = petals("train")
new_x, new_species = petals("test")
y = np.where(species == "virginica", 1.0, -1.0)
new_y = np.where(new_species == "virginica", 1.0, -1.0)
model = gs.Model(gs.GaussianProcess(x, gs.kernel("se", signal_sd=5.0, lengthscale=1.0)), gs.observe("bernoulli-logit", y))

print("method    log evidence                   new flowers: log density, errors")
figure, axes = plt.subplots(2, 2, figsize=(9, 7.5), sharex=True, sharey=True, layout="constrained")
for ax, method in zip(axes.flat, ("laplace", "vb", "kl", "ep")):
    fit = gs.infer(model, method)
    prediction = fit.predict(new_x)
    score = prediction.log_density(new_y).mean()
    errors = np.sum((prediction.probability > 0.5) != (new_y > 0))
    print(f"{method:8} {fit.log_evidence:9.3f} ({fit.evidence_kind + ')':16}     {score:8.4f} {errors:3}")
    ax.set_title(f"{method}: log evidence {fit.log_evidence:.2f}")
    plot.class_map(fit, x, y, classes=[-1.0, 1.0], ax=ax)
    ax.legend(ax.get_legend_handles_labels()[0], ["versicolor", "virginica"], framealpha=0.9, loc="lower right")
    ax.set(xlabel="petal length, cm" if ax in axes[1] else "", ylabel="petal width, cm" if ax in axes[:, 0] else "")
plt.show()
