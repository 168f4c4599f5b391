"""Signals at random moments of every command: the tool ends within a second, with a stated code, and leaves no litter.

GAUSSMITH_SIGNALS is how many signals to send; scripts/long_checks.sh sends many.
"""

import json
import os
import random
import signal
import subprocess
import time
import unittest

from tool import TOOL, ToolTest, class_table, problem, regression_table

SIGNALS = int(os.environ.get("GAUSSMITH_SIGNALS", "12"))
# Sanitizers slow down what happens between the signal and the end.
PATIENCE = 10.0 if os.environ.get("GAUSSMITH_SANITIZE") else 1.0

FIT = ("fit", "--data", "classes.csv", "--target", "y", "--save", "out.gsm", "--likelihood", "bernoulli-logit")
COMMANDS = (
    FIT,
    (*FIT, "--method", "ep", "--set", "ep.mode=sequential", "--json"),
    (*FIT, "--method", "kl", "--kernel", "matern32-ard"),
    (*FIT, "--method", "kl", "--kernel", "matern12", "--set", "kl.covariance=chevron:10"),
    (*FIT, "--prior", "isotropic", "--method", "kl", "--json"),
    (*FIT, "--kernel", "se-ard", "--learn", "--restarts", "50"),
    ("fit", "--data", "long.csv", "--target", "y", "--likelihood", "gaussian", "--prior", "isotropic", "--save", "out.gsm"),
    ("fit", "--data", "curve.csv", "--target", "y", "--likelihood", "gaussian", "--save", "out.gsm", "--loo"),
    ("predict", "--model", "model.gsm", "--data", "long.csv", "--output", "out.csv", "--quantiles", "0.1,0.9"),
    ("predict", "--model", "model.gsm", "--data", "long.csv", "--samples", "20", "--json"),
    ("evaluate", "--model", "model.gsm", "--data", "long.csv"),
    ("fit", "--problem", "problem.json", "--save", "out.gsm", "--method", "ep"),
    ("likelihoods", "--json"),
)


class Signals(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("classes.csv", class_table(rows=2000))
        self.write("curve.csv", regression_table(rows=1500))
        self.write("long.csv", regression_table(rows=200000))
        self.write("short.csv", regression_table(rows=60))
        self.write("problem.json", problem())
        self.succeed("fit", "--data", "short.csv", "--target", "y", "--likelihood", "gaussian", "--save", "model.gsm")
        self.inputs = sorted(os.listdir(self.home.name))

    def send(self, command, number, delay):
        running = subprocess.Popen([os.path.abspath(TOOL), *command], cwd=self.home.name, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            done = running.communicate(timeout=delay)
            seconds = 0.0
        except subprocess.TimeoutExpired:
            running.send_signal(number)
            start = time.monotonic()
            done = running.communicate(timeout=60)
            seconds = time.monotonic() - start
        return running.returncode, done[0], done[1], seconds

    def check_end(self, command, code, out, errors, number):
        """Before its handlers stand, the first milliseconds of a process, a signal ends it as it ends any."""
        left = sorted(set(os.listdir(self.home.name)) - set(self.inputs))
        if code == 0:
            if "--json" in command:
                json.loads(out)
            wanted = [name for name in ("out.gsm", "out.csv") if name in command]
            self.assertEqual(left, wanted)
            if wanted == ["out.gsm"]:
                header, content = self.read("out.gsm").split(b"\n", 1)
                self.assertEqual(int(header.split()[2]), len(content))
            if wanted == ["out.csv"]:
                self.assertEqual(self.read("out.csv").count(b"\n"), 200001)
        elif code == 2:
            self.assertEqual(errors.splitlines()[-1].split(";")[0].split(" while")[0], "gaussmith: error: interrupted")
            if errors.endswith("nothing was written\n"):
                self.assertEqual((left, out, len(errors.splitlines())), ([], "", 1))
        else:
            self.assertEqual((code, left, out, errors), (-number, [], "", ""))
        self.assertTrue(all(name.startswith("out.") for name in left), left)
        for name in left:
            os.remove(self.path(name))

    def test_random_moments(self):
        draw = random.Random(SIGNALS)
        slowest, codes = 0.0, {}
        for trial in range(SIGNALS):
            command = COMMANDS[trial % len(COMMANDS)]
            number = draw.choice((signal.SIGINT, signal.SIGTERM))
            delay = 0.02 + draw.choice((0.1, 0.3, 1.0)) * draw.random()
            code, out, errors, seconds = self.send(command, number, delay)
            with self.subTest(command=" ".join(command), signal=number.name, delay=delay):
                self.check_end(command, code, out, errors, number)
                self.assertLess(seconds, PATIENCE)
            slowest = max(slowest, seconds)
            codes[code] = codes.get(code, 0) + 1
        print(f"{SIGNALS} signals: slowest end {slowest:.2f} s, exit codes {codes}")

    def test_kill_leaves_nothing(self):
        draw = random.Random(SIGNALS)
        for trial in range(max(4, SIGNALS // 10)):
            self.send(COMMANDS[8], signal.SIGKILL, 0.02 + 1.5 * draw.random())
            left = set(os.listdir(self.home.name)) - set(self.inputs)
            self.assertLessEqual(left, {"out.csv"})
            if left:
                self.assertEqual(self.read("out.csv").count(b"\n"), 200001)

    def test_second_signal_ends_at_once(self):
        running = subprocess.Popen([os.path.abspath(TOOL), *COMMANDS[3]], cwd=self.home.name, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        running.send_signal(signal.SIGTERM)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=60)
        self.check_end(COMMANDS[3], running.returncode, out, errors, signal.SIGINT)


if __name__ == "__main__":
    unittest.main()
