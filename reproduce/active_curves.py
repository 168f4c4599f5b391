#!/usr/bin/env python3
"""Learning curves of active classification beside Figure 2 of Nickisch and Seeger, "Convex variational Bayesian
inference for large scale generalized linear models" (ICML 2009); docs/reproduce/active.md discusses the result.

  reproduce/active_curves.py TABLE.svm[.gz] --name a9a --work DIR [--output docs/reproduce]

For every seed the rows of TABLE are divided at random into a pool and a test, `gaussmith design active` runs once for
each score, and once all labels of the pool are used. Prints Markdown tables, and writes NAME_active.svg to the output
folder and the mean curves, curves.csv, to DIR. Runs that are in DIR already are not repeated, and one that was killed
goes on from its state.
"""

import argparse
import csv
import gzip
import json
import pathlib
import random
import subprocess
import sys

SCORES = ("uncertainty", "information-gain", "random")
COLOURS = {"uncertainty": "#0b6e4f", "information-gain": "#b5651d", "random": "#4a5a8a"}
LEVELS = (0.003, 0.001, 0.0)  # Above the error of all labels.


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("table", help="LIBSVM table, plain or gzip")
    parser.add_argument("--name", required=True, help="of the data, for titles and files")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="folder of the runs")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/reproduce"))
    parser.add_argument("--gaussmith", default="build/bin/gaussmith")
    parser.add_argument("--pool", type=int, default=16000, help="rows of the pool; the others are the test")
    parser.add_argument("--initial", type=int, default=100)
    parser.add_argument("--block", type=int, default=3)
    parser.add_argument("--random-block", type=int, default=30, help="of random, where blocks choose nothing")
    parser.add_argument("--lanczos", type=int, default=80)
    parser.add_argument("--labels", type=int, default=3000)
    parser.add_argument("--random-labels", type=int, default=6000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--priors", nargs="+", default=["gaussian=1", "laplace=1"], metavar="NAME=NUMBER",
                        help="gaussian=VARIANCE or laplace=SCALE")
    parser.add_argument("--scores", nargs="+", default=list(SCORES), choices=SCORES)
    parser.add_argument("--only-done", action="store_true", help="tables and plot of finished runs, no new ones")
    return parser.parse_args()


def divide(options, seed):
    """The pool and the test of a seed, written once."""
    pool, test = (options.work / f"{part}_{seed}.svm" for part in ("pool", "test"))
    if not (pool.exists() and test.exists()):
        opener = gzip.open if options.table.endswith(".gz") else open
        with opener(options.table, "rt") as table:
            rows = [line for line in table if line.strip()]
        if options.pool >= len(rows):
            sys.exit(f"--pool {options.pool}: the table has {len(rows)} rows, and some must be left for the test")
        random.Random(seed).shuffle(rows)
        pool.write_text("".join(rows[:options.pool]))
        test.write_text("".join(rows[options.pool:]))
    return pool, test


def run(options, prior, score, seed):
    """The curve of one run, [(labels, error, seconds)], and what all labels lead to where that was asked for."""
    name, number = prior.split("=")
    stem = options.work / f"{name}_{number}_{score}_{seed}"
    result = stem.with_name(stem.name + ".json")
    if not result.exists() and options.only_done:
        return None
    if not result.exists():
        pool, test = divide(options, seed)
        chance = score == "random"
        command = [options.gaussmith, "design", "active", "--train", pool, "--test", test, "--score", score,
                   "--initial", options.initial, "--block", options.random_block if chance else options.block,
                   "--labels", options.random_labels if chance else options.labels, "--lanczos", options.lanczos,
                   "--prior", name, "--prior-variance" if name == "gaussian" else "--prior-scale", number,
                   "--seed", seed, "--threads", 1, "--curve", f"{stem}.csv", "--state", f"{stem}.state", "--json"]
        if chance:
            command.append("--reference")
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 2) or not done.stdout:
            sys.exit(f"{' '.join(str(word) for word in command)} ended with code {done.returncode}")
        result.write_text(done.stdout)
    with open(f"{stem}.csv", newline="") as file:
        curve = [(int(row["labels"]), float(row["test_error"]), float(row["seconds"])) for row in csv.DictReader(file)]
    reference = json.loads(result.read_text()).get("reference")
    return curve, reference


def at(curve, labels):
    """The error on the line between two points of a curve."""
    for (a, low, _), (b, high, _) in zip(curve, curve[1:]):
        if a <= labels <= b:
            return low + (high - low) * (labels - a) / (b - a)
    return curve[-1][1] if labels == curve[-1][0] else None


def average(curves, step):
    """Mean and standard error of the error over the seeds, every `step` labels."""
    first, last = max(c[0][0] for c in curves), min(c[-1][0] for c in curves)
    out = []
    for labels in range(first, last + 1, step):
        errors = [at(curve, labels) for curve in curves]
        mean = sum(errors) / len(errors)
        spread = sum((e - mean) ** 2 for e in errors) / max(1, len(errors) - 1)
        out.append((labels, mean, (spread / len(errors)) ** 0.5))
    return out


