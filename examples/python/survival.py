"""Survival with censoring

Patients with acute myeloid leukaemia in north-west England. Some were alive when the study ended: of them it is known
only that they lived at least so long. The Weibull likelihood takes such rows as what they say, and the Gaussian process
finds how age and white blood cells change the time that is left.

The curves are predictions for a new patient; the steps are the estimate of Kaplan and Meier for patients near that age
that the model has not seen.
"""

from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from gaussmith import plot

Array = npt.NDArray[np.float64]
path = Path(__file__).parents[2] / "data" / "leukemia.csv"
age, sex, cells, deprivation, days, event = np.loadtxt(
    path, delimiter=",", skiprows=1, usecols=(0, 1, 2, 3, 6, 7), unpack=True
)
table = {"age": age, "log_cells": np.log1p(cells), "deprivation": deprivation, "years": days / 365.25, "event": event}
seen = np.arange(len(age)) % 3 == 0  # A third is fitted; the others are for the steps.
fit = gs.fit_table(
    {name: column[seen] for name, column in table.items()},
    "weibull",
    target="years",
    event="event",
    kernel="se-ard",
    standardize=True,
    hyperpriors="weak",
)
print(fit)


def kaplan_meier(years: Array, died: Array) -> tuple[list[float], list[float]]:
    """Times of deaths, and the share that survives each."""
    times, shares = [0.0], [1.0]
    for time in np.unique(years[died == 1]):
        times.append(float(time))
        shares.append(shares[-1] * float(1 - np.sum(years[died == 1] == time) / np.sum(years >= time)))
    return times, shares


years = np.linspace(0.01, 5, 80)
figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
for number, at in enumerate((35, 55, 75)):
    near = ~seen & (abs(age - at) <= 7)
    patient = {"age": np.full(80, at), "log_cells": np.full(80, np.median(table["log_cells"])), "deprivation": np.zeros(80)}
    alive = 1 - fit.predict(patient).cdf(years)
    ax.plot(years, alive, color=plot.palette[number], linewidth=2, label=f"{at} years old, predicted")
    steps = kaplan_meier(table["years"][near], event[near])
    name = f"{at - 7} to {at + 7}, {near.sum()} not seen"
    ax.step(*steps, where="post", color=plot.palette[number], linewidth=1, linestyle="--", label=name)
    print(f"{at} years old: P(alive after a year) = {1 - fit.predict(patient).cdf(np.ones(80))[0]:.2f}")
ax.set(title="Time after diagnosis", xlabel="years", ylabel="share alive", xlim=(0, 5), ylim=(0, 1.02))
ax.legend(frameon=False)
plt.show()
