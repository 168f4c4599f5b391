#!/usr/bin/env python3
"""Draws what reproduce_solver_race wrote, the negative bound against processor seconds, a panel for every number of rows.

  reproduce/solver_race_plot.py curves.csv --log-s 4 --expectation quadrature --output docs/reproduce/solver_race_4.svg

Both axes are logarithmic: the vertical one is the distance from the lowest negative bound of all solvers.
"""

import argparse
import csv
import math
import pathlib

COLOURS = {"sites": "#0b6e4f", "decoupled": "#b5651d", "decoupled-printed": "#c9a227", "alpha-lambda": "#4a5a8a",
           "cholesky": "#8a2a4a"}
FLOOR = 1e-5  # Nats; nearer than this is drawn there.
WIDTH, HEIGHT = 330, 280
MARGIN = {"left": 48, "right": 10, "top": 30, "bottom": 40}


def read_curves(path, log_s, expectation):
    """{rows: {solver: [(seconds, negative bound)]}}"""
    curves = {}
    with open(path, newline="") as file:
        for line in csv.DictReader(file):
            if (line["log_s"], line["expectations"]) == (log_s, expectation):
                of_size = curves.setdefault(int(line["rows"]), {})
                of_size.setdefault(line["solver"], []).append((float(line["seconds"]), float(line["negative_bound"])))
    return curves


def panel(index, rows, curves):
    best = min(bound for curve in curves.values() for _, bound in curve)
    curves = {solver: [(max(1e-3, t), max(FLOOR, bound - best)) for t, bound in curve if math.isfinite(bound)]
              for solver, curve in curves.items()}
    times = [math.log10(t) for curve in curves.values() for t, _ in curve]
    first, last = math.floor(min(times)), math.ceil(max(times))
    low, high = math.log10(FLOOR), 5.0
    left, right = index * WIDTH + MARGIN["left"], (index + 1) * WIDTH - MARGIN["right"]
    top, bottom = MARGIN["top"], HEIGHT - MARGIN["bottom"]

    def x(seconds):
        return left + (right - left) * (math.log10(seconds) - first) / (last - first)

    def y(distance):
        return bottom - (bottom - top) * (min(high, math.log10(distance)) - low) / (high - low)

    out = [f'<text x="{(left + right) / 2:.0f}" y="18" text-anchor="middle" font-size="14">N = {rows}</text>']
    for power in range(first, last + 1):
        at = x(10.0**power)
        out.append(f'<line x1="{at:.1f}" y1="{bottom}" x2="{at:.1f}" y2="{bottom + 4}" stroke="black"/>'
                   f'<text x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{10.0**power:g}</text>')
    for power in range(int(low), int(high) + 1, 2):
        at = y(10.0**power)
        out.append(f'<line x1="{left}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 5}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    out.append(f'<text x="{(left + right) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">processor seconds</text>')
    for solver, curve in curves.items():
        points = [(x(t), y(distance)) for t, distance in curve]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[solver]}" stroke-width="1.4"/>')
        if len(points) < 60:
            out += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2" fill="{COLOURS[solver]}"/>' for a, b in points]
    out.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="black"/>')
    for i, solver in enumerate(curves):
        line = top + 10 + 15 * i
        out.append(f'<line x1="{right - 124}" y1="{line - 4}" x2="{right - 104}" y2="{line - 4}" '
                   f'stroke="{COLOURS[solver]}" stroke-width="2"/><text x="{right - 99}" y="{line}">{solver}</text>')
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("curves", help="table that reproduce_solver_race --curves wrote")
    parser.add_argument("--log-s", default="4")
    parser.add_argument("--expectation", default="quadrature", choices=("quadrature", "pieces"))
    parser.add_argument("--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    curves = read_curves(options.curves, options.log_s, options.expectation)
    if not curves:
        raise SystemExit(f"{options.curves} has no runs with log s = {options.log_s} and {options.expectation}")
    width = WIDTH * len(curves)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for index, rows in enumerate(sorted(curves)):
        out += panel(index, rows, curves[rows])
    options.output.write_text("\n".join([*out, "</svg>", ""]))


if __name__ == "__main__":
    main()