def arrival(curve, level, window=3):
    """Where the mean curve is first at the level or below, in the mean of a few neighbouring points."""
    for i in range(len(curve) - window + 1):
        if sum(mean for _, mean, _ in curve[i:i + window]) / window <= level:
            return curve[i + window // 2][0]
    return None


def svg(panels, width=460, height=320):
    """Panels side by side, each a title, the error of all labels, and {score: averaged curve}."""
    margin = {"left": 52, "right": 12, "top": 34, "bottom": 40}
    most = max(curve[-1][0] for _, _, curves in panels for curve in curves.values())
    errors = [mean for _, _, curves in panels for curve in curves.values() for _, mean, _ in curve]
    low = 100 * min(errors + [full for _, full, _ in panels]) - 0.15
    high = min(100 * max(errors), low + 4.5)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width * len(panels)} {height}" '
           f'width="{width * len(panels)}" height="{height}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for index, (title, full, curves) in enumerate(panels):
        left, right = index * width + margin["left"], (index + 1) * width - margin["right"]
        top, bottom = margin["top"], height - margin["bottom"]

        def x(labels, left=left, right=right):
            return left + (right - left) * labels / most

        def y(error):
            return bottom - (bottom - top) * (min(100 * error, high) - low) / (high - low)

        out.append(f'<text x="{(left + right) / 2:.0f}" y="20" text-anchor="middle" font-size="14">{title}</text>')
        for tick in range(0, most + 1, 1000 if most > 3000 else 500):
            out.append(f'<line x1="{x(tick):.1f}" y1="{bottom}" x2="{x(tick):.1f}" y2="{bottom + 4}" stroke="black"/>'
                       f'<text x="{x(tick):.1f}" y="{bottom + 17}" text-anchor="middle">{tick}</text>')
        tick = int(low) + 1
        while tick <= high:
            at_tick = y(tick / 100)
            out.append(f'<line x1="{left}" y1="{at_tick:.1f}" x2="{right}" y2="{at_tick:.1f}" stroke="#ddd"/>'
                       f'<text x="{left - 6}" y="{at_tick + 4:.1f}" text-anchor="end">{tick} %</text>')
            tick += 1
        out.append(f'<text x="{(left + right) / 2:.0f}" y="{height - 8}" text-anchor="middle">labels</text>')
        out.append(f'<line x1="{left}" y1="{y(full):.1f}" x2="{right}" y2="{y(full):.1f}" stroke="black" '
                   'stroke-dasharray="5 4"/>')
        for score, curve in curves.items():
            path = " ".join(f"{x(labels):.1f},{y(mean):.1f}" for labels, mean, _ in curve)
            out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[score]}" stroke-width="1.6"/>')
        out.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="black"/>')
        for i, score in enumerate([*curves, "all labels"]):
            line = top + 12 + 16 * i
            colour = COLOURS.get(score, "black")
            dash = ' stroke-dasharray="5 4"' if score == "all labels" else ""
            out.append(f'<line x1="{right - 138}" y1="{line - 4}" x2="{right - 112}" y2="{line - 4}" stroke="{colour}" '
                       f'stroke-width="2"{dash}/><text x="{right - 106}" y="{line}">{score}</text>')
    return "\n".join([*out, "</svg>", ""])


def title_of(options, prior):
    name, number = prior.split("=")
    return f"{options.name}, {name} prior, {'variance' if name == 'gaussian' else 'scale'} {number}"


def report(options, prior):
    """Runs one prior, prints its tables and returns its panel."""
    curves, full, seconds, counts = {}, [], {}, {}
    for score in options.scores:
        runs = [done for done in (run(options, prior, score, seed) for seed in range(1, options.seeds + 1)) if done]
        if not runs:
            continue
        counts[score] = len(runs)
        curves[score] = average([curve for curve, _ in runs], options.random_block)
        seconds[score] = sum(curve[-1][2] for curve, _ in runs) / len(runs)
        full += [reference["test_error"] for _, reference in runs if reference]
    if not full:
        sys.exit(f"{prior}: a run with the score random is needed, which also uses all labels")
    all_labels = sum(full) / len(full)
    print(f"\n## {title_of(options, prior)}\n\nAll {options.pool} labels: {100 * all_labels:.2f} %, "
          f"mean of {len(full)} divisions of the rows.\n")
    columns = [n for n in (200, 400, 700, 1000, 1500, 2000, 3000, 4500, 6000) if n <= options.random_labels]
    print("| error in percent at | " + " | ".join(map(str, columns)) + " | seeds | seconds |")
    print("| --- |" + " --- |" * (len(columns) + 2))
    for score, curve in curves.items():
        cells = []
        for labels in columns:
            near = min(curve, key=lambda point, labels=labels: abs(point[0] - labels))
            cells.append(f"{100 * near[1]:.2f} ± {100 * near[2]:.2f}" if abs(near[0] - labels) <= 30 else "")
        print(f"| {score} | " + " | ".join(cells) + f" | {counts[score]} | {seconds[score]:.0f} |")
    print("\n| error wanted | " + " | ".join(curves) + " | uncertainty / random |")
    print("| --- |" + " --- |" * (len(curves) + 1))
    for level in LEVELS:
        found = {score: arrival(curve, all_labels + level) for score, curve in curves.items()}
        cells = [str(found[score]) if found[score] else f"more than {curve[-1][0]}" for score, curve in curves.items()]
        some, chance = found.get("uncertainty"), found.get("random")
        share = f"{100 * some / chance:.0f} %" if some and chance else \
            f"under {100 * some / curves['random'][-1][0]:.0f} %" if some and "random" in curves else ""
        print(f"| {100 * (all_labels + level):.2f} (all labels + {100 * level:.1f}) | " + " | ".join(cells) +
              f" | {share} |")
    return title_of(options, prior), all_labels, curves


def main():
    options = read_arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"{options.name}: pool {options.pool}, initial {options.initial}, blocks of {options.block}, "
          f"{options.lanczos} Lanczos vectors, seeds 1 to {options.seeds}.")
    panels = [report(options, prior) for prior in options.priors]
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / f"{options.name}_active.svg").write_text(svg(panels))
    with open(options.work / "curves.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "score", "labels", "test_error", "standard_error"])
        for title, _, curves in panels:
            for score, curve in curves.items():
                writer.writerows([title, score, labels, f"{mean:.6f}", f"{error:.6f}"] for labels, mean, error in curve)


if __name__ == "__main__":
    main()
