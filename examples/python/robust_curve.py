"""A curve through outliers

One measurement in ten has noise ten times as large. Gaussian noise must call all of it noise, and widens its bands
everywhere; noise with the heavy tails of a Student-t distribution takes the outliers for what they are. Both fits learn
their parameters by the evidence and are judged on 200 points that were set apart.
"""

from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
from gaussmith import plot

data = Path(__file__).parents[2] / "data"
x, y = np.loadtxt(data / "outliers_train.csv", delimiter=",", skiprows=1, unpack=True)
new_x, new_y = np.loadtxt(data / "outliers_test.csv", delimiter=",", skiprows=1, unpack=True)

process = gs.GaussianProcess(x[:, None], "se")
gaussian = gs.learn(gs.Model(process, gs.observe("gaussian", y, variance=0.1)))
robust = gs.learn(gs.Model(process, gs.observe("student-t", y, nu=4.0, scale=0.1)), "laplace", fixed=["likelihood.nu"])

grid = np.linspace(-2.6, 2.6, 200)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, name, fit in zip(axes, ("Gaussian", "Student-t"), (gaussian, robust)):
    score = fit.predict(new_x[:, None]).log_density(new_y).mean()
    print(f"{name + ' noise':16} log evidence {fit.log_evidence:7.2f}, mean log density of new points {score:6.3f}")
    ax.set(title=f"{name} noise", xlabel="x", ylabel="y")
    plot.curve(grid, fit.predict(grid[:, None]), data=(x, y), ax=ax)
axes[0].set(xlim=(-2.6, 2.6), ylim=(-2.5, 3.5))
plt.show()
