#!/usr/bin/env python3
"""Logistic regression with variances beside liblinear's point estimate, on the same LIBSVM files, in turns.

    apt-get install liblinear-tools
    python3 bench/against_liblinear.py TRAIN.svm [TEST.svm] --tool build/bin/gaussmith --method vb

Wall seconds of whole programs, reading included, the best of --runs; liblinear solves L2-regularised logistic regression
(-s 0) to tolerance 1e-4.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time


def best_time(command, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        times.append(time.perf_counter() - start)
        if done.returncode not in (0, 2):
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return min(times), done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("test", nargs="?")
    parser.add_argument("--tool", default="build/bin/gaussmith")
    parser.add_argument("--method", default="vb")
    parser.add_argument("--prior", default="isotropic", help="isotropic or laplace")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="as for the tool; repeatable")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", default="2")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "liblinear.model")
        ours = os.path.join(folder, "ours.gsm")
        point, _ = best_time(["liblinear-train", "-s", "0", "-e", "1e-4", "-q", arguments.train, model], arguments.runs)
        fit = [arguments.tool, "fit", "--data", arguments.train, "--likelihood", "bernoulli-logit", "--prior",
               arguments.prior,
               "--method", arguments.method, "--threads", arguments.threads, "--quiet", "--save", ours]
        fit += [word for setting in arguments.set for word in ("--set", setting)]
        full, _ = best_time(fit, arguments.runs)
        print(f"liblinear {point:.2f} s, gaussmith {arguments.method} {full:.2f} s, ratio {full / point:.2f}")
        if arguments.test:
            out = os.path.join(folder, "out")
            done = subprocess.run(["liblinear-predict", arguments.test, model, out], capture_output=True, text=True,
                                  check=True)
            scores = subprocess.run([arguments.tool, "evaluate", "--model", ours, "--data", arguments.test, "--json"],
                                    capture_output=True, text=True, check=True)
            print(f"liblinear {done.stdout.strip()}; gaussmith "
                  f"{json.dumps({k: v for k, v in json.loads(scores.stdout).items() if 'error' in k or 'density' in k})}")


if __name__ == "__main__":
    main()
