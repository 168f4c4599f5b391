#!/usr/bin/env python3
"""Networks and sparse linear models by EP with integrated scales beside Gaussian processes, through the tool alone;
docs/reproduce/network_ep.md discusses the result.

  reproduce/network_ep.py --data FOLDER --results runs.jsonl [--only friedman --only neal ...] [--tables]

FOLDER holds one folder a data set with the tables named in SETS; Friedman's function and Neal's curve are drawn here.
Every fit is one line of the results, and fits that are there already are not repeated. Prints Markdown tables.
"""

import argparse
import csv
import gzip
import io
import json
import math
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile

# --- Data: (training header and rows, test rows), the response last ---


def friedman(seed, rows=200, tests=1000):
    """Friedman (1991): ten inputs, five of them noise; sd of the noise 1."""
    draw = random.Random(f"friedman {seed}")

    def row(noise):
        x = [draw.random() for _ in range(10)]
        f = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        return [*x, f + (draw.gauss(0, 1) if noise else 0.0)]

    return [f"x{j + 1}" for j in range(10)] + ["y"], [row(True) for _ in range(rows)], [row(True) for _ in range(tests)]


def neal(seed, rows=100, tests=1000):
    """Neal (1997), without outliers: sd of the noise 0.1."""
    draw = random.Random(f"neal {seed}")

    def row():
        x = draw.gauss(0, 1)
        return [x, 0.3 + 0.4 * x + 0.5 * math.sin(2.7 * x) + 1.1 / (1 + x * x) + 0.1 * draw.gauss(0, 1)]

    return ["x", "y"], [row() for _ in range(rows)], [row() for _ in range(tests)]


