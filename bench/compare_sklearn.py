#!/usr/bin/env python3
"""Learning a Gaussian process classifier: our EP (probit) beside scikit-learn's Laplace (logit).

Both maximise their approximate evidence over the signal and one length-scale, on the same data and with the same number
of evidence evaluations; both run on the same number of threads. Prints seconds, evaluations and the ratio of times.

    python3 -m venv /tmp/sk && /tmp/sk/bin/pip install scikit-learn
    /tmp/sk/bin/python bench/compare_sklearn.py --tool build/bin/gaussmith
"""

import argparse
import csv
import json
import os
import subprocess
import tempfile
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default="build/bin/gaussmith")
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(arguments.threads)

    import numpy as np  # After the thread count is set.
    import sklearn
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    random = np.random.default_rng(1)
    x = random.normal(size=(arguments.rows, 2))
    y = np.where(np.sin(2 * x[:, 0]) + x[:, 1] + 0.5 * random.normal(size=arguments.rows) > 0, 1, -1)

    best_theirs, best_ours = float("inf"), float("inf")
    for _ in range(arguments.rounds):
        evaluations = 0

        def optimizer(objective, start, bounds):
            nonlocal evaluations
            from scipy.optimize import minimize

            def counted(theta):
                nonlocal evaluations
                evaluations += 1
                return objective(theta)

            found = minimize(counted, start, jac=True, method="L-BFGS-B", bounds=bounds)
            return found.x, found.fun

        start = time.perf_counter()
        GaussianProcessClassifier(ConstantKernel(1.0) * RBF(1.0), optimizer=optimizer).fit(x, y)
        best_theirs = min(best_theirs, time.perf_counter() - start)

        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "train.csv")
            with open(table, "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["a", "b", "y"])
                writer.writerows([*row, label] for row, label in zip(x.tolist(), y.tolist()))
            command = [arguments.tool, "fit", "--data", table, "--target", "y", "--likelihood", "bernoulli-probit",
                       "--prior", "gp", "--kernel", "se", "--method", "ep", "--learn", "--json",
                       "--set", "kernel.signal_sd=1", "--set", "kernel.lengthscale=1",
                       "--set", f"learn.max_evaluations={evaluations}", "--set", "learn.tolerance=1e-12",
                       "--threads", str(arguments.threads)]
            result = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        # Where ours ends earlier, its time is scaled up to the same number of evaluations.
        used = result["learning"]["evaluations"]
        best_ours = min(best_ours, result["seconds"] * evaluations / used)
        print(f"scikit-learn {sklearn.__version__} Laplace: {best_theirs:.2f} s, {evaluations} evaluations; "
              f"gaussmith EP: {best_ours:.2f} s at as many ({used} used, log evidence {result['log_evidence']:.3f})")
    print(f"ratio of best times, ours / theirs: {best_ours / best_theirs:.3f}")


if __name__ == "__main__":
    main()
