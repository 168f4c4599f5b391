"""From scikit-learn's Gaussian process in two changed lines

A program that uses scikit-learn's `GaussianProcessClassifier` changes its import and the line that makes the model; pipelines,
`predict_proba`, cross-validation and pickles go on as before. Here both are fitted to the same biopsies with the same kernel,
and without hyperpriors, so that they maximise the same evidence: they find the same maximum and the same probabilities.

What is new: the fit says how it converged, predicts every sample from the others without refitting, and takes any
likelihood and method of the library.
"""

from pathlib import Path
from time import perf_counter

import gaussmith.sklearn
import matplotlib.pyplot as plt
import numpy as np
from gaussmith import plot
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

data = Path(__file__).parents[2] / "data"
train, test = (np.loadtxt(data / f"breast_cancer_{part}.csv", dtype=str, delimiter=",", skiprows=1) for part in ("train", "test"))
x, y = train[::3, :-1].astype(float), train[::3, -1]  # A third, so that both take seconds.
new_x, new_y = test[:, :-1].astype(float), test[:, -1]

before = GaussianProcessClassifier(ConstantKernel(1.0, (1e-5, 1e8)) * RBF(1.0))
after = gaussmith.sklearn.GaussianProcessClassifier("se", mean=0.0, hyperpriors=None)

probability = {}
for name, classifier in (("scikit-learn", before), ("gaussmith", after)):
    start = perf_counter()
    model = make_pipeline(StandardScaler(), classifier).fit(x, y)
    seconds = perf_counter() - start
    probability[name] = model.predict_proba(new_x)[:, 1]
    evidence = classifier.log_marginal_likelihood_value_
    print(f"{name:12}  log evidence {evidence:.6f}  accuracy {model.score(new_x, new_y):.4f}  fitted in {seconds:.2f} s")
print(f"\n{after.summary()}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.axline((0, 0), slope=1, color="0.6", linewidth=1, linestyle="--")
left.scatter(probability["scikit-learn"], probability["gaussmith"], s=14, color=plot.palette[0], linewidths=0)
left.set(title="P(malignant) of samples set apart", xlabel="scikit-learn", ylabel="gaussmith", aspect="equal")
right.set(title="New: every sample from the others", xlabel="sample")
plot.leave_one_out(after, ax=right)
plt.show()
