#!/usr/bin/env python3
"""What two threads cost or gain against one, idle and beside busy processes: whole fits with the tool.

  bench/busy_threads.py --tool build/bin/gaussmith [--other OLD] [--busy 2] [--rounds 5] [--sizes 200,500,1000,2000]

Each round times every case in turn; the table shows the ratio of the best times and of the medians of two threads to
one, and with --other also those of this tool to the other one at the same number of threads.
"""

import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time


def write_table(path, rows, inputs=10):
    draw = random.Random(rows)
    with open(path, "w", encoding="utf-8") as out:
        out.write(",".join(f"x{i}" for i in range(inputs)) + ",y\n")
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(inputs)]
            label = 1 if x[0] - 0.5 * x[1] * x[2] + 0.5 * draw.gauss(0, 1) > 0 else -1
            out.write(",".join(f"{v:.6f}" for v in x) + f",{label}\n")


def seconds(command):
    """Of the whole command."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    elapsed = time.perf_counter() - start
    # 2: learning reached its largest number of evaluations.
    if done.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}, {done.stderr}")
    return elapsed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/bin/gaussmith")
    parser.add_argument("--other", help="a second build to compare with")
    parser.add_argument("--busy", type=int, default=2, help="endless loops that run beside (default 2)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default="200,500,1000,2000")
    parser.add_argument("--learn-to", type=int, default=1000, help="largest size that is also learned")
    parser.add_argument("--method", default="laplace")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    tools = [tool for tool in (arguments.tool, arguments.other) if tool]
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(arguments.busy)]
    results = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for rows in (int(size) for size in arguments.sizes.split(",")):
                table = f"{folder}/{rows}.csv"
                write_table(table, rows)
                fit = ["fit", "--data", table, "--target", "y", "--likelihood", "bernoulli-logit", "--kernel", "se",
                       "--set", "kernel.lengthscale=3", "--method", arguments.method]
                cases = [("fit", fit)]
                if rows <= arguments.learn_to:
                    cases.append(("learn", [*fit, "--learn", "--set", "learn.max_evaluations=40"]))
                for name, command in cases:
                    times = {(tool, threads): [] for tool in tools for threads in (1, 2)}
                    for _ in range(arguments.rounds):
                        for (tool, threads), found in times.items():
                            found.append(seconds([tool, *command, "--threads", str(threads)]))
                    row = {"rows": rows, "case": name, "seconds": min(times[tools[0], 1])}
                    for which, summary in (("best", min), ("median", statistics.median)):
                        row[f"two/one {which}"] = summary(times[tools[0], 2]) / summary(times[tools[0], 1])
                        if arguments.other:
                            row[f"other two/one {which}"] = summary(times[tools[1], 2]) / summary(times[tools[1], 1])
                            for threads in (1, 2):
                                row[f"this/other {threads} {which}"] = (summary(times[tools[0], threads]) /
                                                                        summary(times[tools[1], threads]))
                    results.append(row)
                    if not arguments.json:
                        print("  ".join(f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                                        for key, value in row.items()), flush=True)
    finally:
        for process in busy:
            process.kill()
    if arguments.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
