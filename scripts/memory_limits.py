#!/usr/bin/env python3
"""Runs the tool under twenty limits of address space: each run ends with its result, or with one line and exit code 3.

Usage: scripts/memory_limits.py [TOOL]
"""

import os
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
sys.dont_write_bytecode = True

from tool import class_table, count_table, regression_table  # noqa: E402

SMALLEST, LARGEST, STEPS = 60, 1000, 20
SECONDS = 120
FIT = ("fit", "--target", "y", "--likelihood", "bernoulli-logit", "--save", "out.gsm")
RUNS = {
    "laplace": (*FIT, "--data", "classes.csv"),
    "ep": (*FIT, "--data", "classes.csv", "--method", "ep"),
    "kl, linear": (*FIT, "--data", "classes.csv", "--prior", "isotropic", "--method", "kl"),
    "kl, chevron": (*FIT, "--data", "classes.csv", "--method", "kl", "--kernel", "matern12", "--set",
                    "kl.covariance=chevron:10"),
    "learn": ("fit", "--data", "counts.csv", "--target", "deaths", "--exposure", "expected", "--likelihood", "poisson",
              "--learn", "--save", "out.gsm"),
    "exact": ("fit", "--data", "curve.csv", "--target", "y", "--likelihood", "gaussian", "--loo", "--json"),
    "predict": ("predict", "--model", "model.gsm", "--data", "long.csv", "--output", "out.csv"),
    "predict, json": ("predict", "--model", "model.gsm", "--data", "long.csv", "--quantiles", "0.1", "--json"),
    "evaluate": ("evaluate", "--model", "model.gsm", "--data", "long.csv"),
}


def end_of(tool, home, arguments, megabytes):
    """The exit code, and what is wrong with how the run ended."""
    limit = megabytes << 20
    before = set(os.listdir(home))
    try:
        done = subprocess.run([tool, *arguments], cwd=home, capture_output=True, text=True, timeout=SECONDS,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    except subprocess.TimeoutExpired:
        return None, f"no end within {SECONDS} s"
    left = set(os.listdir(home)) - before
    for name in left:
        os.remove(os.path.join(home, name))
    if done.returncode == 3:
        wrong = "" if len(done.stderr.splitlines()) == 1 and not done.stdout and not left else "not one line alone"
    else:
        wrong = "" if done.returncode == 0 else "neither 0 nor 3"
    return done.returncode, wrong and f"{wrong}: exit code {done.returncode}, files {sorted(left)}, {done.stderr!r}"


def main():
    tool = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build", "bin", "gaussmith"))
    failures = 0
    with tempfile.TemporaryDirectory() as home:
        for name, content in (("classes.csv", class_table(300)), ("counts.csv", count_table(150)),
                              ("curve.csv", regression_table(500)), ("long.csv", regression_table(20000)),
                              ("short.csv", regression_table(300))):
            with open(os.path.join(home, name), "w") as out:
                out.write(content)
        subprocess.run([tool, "fit", "--data", "short.csv", "--target", "y", "--likelihood", "gaussian", "--save",
                        "model.gsm"], cwd=home, check=True, capture_output=True)
        for name, arguments in RUNS.items():
            for threads in ("1", "2"):
                codes = []
                for step in range(STEPS):
                    megabytes = round(SMALLEST * (LARGEST / SMALLEST) ** (step / (STEPS - 1)))
                    code, wrong = end_of(tool, home, (*arguments, "--threads", threads), megabytes)
                    codes.append("-" if code is None else str(code))
                    if wrong:
                        failures += 1
                        print(f"{name}, {threads} threads, {megabytes} MB: {wrong}")
                print(f"{name}, {threads} threads: {''.join(codes)}", flush=True)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
