#!/usr/bin/env python3
"""Learning from its own start on every table of a data directory, beside ten restarts and beside scikit-learn.

    python3 -m venv /tmp/sk && /tmp/sk/bin/pip install scikit-learn
    /tmp/sk/bin/python bench/learning_tables.py DATA --runs runs.jsonl --page docs/learning_tables.md

DATA holds one folder a data set. Every table is tried raw and standardised, with one length-scale and with one a
feature, by every method that suits it, one thread each. Runs are appended to a file, and what is there is not run again;
the page is made of all of them. --only picks cases by a regular expression.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile
import time

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

# (name, file, target, likelihood, further arguments)
TABLES = [
    ("boston", "boston_housing/boston_housing.csv", "medv", "gaussian", ""),
    ("slump", "concrete_slump/concrete_slump.csv", "slump_cm", "gaussian",
     "--features cement,slag,fly_ash,water,sp,coarse_aggr,fine_aggr"),
    ("strength", "concrete_strength/concrete_strength.csv", "strength_mpa", "gaussian", ""),
    ("diabetes", "diabetes/diabetes.csv", "y", "gaussian", "--mean auto"),
    ("mcycle", "mcycle/mcycle.csv", "accel", "gaussian", ""),
    ("co2", "mauna_loa_co2/mauna_loa_co2.csv", "co2_ppm", "gaussian", "--mean auto"),
    ("enso", "enso/enso.csv", "pressure_diff", "gaussian", "--mean auto"),
    ("rats", "rats/rats.csv", "weight", "gaussian", "--mean auto"),
    ("snelson", "snelson/snelson.csv", "y", "gaussian", ""),
    ("outliers", "neal_outliers/outliers.csv", "y", "gaussian", ""),
    ("regression2d", "gpstuff_regression2d/dat1.csv", "y", "gaussian", ""),
    ("hare", "hare_lynx/hare_lynx.csv", "hare_thousands", "gaussian", "--features year --mean auto"),
    ("ionosphere", "ionosphere/ionosphere.csv", "y", "bernoulli-probit", ""),
    ("sonar", "sonar/sonar.csv", "y", "bernoulli-probit", ""),
    ("pima", "pima/pima.csv", "y", "bernoulli-probit", ""),
    ("pima_tr", "pima/pima_tr.csv", "y", "bernoulli-logit", ""),
    ("wbc", "breast_cancer/wbc_original.csv", "y", "bernoulli-probit", ""),
    ("wdbc", "breast_cancer/wdbc.csv", "y", "bernoulli-probit", ""),
    ("heart", "heart/heart.csv", "y", "bernoulli-logit", ""),
    ("crabs", "crabs/crabs.csv", "y", "bernoulli-probit", ""),
    ("australian", "australian/australian.csv", "y", "bernoulli-logit", ""),
    ("german", "german_numer/german_numer.csv", "y", "bernoulli-probit", ""),
    ("synth", "ripley_synth/synth_tr.csv", "y", "bernoulli-probit", ""),
    ("coal", "coal/coal_yearly.csv", "count", "poisson", ""),
    ("lip_cancer", "scotland_lip_cancer/lip_cancer.csv", "observed", "poisson",
     "--exposure expected --features aff_pct"),
    ("larynx", "germany_larynx/larynx.csv", "observed", "poisson", "--exposure expected --features smoking"),
    ("finland", "finland_heart/finland_heart.csv", "deaths", "poisson", "--exposure expected"),
    ("drowning", "drowning/drowning.csv", "y", "poisson", "--mean auto"),
    ("quine", "quine/quine.csv", "days", "negative-binomial", ""),
    ("epil", "epil/epil.csv", "y", "poisson", ""),
    ("salmonella", "salmonella/salmonella.csv", "y", "poisson", "--features dose"),
    ("seeds", "seeds/seeds.csv", "r", "binomial-logit", "--trials n --features x1,x2"),
    ("tokyo", "tokyo_rainfall/tokyo_rainfall.csv", "y", "binomial-logit", "--trials n"),
    ("broffitt", "broffitt/broffitt.csv", "y", "poisson", "--exposure n --mean auto"),
    ("lung", "lung/lung.csv", "time", "weibull", "--censored censored --drop-missing"),
    ("leukemia", "leukemia_nw_england/leukemia.csv", "time", "weibull", "--censored censored"),
    ("aml", "leukemia_aml/leukemia_aml.csv", "time", "exponential", "--censored censored"),
    ("ovarian", "ovarian/ovarian.csv", "time", "weibull", "--censored censored"),
    ("veteran", "veteran/veteran.csv", "time", "weibull", "--censored censored"),
    ("kidney", "kidney/kidney.csv", "time", "exponential", "--censored censored"),
]
SCRATCH = tempfile.TemporaryDirectory()
BRIEF = 0.2  # seconds
KERNELS = ("se", "matern32", "se-ard", "matern32-ard")


def methods_of(likelihood):
    return ("exact",) if likelihood == "gaussian" else ("laplace", "ep", "kl")


def cases(only):
    for table, scaling, kernel in itertools.product(TABLES, ("raw", "standardised"), KERNELS):
        for method in methods_of(table[3]):
            name = f"{table[0]} {scaling} {kernel} {method}"
            if re.search(only, name):
                yield name, table, scaling, kernel, method


def censored_copy(path, folder):
    """The tables mark events with 1, the tool censored rows: a copy with a column `censored` in place of `event`."""
    target = pathlib.Path(folder) / path.name
    if not target.exists():
        lines = path.read_text().splitlines()
        place = lines[0].split(",").index("event")
        rows = [lines[0].replace("event", "censored")]
        for line in lines[1:]:
            cells = line.split(",")
            cells[place] = "0" if float(cells[place]) > 0 else "1"
            rows.append(",".join(cells))
        target.write_text("\n".join(rows) + "\n")
    return target


def processor_seconds():
    """Of the programs that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fit(tool, data, case, extra, limit):
    """One run of the tool: what learning reports, and how long it took: on one thread never more than it used the
    processor, which does not count what other programs used."""
    _, (_, file, target, likelihood, arguments), scaling, kernel, method = case
    table = censored_copy(data / file, SCRATCH.name) if "censored" in arguments else data / file
    command = [tool, "fit", "--data", str(table), "--target", target, "--likelihood", likelihood, "--method", method,
               "--kernel", kernel, "--learn", "--json", "--threads", "1", *arguments.split(), *extra]
    if scaling == "standardised":
        command.append("--standardize")
    before = processor_seconds()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"exit": -1, "message": f"more than {limit} s", "command": " ".join(command)}
    if not done.stdout.startswith("{"):
        return {"exit": done.returncode, "message": done.stderr.strip()[-300:], "command": " ".join(command)}
    used = processor_seconds() - before
    result = json.loads(done.stdout)
    learning = result["learning"]
    return {"exit": done.returncode, "seconds": min(result["seconds"], used), "objective": learning["objective"],
            "best": max(v for v in learning["start_objectives"] if v is not None),
            "evaluations": learning["evaluations"], "curvature": learning.get("curvature_evaluations", 0),
            "failed": learning["failed_evaluations"], "residual": learning["residual"], "message": learning["message"],
            "starts": learning["start_objectives"], "rows": len(result["latent"]["mean"]),
            "warnings": result["warnings"], "failures": learning.get("failures", []),
            "parameters": {name: [p["initial"], p["value"]] for name, p in list(learning["parameters"].items())[:8]},
            "command": " ".join(command)}


