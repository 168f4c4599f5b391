"""gaussmith design active: the curve, resuming after SIGKILL, and what it refuses."""

import csv
import json
import math
import os
import random
import signal
import struct
import subprocess
import time
import unittest

from tool import TOOL, ToolTest


def svm_table(rows, features=15, seed=4):
    draw = random.Random(seed)
    truth = random.Random(99)
    weights = [truth.gauss(0, 1.5) for _ in range(features)]
    lines = []
    for _ in range(rows):
        chosen = sorted(draw.sample(range(features), 5))
        values = [draw.gauss(0, 1) for _ in chosen]
        eta = sum(weights[j] * x for j, x in zip(chosen, values))
        label = "+1" if draw.random() < 1 / (1 + math.exp(-eta)) else "-1"
        lines.append(label + "".join(f" {j + 1}:{x:.5f}" for j, x in zip(chosen, values)))
    return "\n".join(lines) + "\n"


class Active(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("pool.svm", svm_table(300))
        self.write("test.svm", svm_table(400, seed=5))

    FILES = ("design", "active", "--train", "pool.svm", "--test", "test.svm")
    SHORT = (*FILES, "--initial", "20")
    RUN = (*SHORT, "--block", "3")

    def test_curve_has_a_row_for_each_fit(self):
        found = self.result(*self.RUN, "--labels", "60", "--curve", "curve.csv", "--selected", "order.csv", "--reference")
        rows = list(csv.reader(self.read("curve.csv").decode().splitlines()))
        self.assertEqual(rows[0], ["labels", "test_error", "test_log_loss", "seconds"])
        self.assertEqual([int(row[0]) for row in rows[1:]], [*range(20, 60, 3), 60])
        self.assertEqual(float(rows[-1][1]), found["test_error"])
        self.assertLess(float(rows[-1][2]), math.log(2))
        self.assertEqual(found["reference"]["labels"], 300)
        order = list(csv.DictReader(self.read("order.csv").decode().splitlines()))
        self.assertEqual([int(row["line"]) for row in order], [row + 1 for row in found["selected"]])
        truth = [line.split()[0] for line in self.read("pool.svm").decode().splitlines()]
        self.assertEqual([int(row["label"]) for row in order], [int(truth[row]) for row in found["selected"]])

    def test_error_and_loss_are_those_of_a_fit(self):
        """All rows of the pool bought: the same model as fit's, judged by evaluate."""
        found = self.result(*self.SHORT, "--labels", "300", "--block", "140", "--set", "vb.tolerance=1e-9")
        self.succeed("fit", "--data", "pool.svm", "--likelihood", "bernoulli-logit", "--prior", "isotropic", "--no-intercept",
                     "--set", "prior.variance=1", "--method", "vb", "--save", "m.gsm")
        judged = self.result("evaluate", "--model", "m.gsm", "--data", "test.svm")
        self.assertAlmostEqual(found["test_log_loss"], -judged["mean_log_predictive_density"], places=8)
        self.assertAlmostEqual(found["test_error"], judged["error_rate"], places=12)

    def test_single_precision_buys_the_rows_of_rounded_values(self):
        single = lambda x: repr(struct.unpack("f", struct.pack("f", float(x)))[0])
        for name in ("pool", "test"):
            lines = [line.split() for line in self.read(name + ".svm").decode().splitlines()]
            self.write(f"rounded_{name}.svm", "".join(" ".join([line[0], *(
                entry.split(":")[0] + ":" + single(entry.split(":")[1]) for entry in line[1:])]) + "\n" for line in lines))
        run = ("--initial", "20", "--block", "3", "--labels", "60")
        once = self.result(*self.FILES, *run, "--single")
        rounded = self.result("design", "active", "--train", "rounded_pool.svm", "--test", "rounded_test.svm", *run)
        self.assertEqual(once["selected"], rounded["selected"])
        self.assertAlmostEqual(once["test_log_loss"], rounded["test_log_loss"], places=9)

    def test_scores_differ_and_seeds_fix(self):
        chosen = {score: self.result(*self.RUN, "--labels", "40", "--score", score)["selected"]
                  for score in ("uncertainty", "information-gain", "random")}
        self.assertEqual(len({tuple(rows) for rows in chosen.values()}), 3)
        self.assertEqual(len({tuple(rows[:20]) for rows in chosen.values()}), 1)
        self.assertEqual(self.result(*self.RUN, "--labels", "40")["selected"], chosen["uncertainty"])
        self.assertNotEqual(self.result(*self.RUN, "--labels", "40", "--seed", "1")["selected"][:20],
                            chosen["random"][:20])

    def test_killed_it_goes_on_and_ends_the_same(self):
        command = (*self.SHORT, "--block", "1", "--labels", "280", "--prior", "laplace", "--threads", "1")
        whole = self.result(*command, "--curve", "whole.csv")
        resumed = (*command, "--state", "run.state", "--curve", "curve.csv", "--json")
        self.assertGreater(self.kill_runs(resumed, "curve.csv", 6), 0)
        ended = json.loads(self.succeed(*resumed).stdout)
        self.assertEqual(ended["selected"], whole["selected"])
        self.assertEqual(ended["test_log_loss"], whole["test_log_loss"])
        curves = [[row[:3] for row in csv.reader(self.read(name).decode().splitlines())]
                  for name in ("whole.csv", "curve.csv")]
        self.assertEqual(curves[0], curves[1])

    def test_a_signal_keeps_the_state(self):
        running = subprocess.Popen([os.path.abspath(TOOL), *self.SHORT, "--block", "1", "--labels", "300", "--prior", "laplace",
                                    "--state", "run.state"], cwd=self.home.name, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        while running.poll() is None and not os.path.exists(self.path("run.state")):
            time.sleep(0.001)
        time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=60)
        if running.returncode == 2:
            self.assertEqual(out, "")
            self.assertEqual(len(errors.splitlines()), 1, errors)
            self.assertIn("interrupted; the state file holds what was done", errors)
        else:
            self.assertEqual(running.returncode, 0, errors)

    def test_more_labels_go_on(self):
        self.succeed(*self.RUN, "--labels", "50", "--state", "run.state")
        self.assertEqual(self.result(*self.RUN, "--labels", "80", "--state", "run.state")["selected"],
                         self.result(*self.RUN, "--labels", "80")["selected"])
        self.refuse(*self.RUN, "--labels", "40", "--state", "run.state", says=("80", "labels"))

    def test_states_of_other_runs_are_refused(self):
        self.succeed(*self.RUN, "--labels", "40", "--state", "run.state")
        command = (*self.RUN, "--labels", "60", "--state", "run.state")
        for change, says in ((("--score", "random"), "score is uncertainty there and random here"),
                             (("--seed", "3"), "seed is 0 there and 3 here"),
                             (("--prior-variance", "2"), "prior"), (("--method", "kl"), "method"),
                             (("--lanczos", "9"), "lanczos")):
            self.refuse(*command, *change, says=("run.state: the state of another run", says))
        self.refuse(*self.SHORT, "--labels", "60", "--block", "4", "--state", "run.state", says="block is 3 there and 4")
        self.write("pool.svm", svm_table(300, seed=6))
        self.refuse(*command, says=("run.state", "checksum of the pool"))

    def test_damaged_states_are_refused(self):
        self.succeed(*self.RUN, "--labels", "40", "--state", "run.state")
        good = self.read("run.state")
        draw = random.Random(1)
        for _ in range(20):
            place = draw.randrange(len(good))
            self.write("run.state", good[:place] + bytes([good[place] ^ (1 << draw.randrange(7))]) + good[place + 1:])
            self.refuse(*self.RUN, "--labels", "60", "--state", "run.state", says="run.state")
        for text in (b"", b"nonsense\n", good[:-1], good + b" ", good[:20], good.replace(b"/1 ", b"/9 ", 1)):
            self.write("run.state", text)
            self.refuse(*self.RUN, "--labels", "60", "--state", "run.state", says="run.state")

    def test_bad_lines_have_numbers(self):
        lines = svm_table(30).splitlines()
        for bad, says in (("+1 3:1 2:1", "indices must increase"), ("+1 0:1", "count from 1"), ("+1 2:x", "finite"),
                          ("+1 2:nan", "finite"), ("+1 2:1e999", "finite"), ("+1 7", "index:value"),
                          ("2:1", "label"), ("+1 99999999999999999999:1", "too large"), ("+1 4:1 4:2", "increase")):
            self.write("bad.svm", "\n".join([*lines[:6], bad, *lines[6:]]) + "\n")
            for name, other in (("--train", ("--test", "test.svm")), ("--test", ("--train", "pool.svm"))):
                self.refuse("design", "active", name, "bad.svm", *other, "--labels", "20", "--initial", "10",
                            says=("bad.svm, line 7", says))

    def test_bad_options(self):
        for change, says in ((("--score", "uncertianty"), "did you mean uncertainty"), (("--labels", "301"), "300"),
                             (("--labels", "10"), "initial"), (("--prior", "cauchy"), "laplace"),
                             (("--block", "0"), "--block"), (("--lables", "30"), "--labels")):
            self.refuse(*self.SHORT, *change, says=says)
        for change, says in ((("--prior-variance", "-1"), "prior variance"), (("--method", "exact"), "exact"),
                             (("--method", "nonsense"), "nonsense"), (("--set", "prior.variance=2"), "--prior-variance"),
                             (("--set", "kl.tolerance=1e-3"), "kl.tolerance"), (("--prior-scale", "x"), "x")):
            self.refuse(*self.RUN, "--labels", "60", *change, says=says)
        self.refuse("design", "active", "--train", "absent.svm", "--test", "test.svm", says="absent.svm")
        self.refuse("design", says="gaussmith design --help")
        self.refuse("design", "passive", says="design")
        self.write("three.svm", "1 1:1\n2 1:2\n3 1:1\n")
        self.refuse("design", "active", "--train", "three.svm", "--test", "test.svm", says="three.svm")

    def test_help(self):
        self.assertIn("gaussmith design active", self.succeed("design", "active", "--help").stdout)
        self.assertIn("active", self.succeed("design", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
