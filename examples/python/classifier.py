"""A classifier that says how sure it is

Are cells of a breast biopsy benign or malignant? A Gaussian process with one length-scale for each of nine properties is
fitted to 342 samples, and judged on 341 others. Learning maximises the evidence, so no part of the data is set apart for
it; weak hyperpriors hold the length-scales of properties that say little.

What to look at: nearly all samples are called with certainty, and rightly; between, the model is too careful, as more of the
samples are malignant than it says (left). The samples that it finds hardest to explain from the others are known without
a single refit (right).
"""

from pathlib import Path

import gaussmith as gs
import matplotlib.pyplot as plt
import numpy as np
from gaussmith import plot

data = Path(__file__).parents[2] / "data"
fit = gs.fit_table(
    data / "breast_cancer_train.csv",
    "bernoulli-probit",
    target="diagnosis",
    kernel="se-ard",
    standardize=True,
    hyperpriors="weak",
)
print(fit)

prediction = fit.predict(data / "breast_cancer_test.csv")
truth = np.loadtxt(data / "breast_cancer_test.csv", dtype=str, delimiter=",", skiprows=1)[:, -1]
errors = np.sum(np.array(prediction.label) != truth)
print(f"\n{errors} errors in {len(truth)} samples set apart")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.set(title="Samples set apart", xlabel="predicted probability of malignant", ylabel="share that is malignant")
plot.calibration(prediction, truth == "malignant", ax=left)
right.set(title="Samples of the fit, each from the others", xlabel="sample")
plot.leave_one_out(fit, ax=right)
plt.show()
