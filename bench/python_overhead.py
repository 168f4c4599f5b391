#!/usr/bin/env python3
"""What the Python package costs beside the library: calls, import, memory, leaks, and how soon Ctrl-C is heard.

    build/venv/bin/python bench/python_overhead.py                all of it
    build/venv/bin/python bench/python_overhead.py call import    some

`memory` needs three times the gigabytes that --gigabytes asks for (default 1).
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import warnings

import numpy as np


def classifier(rows):
    import gaussmith as gs

    rng = np.random.default_rng(rows)
    x = np.asfortranarray(rng.normal(size=(rows, 10)))
    y = np.where(np.sin(2 * x[:, 0]) + x[:, 1] + 0.5 * rng.normal(size=rows) > 0, 1.0, -1.0)
    return x, y


def once(rows, threads):
    """Seconds of a model made, fitted and read from Python, and those that the library counts for the fit alone."""
    import gaussmith as gs

    x, y = classifier(rows)
    start = time.perf_counter()
    model = gs.Model(gs.GaussianProcess(x, "se-ard"), gs.observe("bernoulli-logit", y))
    fit = gs.infer(model, "laplace", threads=threads)
    _ = fit.log_evidence, fit.mean, fit.variance
    return time.perf_counter() - start, fit.report.seconds


def call(_):
    for rows in (10, 100, 1000):
        pairs = [once(rows, 1) for _ in range(200 if rows < 1000 else 15)]
        extra = statistics.median(whole - own for whole, own in pairs)
        own = statistics.median(own for _, own in pairs)
        print(f"N = {rows:4}: the library {1e3 * own:.2f} ms, around it {1e3 * extra:.3f} ms, {100 * extra / own:.2f} %")


def own(_):
    """A likelihood from a function of Python beside the library's own, and how often the function is called."""
    import gaussmith as gs

    x, y = classifier(500)
    calls = 0

    def logit(eta, y):
        nonlocal calls
        calls += 1
        return -np.logaddexp(0, -y * eta)

    process = gs.GaussianProcess(x, gs.kernel("se", lengthscale=3.0))
    mine = gs.Model(process, gs.observe(gs.CustomLikelihood(logit, smooth=True, log_concave=True), y))
    theirs = gs.Model(process, gs.observe("bernoulli-logit", y))
    for method in ("laplace", "kl", "ep"):
        calls = 0
        fits = [gs.infer(model, method, threads=1) for model in (mine, theirs)]
        function, library = (fit.report.seconds for fit in fits)
        print(f"{method}, N = 500: {function:.3f} s in {calls} calls of the function, the library's own likelihood {library:.3f} s")


def seconds_of(code):
    return min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(9))


def importing(_):
    base = "import numpy, time; start = time.perf_counter(); {}; print(time.perf_counter() - start)"
    print(f"import gaussmith after numpy: {seconds_of(base.format('import gaussmith')):.3f} s")
    print(f"the estimators after numpy: {seconds_of(base.format('import gaussmith.sklearn')):.3f} s, of which scikit-learn "
          f"{seconds_of(base.format('import sklearn.base, sklearn.utils.validation, sklearn.metrics')):.3f} s")


def status(field):
    with open("/proc/self/status", encoding="utf-8") as lines:
        return next(int(line.split()[1]) / 1e6 for line in lines if line.startswith(field))


def peak_of(work):
    """Gigabytes that the work holds at its peak, beyond what there was before."""
    with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")
    before = status("VmRSS")
    kept = work()
    return status("VmHWM") - before, kept


def memory(arguments):
    import gaussmith as gs
    from scipy.sparse import csr_array

    columns, per_row = 400, 40
    rows = int(arguments.gigabytes * 1e9 / (12 * per_row))
    rng = np.random.default_rng(0)
    indices = np.tile(np.arange(0, columns, columns // per_row, dtype=np.int32), rows)
    indptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    design = csr_array((rng.standard_normal(rows * per_row), indices, indptr), shape=(rows, columns))
    size = (design.data.nbytes + design.indices.nbytes + design.indptr.nbytes) / 1e9
    y = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    print(f"CSR of {rows} rows, {size:.2f} GB", flush=True)
    extra, model = peak_of(lambda: gs.Model(gs.Isotropic(columns), gs.observe("bernoulli-logit", y), design=design))
    print(f"making the model: peak {extra:.3f} GB more ({extra / size:.2f} designs)", flush=True)
    extra, _ = peak_of(lambda: gs.infer(model, "laplace", threads=1))
    print(f"laplace: peak {extra:.3f} GB more ({extra / size:.2f} designs)")


def leaks(arguments):
    import gaussmith as gs

    x, y = classifier(12)
    own = gs.CustomLikelihood(lambda eta, y: -np.logaddexp(0, -y * eta), smooth=True, log_concave=True)
    seen = {}
    for number in range(arguments.fits + 1):
        sites = gs.observe(own, y) if number % 10 == 0 else gs.observe("bernoulli-logit", y)
        fit = gs.infer(gs.Model(gs.GaussianProcess(x, "se"), sites), ("laplace", "kl", "ep")[number % 3] if number % 10 else "laplace", threads=1)
        _ = fit.report, fit.mean, fit.predict(x).latent_mean
        if number % (arguments.fits // 10) == 0:
            seen[number] = status("VmRSS")
    print("resident MB after n fits: " + ", ".join(f"{n}: {1e3 * held:.1f}" for n, held in seen.items()))


def interrupt(_):
    """From SIGINT to the result, while learning a process of 1500 rows."""
    import gaussmith as gs

    x, y = classifier(1500)
    model = gs.Model(gs.GaussianProcess(x, "se-ard"), gs.observe("bernoulli-logit", y))
    for method in ("laplace", "ep", "kl"):
        pressed = []

        def press():
            time.sleep(4)
            pressed.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                gs.learn(model, method, threads=1, tolerance=1e-12, restarts=20)
                how = "result kept: " + str(told[-1].message)
            except KeyboardInterrupt:
                how = "KeyboardInterrupt"
        print(f"{method}: {time.perf_counter() - pressed[0]:.2f} s from Ctrl-C; {how}", flush=True)


PARTS = {"call": call, "own": own, "import": importing, "memory": memory, "leaks": leaks, "interrupt": interrupt}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--fits", type=int, default=10000)
    arguments = parser.parse_args()
    for part in arguments.parts or PARTS:
        PARTS[part](arguments)


if __name__ == "__main__":
    main()
