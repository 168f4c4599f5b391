#!/usr/bin/env python3
"""Learning curves of active classification beside Figure 2 of Nickisch and Seeger, "Convex variational Bayesian
inference for large scale generalized linear models" (ICML 2009); docs/reproduce/active.md discusses the result.

  reproduce/active_curves.py TABLE.svm[.gz] --name a9a --work DIR [--output docs/reproduce]

For every seed the rows of TABLE are divided at random into a pool and a test, and `gaussmith design active` runs once
for each score; random goes on until all labels of the pool are used. Prints Markdown tables, and writes NAME_active.svg
to the output folder and the mean curves, curves.csv, to DIR. Runs that are in DIR already are not repeated, and one
that was killed goes on from its state.
"""

import argparse
import csv
import gzip
import pathlib
import random
import subprocess
import sys

SCORES = ("uncertainty", "information-gain", "random")
COLOURS = {"uncertainty": "#0b6e4f", "information-gain": "#b5651d", "random": "#4a5a8a"}
LEVELS = (0.003, 0.002, 0.001, 0.0005, 0.0)  # Above the error of all labels.
STEP = 30  # Labels between points of mean curves.
RESAMPLES = 400


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
    parser.add_argument("--random-block", type=int, default=150, help="of random, where blocks choose nothing")
    parser.add_argument("--lanczos", type=int, default=80)
    parser.add_argument("--labels", type=int, default=3500, help="of uncertainty and information gain")
    parser.add_argument("--shown", type=int, default=9000, help="labels to which the plot goes")
    parser.add_argument("--seeds", type=int, default=16)
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
    """The curve of one run, [(labels, error, seconds)]."""
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
                   "--labels", options.pool if chance else options.labels, "--lanczos", options.lanczos,
                   "--every", STEP,
                   "--prior", name, "--prior-variance" if name == "gaussian" else "--prior-scale", number,
                   "--seed", seed, "--threads", 1, "--curve", f"{stem}.csv", "--state", f"{stem}.state", "--json"]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 2) or not done.stdout:
            sys.exit(f"{' '.join(str(word) for word in command)} ended with code {done.returncode}")
        result.write_text(done.stdout)
    with open(f"{stem}.csv", newline="") as file:
        return [(int(row["labels"]), float(row["test_error"]), float(row["seconds"])) for row in csv.DictReader(file)]


def on_grid(curve):
    """{labels: error} every STEP labels and at the end, on the lines between the points of a curve."""
    out, k = {}, 0
    for labels in range(curve[0][0], curve[-1][0] + 1, STEP):
        while curve[k + 1][0] < labels:
            k += 1
        (a, low, _), (b, high, _) = curve[k], curve[k + 1]
        out[labels] = low + (high - low) * (labels - a) / (b - a)
    out[curve[-1][0]] = curve[-1][1]
    return out


def average(grids):
    """Mean and standard error over the seeds, [(labels, mean, error)], as far as all curves go."""
    out = []
    for labels in sorted(set.intersection(*(set(grid) for grid in grids))):
        errors = [grid[labels] for grid in grids]
        mean = sum(errors) / len(errors)
        spread = sum((e - mean) ** 2 for e in errors) / max(1, len(errors) - 1)
        out.append((labels, mean, (spread / len(errors)) ** 0.5))
    return out