def read(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as source:
        rows = list(csv.reader(source))
    return rows[0], rows[1:]


def divided(rows, share, seed, most=None):
    """A random part to train on, at most `most` rows of it, and the rest."""
    rows = list(rows)
    random.Random(f"rows {seed}").shuffle(rows)
    count = round(share * len(rows))
    return rows[: min(count, most or count)], rows[count:]


def folder_set(path, target=None, share=0.5, most=None, drop=(), tests=None):
    def load(data, seed):
        header, rows = read(data / path)
        last = header.index(target or header[-1])
        order = [j for j, name in enumerate(header) if j != last and name not in drop] + [last]
        rows = [[row[j] for j in order] for row in rows]
        train, test = divided(rows, share, seed, most)
        return [header[j] for j in order], train, test[:tests]

    return load


def masked_set(name, most):
    def load(data, seed):
        header, rows = read(data / name / f"{name}.csv.gz")
        _, mask = read(data / name / "test_mask.csv.gz")
        train = [row for row, split in zip(rows, mask) if split[seed] == "0"]
        test = [row for row, split in zip(rows, mask) if split[seed] == "1"]
        random.Random(f"rows {seed}").shuffle(train)
        return header, train[:most], test

    return load


def ripley(data, seed):
    header, train = read(data / "ripley_synth/synth_tr.csv")
    return header, train, read(data / "ripley_synth/synth_te.csv")[1]


def flowering(data, seed):
    with gzip.open(data / "flowering_time/flowering_time.svm.gz", "rt") as source:
        rows = [line for line in source if line.strip()]
    train, test = divided(rows, 0.8, seed)
    return None, train, test


NETWORK = ("--prior", "network")
LINEAR = ("--prior", "sparse-linear")
THESIS = (*NETWORK, "--set", "network.start=zero")
GP = ("--prior", "gp", "--kernel", "se-ard", "--standardize", "--mean", "auto", "--learn", "--hyperpriors", "weak")
LAPLACE_ARD = (*LINEAR, "--weights", "laplace-ard")
ARD = (*LINEAR, "--weights", "ard")
GAUSSIAN = (*LINEAR, "--weights", "gaussian")

# name: (loader, likelihood, seeds, {model: options})
SETS = {
    "friedman": (lambda data, seed: friedman(seed), "gaussian", range(101, 111),
                 {"network": NETWORK, "network, zero start": THESIS, "sparse linear": LINEAR, "gp": GP}),
    "neal": (lambda data, seed: neal(seed), "gaussian", range(101, 106),
             {"network": NETWORK, "network, zero start": THESIS, "sparse linear": LINEAR, "gp": GP}),
    "boston_housing": (folder_set("boston_housing/boston_housing.csv"), "gaussian", range(3),
                       {"network": NETWORK, "network, zero start": THESIS, "sparse linear": LINEAR, "gp": GP}),
    "concrete_strength": (folder_set("concrete_strength/concrete_strength.csv"), "gaussian", range(3),
                          {"network": NETWORK, "sparse linear": LINEAR, "gp": GP}),
    "concrete_slump": (folder_set("concrete_slump/concrete_slump.csv", target="slump_cm",
                                  drop=("flow_cm", "strength_mpa"), share=0.8), "gaussian", range(5),
                       {"network": NETWORK, "sparse linear": LINEAR, "gp": GP}),
    "kin40k": (masked_set("kin40k", 2000), "gaussian", range(1), {"network": NETWORK, "sparse linear": LINEAR, "gp": GP}),
    "pumadyn32nm": (masked_set("pumadyn32nm", 1000), "gaussian", range(1),
                    {"network": NETWORK, "sparse linear": LINEAR, "gp": GP}),
    "diabetes": (folder_set("diabetes/diabetes.csv"), "gaussian", range(3),
                 {"network": NETWORK, "sparse linear": LINEAR, "sparse linear, ard": ARD, "sparse linear, laplace-ard": LAPLACE_ARD,
                  "sparse linear, gaussian": GAUSSIAN}),
    "flowering_time": (flowering, "gaussian", range(2),
                       {"sparse linear": LINEAR, "sparse linear, ard": ARD, "sparse linear, gaussian": GAUSSIAN}),
    "ripley_synth": (ripley, "bernoulli-probit", range(1), {"network": NETWORK, "sparse linear": LINEAR, "gp": GP}),
    "banana": (folder_set("banana/banana.csv.gz", most=400, tests=2000), "bernoulli-probit", range(2),
               {"network": NETWORK, "sparse linear": LINEAR, "gp": GP}),
    "spam": (folder_set("spam/spam.csv.gz", most=500, tests=2000), "bernoulli-probit", range(1),
             {"network": NETWORK, "sparse linear": LINEAR, "sparse linear, gaussian": GAUSSIAN}),
}

# --- Runs ---


def write(path, header, rows):
    if header is None:
        path.write_text("".join(rows))
        return
    text = io.StringIO()
    csv.writer(text).writerows([header, *rows])
    path.write_text(text.getvalue())


def run(tool, *arguments):
    """The result and the exit code, with the processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([tool, *map(str, arguments), "--json", "--threads", "1"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2) or not done.stdout:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stderr}")
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(options, name, seed, model):
    loader, likelihood, _, models = SETS[name]
    header, train, test = loader(options.data, seed)
    with tempfile.TemporaryDirectory() as home:
        home = pathlib.Path(home)
        suffix = ".svm" if header is None else ".csv"
        files = [home / f"{part}{suffix}" for part in ("train", "test")]
        write(files[0], header, train)
        write(files[1], header, test)
        target = () if header is None else ("--target", header[-1])
        fit, seconds = run(options.gaussmith, "fit", "--data", files[0], *target, "--likelihood", likelihood, *models[model],
                           "--seed", seed, "--loo", "--save", home / "m.gsm")
        scores, _ = run(options.gaussmith, "evaluate", "--model", home / "m.gsm", "--data", files[1])
    line = {"set": name, "seed": seed, "model": model, "rows": len(train), "seconds": seconds, "converged": fit["converged"],
            "log_evidence": fit["log_evidence"], "rmse": scores.get("rmse"), "error_rate": scores.get("error_rate"),
            "density": scores["mean_log_predictive_density"],
            "left_out": fit["leave_one_out"]["total"] / max(1, fit["leave_one_out"]["rows"])}
    if "network" in fit:
        network = fit["network"]
        line["units"] = network["units"]
        line["starts"] = network["starts"]
        line["relevance"] = {entry["name"]: entry["share"] for entry in network["relevance"][:40]}
    return line


# --- Tables ---


def spread(values, digits):
    values = [v for v in values if v is not None]
    if not values:
        return ""
    sd = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{sd}"


def tables(lines):
    print("| data | n | model | sets | RMSE or error, % | density | left out | units | converged | s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, (_, _, _, models) in SETS.items():
        for model in models:
            found = [line for line in lines if line["set"] == name and line["model"] == model]
            if not found:
                continue
            errors = [line["rmse"] if line["rmse"] is not None else 100 * line["error_rate"] for line in found]
            units = [line["units"] for line in found if line["model"].startswith("network") and line.get("units") is not None]
            print(f"| {name} | {found[0]['rows']} | {model} | {len(found)} | {spread(errors, 3)} | "
                  f"{spread([line['density'] for line in found], 3)} | {spread([line['left_out'] for line in found], 3)} | "
                  f"{spread(units, 1)} | {sum(line['converged'] for line in found)} | "
                  f"{statistics.mean(line['seconds'] for line in found):.1f} |")
    checks(lines)


def checks(lines):
    """What the figures are held against."""
    by = {(line["set"], line["seed"], line["model"]): line for line in lines}
    for name in ("friedman", "neal"):
        seeds = sorted({line["seed"] for line in lines if line["set"] == name})
        triples = [[by.get((name, seed, model)) for model in ("network", "gp", "sparse linear")] for seed in seeds]
        triples = [t for t in triples if all(t)]
        if not triples:
            continue
        mean = [statistics.mean(t[i]["rmse"] for t in triples) for i in range(3)]
        gap = statistics.mean(t[1]["density"] - t[0]["density"] for t in triples)
        print(f"\n{name}, {len(triples)} sets: mean RMSE {mean[0] / mean[1]:.3f} x the process, {mean[0] / mean[2]:.3f} x linear; "
              f"mean density {gap:.3f} below the process")
        if name == "friedman":
            apart = sum(max(t[0]["relevance"][f"x{j}"] for j in range(6, 11)) <
                        min(t[0]["relevance"][f"x{j}"] for j in range(1, 6)) for t in triples)
            print(f"all noise inputs below all real ones: {apart} of {len(triples)}")
    worst = {}
    for (name, seed, model), line in by.items():
        linear = by.get((name, seed, "sparse linear"))
        if model == "network" and linear:
            worst[name] = min(worst.get(name, math.inf), line["density"] - linear["density"])
    print("\nnetwork less sparse linear in density, the least of the sets: " +
          ", ".join(f"{name} {value:+.3f}" for name, value in worst.items()))
    stacked = []
    for line in lines:
        stack = [s["leave_one_out"] for s in line.get("starts", ()) if s["converged"] or not line["converged"]]
        if line["model"] == "network" and len(stack) > 1:
            stacked.append(line["left_out"] - max(stack))
    if stacked:
        print(f"\nstacking less its best start in mean leave-one-out density: {min(stacked):+.4f} at least")
    starts = [s for line in lines if line["model"] == "network" for s in line.get("starts", ())]
    if starts:
        print(f"\nstarts that converged: {sum(s['converged'] for s in starts)} of {len(starts)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("data"))
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--gaussmith", default="build/bin/gaussmith")
    parser.add_argument("--only", action="append", choices=SETS, help="may be repeated; default: all")
    parser.add_argument("--model", action="append", help="may be repeated; default: all")
    parser.add_argument("--tables", action="store_true", help="of finished runs, no new ones")
    options = parser.parse_args()
    lines = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
    known = {(line["set"], line["seed"], line["model"]) for line in lines}
    for name in () if options.tables else options.only or SETS:
        _, _, seeds, models = SETS[name]
        for seed in seeds:
            for model in options.model or models:
                if model not in models or (name, seed, model) in known:
                    continue
                lines.append(measure(options, name, seed, model))
                with options.results.open("a") as out:
                    out.write(json.dumps(lines[-1]) + "\n")
                print(f"{name} {seed} {model}: {lines[-1]['seconds']:.1f} s", file=sys.stderr)
    tables(lines)


if __name__ == "__main__":
    main()
