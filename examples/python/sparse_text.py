"""Sparse logistic regression on text

Is a letter spam? The features are how often 54 words and signs occur in it. Most of them say nothing, which a Laplace
prior on the coefficients expresses: it pulls small ones to zero and leaves large ones alone. How strongly, the evidence
tells, here a lower bound of it. Unlike the single best set of weights that a penalty gives, the posterior says how certain
each of them is: hollow points may well be zero.
"""

from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
from gaussmith import plot

data = Path(__file__).parents[2] / "data"
fits = {
    scale: gs.fit_table(
        data / "spam_train.csv",
        "bernoulli-logit",
        target="class",
        prior="laplace",
        parameters={"prior.scale": scale},
        method="vb",
        fit="infer",
    )
    for scale in (0.5, 1.0, 2.0, 4.0, 8.0)
}
for scale, tried in fits.items():
    print(f"prior scale {scale:3}: log evidence at least {tried.log_evidence:.2f}")
fit = max(fits.values(), key=lambda tried: tried.log_evidence)

prediction = fit.predict(data / "spam_test.csv")
truth = np.loadtxt(data / "spam_test.csv", dtype=str, delimiter=",", skiprows=1, comments=None)[:, -1]
rate = np.mean(np.array(prediction.label) != truth)
print(f"\nerror rate on {len(truth)} letters set apart: {100 * rate:.1f} %")
clear = [row["name"] for row in fit.coefficients() if row["lower"] > 0 or row["upper"] < 0]
print(f"{len(clear)} of {len(fit.coefficients())} coefficients are clearly not zero")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 5.5), layout="constrained")
left.set(xlabel="coefficient with 95 % interval: spam to the right")
plot.coefficients(fit, largest=20, ax=left)
right.set(title="Letters set apart", xlabel="predicted probability of spam", ylabel="share that is spam")
plot.calibration(prediction, truth == "spam", ax=right)
plt.show()