def arrivals(curve, level, window=3):
    """Where the mean of a few neighbouring points of a mean curve is at the level or below, first and from then on."""
    below = [sum(mean for _, mean, _ in curve[i:i + window]) / window <= level for i in range(len(curve) - window + 1)]
    if True not in below:
        return None, None
    last_above = len(below) - 1 - below[::-1].index(False) if False in below else -1
    stays = curve[last_above + 1 + window // 2][0] if last_above + 1 < len(below) else None
    return curve[below.index(True) + window // 2][0], stays


def shares(some, chance):
    """Of labels, uncertainty beside random, for both ways to arrive; None where one of them does not."""
    return [a / b if a and b else None for a, b in zip(some, chance)]


def full_error(grids, seeds):
    """What all labels lead to on the divisions of these seeds."""
    return sum(list(grids["random"][seed].values())[-1] for seed in seeds) / len(seeds)


def share_ranges(grids, level):
    """Between which the middle nine tenths of the shares are when seeds are drawn anew, for both ways to arrive."""
    seeds = sorted(set(grids["uncertainty"]) & set(grids["random"]))
    draws = random.Random(1)
    found = ([], [])
    for _ in range(RESAMPLES):
        drawn = draws.choices(seeds, k=len(seeds))
        some, chance = (arrivals(average([grids[score][seed] for seed in drawn]), full_error(grids, drawn) + level)
                        for score in ("uncertainty", "random"))
        for kept, share in zip(found, shares(some, chance)):
            kept.append(share if share is not None else float("inf"))
    middle = []
    for kept in found:
        kept.sort()
        middle.append((kept[len(kept) // 20], kept[-1 - len(kept) // 20]))
    return middle


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


def percent(share):
    return f"{100 * share:.0f} %" if share is not None and share < float("inf") else "–"


def report(options, prior):
    """Runs one prior, prints its tables and returns its panel."""
    grids, seconds = {}, {}
    for score in options.scores:
        runs = {seed: run(options, prior, score, seed) for seed in range(1, options.seeds + 1)}
        runs = {seed: curve for seed, curve in runs.items() if curve}
        if runs:
            grids[score] = {seed: on_grid(curve) for seed, curve in runs.items()}
            seconds[score] = sum(curve[-1][2] for curve in runs.values()) / len(runs)
    if "random" not in grids:
        sys.exit(f"{prior}: a run with the score random is needed, which also uses all labels")
    # A score is judged by the divisions that it was run on, where those are not all.
    grids = {score: {seed: grid for seed, grid in of_seeds.items() if seed in grids["random"]}
             for score, of_seeds in grids.items()}
    curves = {score: average(list(of_seeds.values())) for score, of_seeds in grids.items()}
    full = {score: full_error(grids, of_seeds) for score, of_seeds in grids.items()}
    print(f"\n## {title_of(options, prior)}\n\nAll {options.pool} labels: {100 * full['random']:.2f} %, "
          f"mean of {len(grids['random'])} divisions of the rows.\n")
    columns = [n for n in (200, 400, 700, 1000, 1500, 2000, 3000, 4500, 6000, 9000, 12000) if n <= options.pool]
    print("| error in percent at | " + " | ".join(map(str, columns)) + " | seeds | seconds |")
    print("| --- |" + " --- |" * (len(columns) + 2))
    for score, curve in curves.items():
        cells = []
        for labels in columns:
            near = min(curve, key=lambda point, labels=labels: abs(point[0] - labels))
            cells.append(f"{100 * near[1]:.2f} ± {100 * near[2]:.2f}" if abs(near[0] - labels) <= STEP else "")
        print(f"| {score} | " + " | ".join(cells) + f" | {len(grids[score])} | {seconds[score]:.0f} |")
    print("\nLabels until the mean curve is first at the error / from which on it stays there; "
          "shares with their range over seeds drawn anew.\n")
    print("| error wanted | " + " | ".join(curves) + " | uncertainty / random, first | for good |")
    print("| --- |" + " --- |" * (len(curves) + 2))
    for level in LEVELS:
        found = {score: arrivals(curve, full[score] + level) for score, curve in curves.items()}
        cells = [" / ".join(str(labels or "–") for labels in found[score]) for score in curves]
        if "uncertainty" in found:
            ranges = share_ranges(grids, level)
            cells += [f"{percent(share)} ({percent(low)} to {percent(high)})"
                      for share, (low, high) in zip(shares(found["uncertainty"], found["random"]), ranges)]
        print(f"| {100 * (full['random'] + level):.2f} (all labels + {100 * level:.2f}) | " + " | ".join(cells) + " |")
    shown = {score: [point for point in curve if point[0] <= options.shown] for score, curve in curves.items()}
    return title_of(options, prior), full["random"], shown


def main():
    options = read_arguments()
    options.work.mkdir(parents=True, exist_ok=True)
    variances = f"{options.lanczos} Lanczos vectors" if options.lanczos else "exact variances"
    print(f"{options.name}: pool {options.pool}, initial {options.initial}, blocks of {options.block}, "
          f"{variances}, seeds 1 to {options.seeds}.")
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
