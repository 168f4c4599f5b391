"""fit --integrate: what it says, what it saves, and that predictions from the file are those of the fit."""

import json
import math
import random
import unittest

from tool import ToolTest


def table(rows, seed):
    draw = random.Random(seed)
    lines = ["a,b,y"]
    for _ in range(rows):
        a, b = draw.gauss(0, 1), draw.gauss(0, 1)
        lines.append(f"{a!r},{b!r},{math.sin(1.3 * a) + 0.4 * b + 0.3 * draw.gauss(0, 1)!r}")
    return "\n".join(lines) + "\n"


GAUSSIAN = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian")


class Integrate(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("t.csv", table(40, 3))

    def test_the_saved_model_predicts_the_average_without_the_training_table(self):
        draw = random.Random(5)
        inputs = [[draw.gauss(0, 1)] for _ in range(15)]
        new = [[-0.5], [0.8], [2.5]]
        for sites, method in (({"type": "poisson", "y": [draw.randrange(5) for _ in inputs]}, "laplace"),
                              ({"type": "gaussian", "y": [draw.gauss(0, 1) for _ in inputs], "variance": 0.5}, "exact")):
            kernel = {"type": "se", "signal_sd": 1.0, "lengthscale": 1.0}
            self.write("p.json", json.dumps({"format": "gaussmith-problem/1", "sites": [sites], "predict": {"inputs": new},
                                             "prior": {"type": "gp", "inputs": inputs, "kernel": kernel}}))
            self.write("n.csv", "x1\n" + "".join(f"{x!r}\n" for x, in new))
            priors = ["--hyperprior", "kernel.signal_sd=1,1", "--hyperprior", "kernel.lengthscale=1,1"]
            if method == "exact":
                priors += ["--hyperprior", "likelihood.variance=0.5,1"]
            fit = self.result("fit", "--problem", "p.json", "--method", method, "--integrate", *priors, "--save", "m.gsm")
            plain = self.result("fit", "--problem", "p.json", "--method", method, "--learn", *priors)
            loaded = self.result("predict", "--model", "m.gsm", "--data", "n.csv")
            for name in ("latent_mean", "latent_variance", "mean", "variance"):
                for a, b in zip(fit["prediction"][name], loaded[name]):
                    self.assertTrue(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9), (name, a, b))
            self.assertNotEqual(fit["prediction"]["variance"], plain["prediction"]["variance"])
            self.assertEqual(fit["parameters"], plain["parameters"])
            part = fit["integration"]
            self.assertTrue(part["proper"])
            self.assertEqual(len(part["points"]), len(part["weights"]))
            self.assertTrue(math.isclose(sum(part["weights"]), 1.0, rel_tol=1e-12))
            self.assertIn("kernel.lengthscale", part["points"][0])
            # Quantiles and draws are those of the mixture.
            table_ = self.result("predict", "--model", "m.gsm", "--data", "n.csv", "--quantiles", "0.5", "--samples", "3")
            self.assertIn("sample_3", table_)

    def test_it_implies_learning_and_announces_its_cost(self):
        done = self.succeed(*GAUSSIAN, "--integrate")
        self.assertRegex(done.stderr, r"note: integrating over 3 parameters: about \d+ fits, \d+ x ")
        self.assertIn("Learning", done.stdout)
        self.assertRegex(done.stdout, r"Integration grid over 3 parameters: \d+ fits; \d+ points")
        self.assertIn("95 % interval", done.stdout)
        self.assertEqual(self.succeed(*GAUSSIAN, "--integrate", "--quiet").stderr, "")
        few = self.succeed(*GAUSSIAN, "--integrate", "--set", "integrate.design=composite")
        self.assertIn("central composite design", few.stdout)

    def test_the_same_command_gives_the_same_bytes(self):
        first = self.result(*GAUSSIAN, "--integrate")
        second = self.result(*GAUSSIAN, "--integrate")
        first["seconds"] = second["seconds"] = 0
        self.assertEqual(first, second)

    def test_evaluate_scores_the_average(self):
        self.succeed(*GAUSSIAN, "--integrate", "--save", "m.gsm", "--quiet")
        self.succeed(*GAUSSIAN, "--learn", "--save", "l.gsm", "--quiet")
        self.write("e.csv", table(200, 8))
        averaged = self.result("evaluate", "--model", "m.gsm", "--data", "e.csv")
        at_mode = self.result("evaluate", "--model", "l.gsm", "--data", "e.csv")
        # Not to know the parameters is to predict less sharply.
        self.assertGreater(averaged["mean_predictive_variance"], at_mode["mean_predictive_variance"])

    def test_rows_are_scored_by_the_average(self):
        fit = (*GAUSSIAN, "--integrate", "--loo")
        out = self.result(*fit, "--save", "m.gsm")
        plain = self.result(*GAUSSIAN, "--learn", "--loo")
        saved = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        for name in ("rmse", "mae", "mean_log_predictive_density"):
            self.assertAlmostEqual(out["training"][name], saved[name], delta=1e-6)
            self.assertNotAlmostEqual(out["training"][name], plain["training"][name], delta=1e-4)
        # By the identity 1 / p(y | others) = sum of w / p, each p from a fit at the point.
        part = out["integration"]
        inverse = 0.0
        for point, weight in zip(part["points"], part["weights"]):
            values = [item for name, value in point.items() if not name.startswith("sites")
                      for item in ("--set", f"{name}={value!r}")]
            inverse += weight * math.exp(-self.result(*GAUSSIAN, *values, "--loo")["leave_one_out"]["log_density"][0])
        self.assertAlmostEqual(out["leave_one_out"]["log_density"][0], -math.log(inverse), delta=1e-3)
        self.assertNotAlmostEqual(plain["leave_one_out"]["log_density"][0], -math.log(inverse), delta=1e-2)
        self.assertNotAlmostEqual(out["leave_one_out"]["total"], plain["leave_one_out"]["total"], delta=1e-3)
        self.assertEqual(out["log_evidence"], plain["log_evidence"])
        self.assertEqual(part["averaged"], ["weights", "latent", "leave_one_out", "training"])
        self.assertIn("log_evidence", part["at_mode"])
        self.assertEqual(part["cut_off"], 0)
        text = self.succeed(*fit).stdout
        self.assertIn("at the learned parameters; integrated over them: below", text)
        self.assertIn(f"total {out['leave_one_out']['total']:.6g}", text)

    def test_a_parameter_that_nothing_determines_is_named(self):
        draw = random.Random(1)
        self.write("f.csv", "x,y\n" + "".join(f"{draw.gauss(0, 1)!r},{draw.gauss(0, 1)!r}\n" for _ in range(25)))
        done = self.succeed("fit", "--data", "f.csv", "--target", "y", "--likelihood", "gaussian", "--integrate", "--fix",
                            "kernel.signal_sd,likelihood.variance", "--set", "kernel.signal_sd=0.3", "--set",
                            "likelihood.variance=1", "--bounds", "kernel.lengthscale=0.01,100")
        self.assertRegex(done.stderr, r"warning: kernel.lengthscale is not identified: .*--hyperpriors weak")
        self.assertIn("NOT IDENTIFIED", done.stdout)

    def test_bad_use(self):
        self.refuse(*GAUSSIAN, "--set", "integrate.fineness=2", says="only with --integrate")
        for setting in ("integrate.design=sparse", "integrate.fineness=0", "integrate.max_fits=1.5", "integrate.x=1"):
            self.refuse(*GAUSSIAN, "--integrate", "--set", setting, says=["--set " + setting, "integrate.max_fits"])
        self.refuse(*GAUSSIAN, "--integrate", "--set", "integrate.design=composite", "--set", "integrate.max_fits=5",
                    says="fits, more than max_fits = 5")


if __name__ == "__main__":
    unittest.main()
