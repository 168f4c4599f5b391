"""What the tests of the command-line tool share: running it in an empty directory, small tables and problems."""

import json
import math
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

TOOL = os.environ.get("GAUSSMITH_TOOL", "build/bin/gaussmith")


def normal_cdf(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


class ToolTest(unittest.TestCase):
    """Each test runs in a directory of its own."""

    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)

    def path(self, name):
        return os.path.join(self.home.name, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as out:
            out.write(content if isinstance(content, bytes) else content.encode())
        return name

    def read(self, name):
        with open(self.path(name), "rb") as source:
            return source.read()

    def run_tool(self, *arguments, **options):
        return subprocess.run([os.path.abspath(TOOL), *arguments], cwd=self.home.name, capture_output=True, text=True,
                              timeout=300, **options)

    def succeed(self, *arguments):
        done = self.run_tool(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def result(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json").stdout)

    def stamp(self, name):
        """Another one whenever this file grows or gives way to a new one."""
        try:
            found = os.stat(self.path(name))
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def kill_runs(self, arguments, curve, kills, seed=7):
        """Starts the command again and again, each time killed a few lines of its curve later, at a moment that the run's own
        progress sets, not a clock that a fast machine outruns. How many were killed in mid-run."""
        draw, killed = random.Random(seed), 0
        for _ in range(kills):
            running = subprocess.Popen([os.path.abspath(TOOL), *arguments], cwd=self.home.name, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            to_come, seen = draw.randint(1, 5), self.stamp(curve)
            while running.poll() is None and to_come > 0:
                now = self.stamp(curve)
                to_come -= now != seen
                seen = now
            time.sleep(draw.uniform(0.0, 0.002))
            running.send_signal(signal.SIGKILL)
            running.wait(timeout=60)
            killed += running.returncode == -signal.SIGKILL
            self.assertEqual([name for name in os.listdir(self.home.name) if name.endswith(".tmp")], [])
        return killed

    def refuse(self, *arguments, code=1, says=(), **options):
        """The tool must fail with this code, exactly one line on stderr, nothing on stdout and no new file."""
        before = sorted(os.listdir(self.home.name))
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("gaussmith: error: "), lines[0])
        for fragment in [says] if isinstance(says, str) else says:
            self.assertIn(fragment, lines[0])
        self.assertEqual(sorted(os.listdir(self.home.name)), before)
        return lines[0]


def class_table(rows=40, labels=("-1", "1"), seed=1):
    draw = random.Random(seed)
    lines = ["a,b,y"]
    for _ in range(rows):
        a, b = draw.gauss(0, 1), draw.gauss(0, 1)
        lines.append(f"{a:.6f},{b:.6f},{labels[int(a - 0.5 * b + 0.5 * draw.gauss(0, 1) > 0)]}")
    return "\n".join(lines) + "\n"


def regression_table(rows=40, seed=2):
    draw = random.Random(seed)
    lines = ["x,y"]
    for _ in range(rows):
        x = draw.uniform(-3, 3)
        lines.append(f"{x:.6f},{math.sin(x) + 0.1 * draw.gauss(0, 1):.6f}")
    return "\n".join(lines) + "\n"


def count_table(rows=40, seed=3):
    draw = random.Random(seed)
    lines = ["x,expected,deaths"]
    for _ in range(rows):
        x, exposure = draw.uniform(-2, 2), draw.uniform(0.5, 5)
        mean, count, left = exposure * math.exp(0.5 * x), 0, 1.0
        while (left := left * draw.random()) > math.exp(-mean):
            count += 1
        lines.append(f"{x:.6f},{exposure:.6f},{count}")
    return "\n".join(lines) + "\n"


PROBLEM = {
    "format": "gaussmith-problem/1",
    "prior": {"type": "gp", "inputs": [[-1.0], [0.0], [0.5], [2.0]], "kernel": {"type": "se", "signal_sd": 1.5,
                                                                             "lengthscale": 0.8}, "mean": 0.2},
    "design": {"type": "identity"},
    "sites": [{"type": "bernoulli-probit", "y": [-1, 1, 1, -1]}],
    "predict": {"inputs": [[-0.5], [1.0]], "y": [1, -1]},
}


def problem(**changes):
    return json.dumps({**PROBLEM, **changes})
