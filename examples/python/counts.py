"""Counts with exposure

Cases of lip cancer in 56 districts of Scotland. Each district has a number of cases that its people and their ages would
lead one to expect: the exposure. What is modelled is the ratio of the two, the relative risk, as a smooth function of the
share of people who work outdoors.

Two likelihoods are compared by their evidence. The negative binomial lets districts differ by more than chance; its
intervals hold at least as many districts as they promise, those of the Poisson distribution far fewer.
"""

from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
from gaussmith import plot

path = Path(__file__).parents[2] / "data" / "lip_cancer.csv"
outdoors, expected, observed = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2, 3), unpack=True)
inputs = outdoors[:, None]

poisson = gs.learn(gs.Model(gs.GaussianProcess(inputs, "se"), gs.observe("poisson", observed, exposure=expected)))
wider = gs.learn(
    gs.Model(
        gs.GaussianProcess(inputs, "se"),
        gs.observe("negative-binomial", observed, exposure=expected, shape=1.0),
    )
)
print(wider)
print(f"\nlog evidence: Poisson {poisson.log_evidence:.1f}, negative binomial {wider.log_evidence:.1f}")

grid = np.linspace(0, outdoors.max(), 100)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.set(title="Relative risk", xlabel="people working outdoors, %", ylabel="cases / expected cases")
plot.curve(grid, wider.predict(grid[:, None], exposure=1.0), data=(outdoors, observed / expected), of="mean", ax=left)
right.set_title("Do intervals of counts hold what they promise?")
plot.coverage(poisson.predict(inputs, exposure=expected), observed, label="Poisson", color=plot.palette[1], marker="^", ax=right)
plot.coverage(wider.predict(inputs, exposure=expected), observed, label="negative binomial", ax=right)
plt.show()
