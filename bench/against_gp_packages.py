#!/usr/bin/env python3
"""A Gaussian process classifier of two classes beside scikit-learn, GPBoost and GPflow, on one thread.

    build/venv/bin/python bench/against_gp_packages.py --rows 500 1000 2000
    python -m venv other && other/bin/pip install WHEEL gpboost gpflow tensorflow-cpu tf-keras; then the same

The same data and kernel (signal, one length-scale); times are the best of --rounds, in turns. scikit-learn and GPBoost
compute Laplace's evidence, as our `laplace`; GPflow's VGP the bound of a full Gaussian, as our `kl`.
"""

import argparse
import os
import time
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
    os.environ[name] = "1"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np  # noqa: E402  After the number of threads is set.

import gaussmith as gs  # noqa: E402


def data(rows):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, 2))
    return x, np.where(np.sin(2 * x[:, 0]) + x[:, 1] + 0.5 * rng.normal(size=rows) > 0, 1.0, -1.0)


def ours(method):
    def fit(x, y, learned):
        model = gs.Model(gs.GaussianProcess(x, gs.kernel("se", signal_sd=1.0, lengthscale=1.0)), gs.observe("bernoulli-logit", y))
        if not learned:
            return gs.infer(model, method, threads=1).log_evidence, {}
        found = gs.learn(model, method, threads=1, standard_errors=False)
        return found.log_evidence, {"evaluations": found.learning.evaluations}

    return fit


def scikit_learn(x, y, learned):
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel(1.0, (1e-5, 1e5)) * RBF(1.0, (1e-3, 1e3))
    fit = GaussianProcessClassifier(kernel, optimizer="fmin_l_bfgs_b" if learned else None).fit(x, y)
    return fit.log_marginal_likelihood_value_, {}


def gpboost(x, y, learned):
    import gpboost

    model = gpboost.GPModel(gp_coords=x, cov_function="gaussian", likelihood="bernoulli_logit", num_parallel_threads=1)
    labels = (y > 0).astype(float)
    # Its length-scale l stands in exp(-(r / l)^2), its signal is a variance.
    start = np.array([1.0, np.sqrt(2.0)])
    if not learned:
        return -model.neg_log_likelihood(cov_pars=start, y=labels), {}
    model.fit(y=labels, params={"init_cov_pars": start, "optimizer_cov": "lbfgs"})
    return -model.get_current_neg_log_likelihood(), {}


def gpflow(x, y, learned):
    import gpflow
    import tensorflow

    tensorflow.config.threading.get_intra_op_parallelism_threads()
    kernel = gpflow.kernels.SquaredExponential(variance=1.0, lengthscales=1.0)
    model = gpflow.models.VGP((x, (y > 0).astype(float)[:, None]), kernel, gpflow.likelihoods.Bernoulli(invlink=tensorflow.sigmoid))
    if not learned:
        gpflow.set_trainable(kernel, False)
    done = gpflow.optimizers.Scipy().minimize(
        model.training_loss, model.trainable_variables, options={"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-6}
    )
    return float(model.elbo()), {"iterations": done.nit}


PAIRS = {
    "scikit-learn": (scikit_learn, "laplace"),
    "gpboost": (gpboost, "laplace"),
    "gpflow": (gpflow, "kl"),
}


def timed(fit, x, y, learned):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence, more = fit(x, y, learned)
    return time.perf_counter() - start, evidence, more


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packages", nargs="+", choices=PAIRS, default=["scikit-learn"])
    parser.add_argument("--fixed-only", action="store_true")
    arguments = parser.parse_args()
    for package in arguments.packages:
        theirs, method = PAIRS[package]
        for rows in arguments.rows:
            x, y = data(rows)
            for learned in (False,) if arguments.fixed_only else (False, True):
                runs = [(timed(theirs, x, y, learned), timed(ours(method), x, y, learned)) for _ in range(arguments.rounds)]
                them, us = (min((run[k] for run in runs), key=lambda one: one[0]) for k in (0, 1))
                print(
                    f"{package} N={rows} {'learned' if learned else 'fixed'}: {them[0]:.3f} s, evidence {them[1]:.6f} {them[2]}; "
                    f"gaussmith {method} {us[0]:.3f} s, evidence {us[1]:.6f} {us[2]}; ratio {them[0] / us[0]:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