def own_fit(tool, data, case, limit):
    """Learning from its own start; the fastest of three where that is a matter of milliseconds."""
    run_ = fit(tool, data, case, [], limit)
    for _ in range(2):
        if run_.get("seconds", BRIEF) < BRIEF:
            run_ = min(run_, fit(tool, data, case, [], limit), key=lambda r: r.get("seconds", BRIEF))
    return run_


def read(data, table, standardised):
    """The numbers that the tool sees, for scikit-learn."""
    import numpy as np

    _, file, target, _, arguments = table
    lines = (data / file).read_text().splitlines()
    names = lines[0].split(",")
    cells = np.array([[float(c) for c in line.split(",")] for line in lines[1:] if line])
    words = arguments.split()
    features = words[words.index("--features") + 1].split(",") if "--features" in words else [
        n for n in names if n != target]
    x = np.column_stack([cells[:, names.index(n)] for n in features])
    y = cells[:, names.index(target)]
    if standardised:
        sd = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(sd > 0, sd, 1.0)
    return x, y - y.mean() if "auto" in words else y


def sklearn_fit(data, case):
    """The same model by scikit-learn with its own optimiser and starts; regression, and logit classification."""
    import warnings

    from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    _, table, scaling, kernel, method = case
    x, y = read(data, table, scaling == "standardised")
    scales = [1.0] * x.shape[1] if kernel.endswith("-ard") else 1.0
    shape = RBF(scales) if kernel.startswith("se") else Matern(scales, nu=1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        if method == "exact":
            model = GaussianProcessRegressor(ConstantKernel() * shape + WhiteKernel()).fit(x, y)
        else:
            model = GaussianProcessClassifier(ConstantKernel() * shape).fit(x, y)
        seconds = time.process_time() - start
    return {"seconds": seconds, "objective": float(model.log_marginal_likelihood_value_)}


def has_sklearn(case):
    _, table, _, _, method = case
    return method == "exact" or (method == "laplace" and table[3] == "bernoulli-logit")


def run(arguments, data):
    done = load(arguments.runs)
    for case in cases(arguments.only):
        name = case[0]
        if not (data / case[1][1]).exists():
            continue
        record = done.get(name, {})
        if "own" not in record:
            record["own"] = own_fit(arguments.tool, data, case, arguments.limit)
        if arguments.restarts and "restarts" not in record:
            record["restarts"] = fit(arguments.tool, data, case, ["--restarts", str(arguments.restarts), "--set",
                                                                  "learn.standard_errors=no"], 12 * arguments.limit)
        if arguments.sklearn and has_sklearn(case) and "sklearn" not in record:
            record["sklearn"] = sklearn_fit(data, case)
        with open(arguments.runs, "a", encoding="utf-8") as file:
            file.write(json.dumps({"name": name, **record}) + "\n")
        own = record["own"]
        behind = record.get("restarts", own).get("best", float("nan")) - own.get("objective", float("nan"))
        print(f"{name:44} exit {own['exit']} {own.get('evaluations', 0):4} evaluations ({own.get('curvature', 0)} curv, "
              f"{own.get('failed', 0)} failed) {own.get('seconds', 0):7.2f} s {own.get('objective', 0):12.4f} "
              f"behind {behind:8.4f}"
              + (f" sklearn {record['sklearn']['objective']:.4f} {record['sklearn']['seconds']:.2f} s"
                 if "sklearn" in record else ""), flush=True)


def load(path):
    records = {}
    if pathlib.Path(path).exists():
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            records[record.pop("name")] = record
    return records


def restarts_of(record):
    """How many further starts a record has."""
    return len(record.get("restarts", {}).get("starts", [])) - 1


def fewer(record):
    count = restarts_of(record)
    return "" if count >= 10 else f" ({count})"


def misses(behind):
    """A line for every table with runs that end below what restarts found."""
    tables = {}
    for name, gap in behind.items():
        tables.setdefault(name.split(" ")[0], []).append(gap)
    for table, gaps in tables.items():
        far = [gap for gap in gaps if gap > 0.01]
        if far:
            yield f"- {table}: {len(far)} of {len(gaps)}, at most {max(far):.2g}"


def page(records, note):
    """The Markdown page of all runs."""
    cases_of = {name: name.rsplit(" ", 3) for name in records}
    own = {name: record["own"] for name, record in records.items()}
    behind = {name: record["restarts"]["best"] - own[name]["objective"] for name, record in records.items()
              if "best" in record.get("restarts", {}) and "objective" in own[name]}
    lines = ["# Learning on real tables", "",
             "Made by `bench/learning_tables.py`, one thread. *Behind* is how far learning from its own start ends below the best",
             "of ten restarts, or of as many as stand in brackets. scikit-learn fits the same model with its own optimiser and",
             "starts (`ConstantKernel * RBF + WhiteKernel`, or `GaussianProcessClassifier`).", ""]
    if note:
        lines += [note, ""]
    every = [case[0] for case in cases(".")]
    if len(records) < len(every):
        absent = {}
        for name in every:
            if name not in records:
                table, _, kernel, method = name.split(" ")
                kind = "one a feature" if kernel.endswith("-ard") else "one length-scale"
                absent.setdefault((kind, method), {}).setdefault(table)
        lines += [f"This page holds {len(records)} of {len(every)} cases; those left out are mostly the dear ones, so its "
                  "shares speak for", "those alone. Not run, or not in full:", ""]
        lines += [f"- {kind}, `{method}`: {', '.join(tables)}" for (kind, method), tables in sorted(absent.items())]
        lines += [""]
    lines += ["| runs | number | exit 0 | median evaluations | within 0.01 of the best of the restarts |", "| --- | --- | --- | --- | --- |"]
    for title, wanted in (("one length-scale", False), ("one a feature", True)):
        names = [n for n in own if cases_of[n][2].endswith("-ard") == wanted]
        if not names:
            continue
        compared = [n for n in names if n in behind]
        lines.append(f"| {title} | {len(names)} | {sum(own[n]['exit'] == 0 for n in names)} | "
                     f"{statistics.median(own[n].get('evaluations', 1e9) for n in names):g} | "
                     f"{sum(behind[n] <= 0.01 for n in compared)} of {len(compared)} |")
    ratios = [own[n]["seconds"] / own[n.replace(" ep", " laplace")]["seconds"] for n in own if n.endswith(" ep")
              and n.replace(" ep", " laplace") in own and own[n].get("seconds") and
              own[n.replace(" ep", " laplace")].get("seconds")]
    lines += ["", f"Over all of them the median is {statistics.median(r.get('evaluations', 1e9) for r in own.values()):g} "
              f"evaluations. {sum(gap <= 0.01 for gap in behind.values())} of {len(behind)} are within 0.01 of the best of their "
              "restarts."]
    few = sum(restarts_of(records[name]) < 10 for name in behind)
    if few:
        lines[-1] += f" In {few} the restarts are fewer than ten."
    if any(gap > 0.01 for gap in behind.values()):
        lines += ["", "Further behind:", "", *misses(behind)]
    if ratios:
        lines += ["", f"Time of `ep` over that of `laplace`: median {statistics.median(ratios):.2g}, largest {max(ratios):.2g}."]
    theirs = {n: r["sklearn"] for n, r in records.items() if "sklearn" in r and "objective" in r["own"]}
    if theirs:
        faster = statistics.median(theirs[n]["seconds"] / max(own[n]["seconds"], 1e-4) for n in theirs)
        below = [n for n in theirs if own[n]["objective"] < theirs[n]["objective"] - 0.01]
        lines += ["", f"Beside scikit-learn, {len(theirs)} runs: {faster:.3g} times faster in the median, "
                  f"behind in value by more than 0.01 in {len(below)}."]
    lines += ["", "| table | kernel | method | evaluations | seconds | objective | behind | scikit-learn | its seconds |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, run_ in own.items():
        table, scaling, kernel, method = cases_of[name]
        other = theirs.get(name)
        failed = "" if run_["exit"] == 0 else f" (exit {run_['exit']})"
        lines.append(f"| {table}, {scaling} | {kernel} | {method} | {run_.get('evaluations', '')}{failed} | "
                     f"{run_.get('seconds', float('nan')):.3f} | {run_.get('objective', float('nan')):.3f} | "
                     + (f"{max(behind[name], 0.0):.3f}" + fewer(records[name]) if name in behind else "") + " | "
                     + (f"{other['objective']:.3f} | {other['seconds']:.2f} |" if other else " | |"))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--tool", default="build/bin/gaussmith")
    parser.add_argument("--runs", default="learning_runs.jsonl", help="file that runs are appended to")
    parser.add_argument("--only", default=".", help="regular expression over the names of cases")
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one run")
    parser.add_argument("--sklearn", action="store_true")
    parser.add_argument("--page", help="write the page here")
    parser.add_argument("--note", default="", help="a sentence for the page on how its runs were made")
    arguments = parser.parse_args()
    run(arguments, arguments.data)
    if arguments.page:
        pathlib.Path(arguments.page).write_text(page(load(arguments.runs), arguments.note), encoding="utf-8")


if __name__ == "__main__":
    main()
