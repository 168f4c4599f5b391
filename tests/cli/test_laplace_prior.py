"""--prior laplace: linear models of tables whose coefficients have Laplace priors."""

import csv
import io
import json
import math
import random
import unittest

from tool import ToolTest, class_table, count_table


def columns_of(table):
    rows = list(csv.DictReader(io.StringIO(table)))
    return {name: [float(row[name]) for row in rows] for name in rows[0]}


def mean(values):
    return sum(values) / len(values)


def sd(values):
    centre = mean(values)
    return math.sqrt(mean([(v - centre) ** 2 for v in values]))


def libsvm(table):
    columns = columns_of(table)
    names = [name for name in columns if name != "y"]
    rows = zip(columns["y"], *(columns[name] for name in names))
    return "".join(f"{int(row[0]):+d} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row[1:])) + "\n" for row in rows)


def unit(place, size):
    return [float(j == place) for j in range(size)]


class SameModelAsProblem(ToolTest):
    """The rows of the prior stacked under those of the data by hand."""

    def compare(self, fit, problem, method, rows):
        self.write("p.json", json.dumps({"format": "gaussmith-problem/1", **problem}))
        truth = self.result("fit", "--problem", "p.json", "--method", method)
        self.assertTrue(fit["converged"] and truth["converged"])
        self.assertEqual((fit["method"], fit["evidence_kind"]), (method, truth["evidence_kind"]))
        self.assertAlmostEqual(fit["log_evidence"], truth["log_evidence"], delta=1e-7)
        self.assertEqual(len(fit["latent"]["mean"]), rows)
        for part in ("weights", "latent"):
            for moment in ("mean", "variance"):
                for found, known in zip(fit[part][moment], truth[part][moment]):
                    self.assertAlmostEqual(found, known, delta=1e-6)

    def test_priors_on_the_scale_of_the_columns(self):
        table = class_table(rows=30)
        self.write("t.csv", table)
        columns = columns_of(table)
        centred = [[1.0, a - mean(columns["a"]), b - mean(columns["b"])] for a, b in zip(columns["a"], columns["b"])]
        positive = mean([0.5 + 0.5 * y for y in columns["y"]])
        problem = {
            "prior": {"type": "none", "dim": 3},
            "design": {"type": "dense", "rows": centred + [unit(1, 3), unit(2, 3), unit(0, 3)]},
            "sites": [{"type": "bernoulli-logit", "y": columns["y"]},
                      {"type": "laplace", "y": [0.0, 0.0],
                       "scale": [1.5 / sd(columns[name]) / math.sqrt(2.0) for name in ("a", "b")]},
                      {"type": "gaussian", "y": [math.log(positive / (1.0 - positive))], "variance": 100.0}]}
        for method in ("vb", "kl", "ep"):
            fit = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior",
                              "laplace", "--set", "prior.scale=1.5", "--method", method)
            self.compare(fit, problem, method, 30)

    def test_one_variance_of_all_weights(self):
        table = class_table(rows=30)
        self.write("t.svm", libsvm(table))
        columns = columns_of(table)
        rows = [[1.0, a, b] for a, b in zip(columns["a"], columns["b"])] + [unit(j, 3) for j in range(3)]
        problem = {"prior": {"type": "none", "dim": 3}, "design": {"type": "dense", "rows": rows},
                   "sites": [{"type": "bernoulli-logit", "y": columns["y"]},
                             {"type": "laplace", "y": [0.0] * 3, "scale": math.sqrt(0.5 / 2.0)}]}
        for single in ([], ["--single"]):
            fit = self.result("fit", "--data", "t.svm", "--likelihood", "bernoulli-logit", "--prior", "laplace",
                              "--set", "prior.variance=0.5", "--loo", *single)
            if not single:
                self.compare(fit, problem, "vb", 30)
            self.assertEqual([c["name"] for c in fit["coefficients"]][0], "(intercept)")
            self.assertEqual(len(fit["leave_one_out"]["log_density"]), 30)
            self.assertAlmostEqual(fit["parameters"]["sites[1].scale"], 0.5, delta=1e-14)

    def test_a_prior_of_ones_own_stays_gaussian(self):
        table = class_table(rows=30)
        self.write("t.csv", table)
        columns = columns_of(table)
        problem = {
            "prior": {"type": "none", "dim": 2},
            "design": {"type": "dense", "rows": [list(row) for row in zip(columns["a"], columns["b"])] +
                       [unit(0, 2), unit(1, 2)]},
            "sites": [{"type": "bernoulli-logit", "y": columns["y"]},
                      {"type": "laplace", "y": [0.0], "scale": 2.5 / sd(columns["a"]) / math.sqrt(2.0)},
                      {"type": "gaussian", "y": [-1.0], "variance": 0.25}]}
        fit = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior",
                          "laplace", "--no-intercept", "--coefficient-prior", "b=-1,0.5", "--method", "ep")
        self.compare(fit, problem, "ep", 30)


class Shrinkage(ToolTest):
    def test_orthogonal_columns_have_posteriors_of_one_coefficient_each(self):
        # With X'X = n I and Gaussian noise the posterior is a product; ep has one site a factor and is exact.
        signs = [[1.0 if bin(i & j).count("1") % 2 == 0 else -1.0 for j in range(1, 8)] for i in range(8)]
        draw = random.Random(5)
        truth = [2.0, -1.5] + [0.0] * 5
        y = [sum(s * w for s, w in zip(row, truth)) + 0.5 * draw.gauss(0, 1) for row in signs]
        self.write("t.csv", "\n".join([",".join(f"x{j}" for j in range(7)) + ",y"] +
                                      [",".join(map(repr, [*row, v])) for row, v in zip(signs, y)]) + "\n")
        noise, variance, n = 0.25, 0.5, 8
        fit = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--prior", "laplace",
                          "--no-intercept", "--method", "ep", "--set", f"likelihood.variance={noise}", "--set",
                          f"prior.variance={variance}")
        scale = math.sqrt(variance / 2.0)
        least = [sum(row[j] * v for row, v in zip(signs, y)) / n for j in range(7)]
        rest = sum((v - sum(s * b for s, b in zip(row, least))) ** 2 for row, v in zip(signs, y))
        evidence = -0.5 * n * math.log(2.0 * math.pi * noise) - 0.5 * rest / noise
        step = 1e-3
        grid = [step * k for k in range(-6000, 6001)]
        for j, best in enumerate(least):
            density = [math.exp(-0.5 * n * (w - best) ** 2 / noise - abs(w) / scale) / (2.0 * scale) for w in grid]
            total = sum(density) * step
            evidence += math.log(total)
            centre = sum(w * d for w, d in zip(grid, density)) * step / total
            spread = sum((w - centre) ** 2 * d for w, d in zip(grid, density)) * step / total
            self.assertAlmostEqual(fit["coefficients"][j]["mean"], centre, delta=1e-5)
            self.assertAlmostEqual(fit["coefficients"][j]["sd"], math.sqrt(spread), delta=1e-5)
        self.assertAlmostEqual(fit["log_evidence"], evidence, delta=1e-5)
        # Small coefficients lose a larger part than large ones; under a Gaussian prior all lose the same.
        kept = [c["mean"] / b for c, b in zip(fit["coefficients"], least)]
        self.assertGreater(min(kept[:2]), 0.94)
        self.assertLess(max(kept[2:]), 0.94)


class SavedModels(ToolTest):
    def test_predictions_are_those_of_the_fit(self):
        table = class_table(rows=30, labels=("-1", "1"))
        self.write("t.csv", table)
        self.write("t.svm", libsvm(table))
        for name, more in (("t.csv", ["--target", "y"]), ("t.csv", ["--target", "y", "--set", "prior.variance=2"]),
                           ("t.svm", []), ("t.svm", ["--form", "matrix-free", "--set", "vb.variances=exact"])):
            fit = self.result("fit", "--data", name, "--likelihood", "bernoulli-logit", "--prior", "laplace", "--save",
                              "m.gsm", *more)
            predicted = self.succeed("predict", "--model", "m.gsm", "--data", name).stdout
            rows = list(csv.DictReader(io.StringIO(predicted)))
            self.assertEqual(len(rows), 30)
            for i, row in enumerate(rows):
                self.assertAlmostEqual(float(row["latent_mean"]), fit["latent"]["mean"][i], delta=1e-6)
                self.assertAlmostEqual(float(row["latent_variance"]), fit["latent"]["variance"][i], delta=1e-6)
            scores = self.result("evaluate", "--model", "m.gsm", "--data", name)
            self.assertEqual(scores["rows"], 30)
            self.assertAlmostEqual(scores["mean_log_predictive_density"], fit["training"]["mean_log_predictive_density"], delta=1e-6)

    def test_text_counts_the_rows_of_the_data(self):
        self.write("t.csv", count_table(rows=25))
        text = self.succeed("fit", "--data", "t.csv", "--target", "deaths", "--exposure", "expected", "--likelihood",
                            "poisson", "--prior", "laplace", "--loo").stdout
        self.assertIn("t.csv: 25 rows, 1 fixed effect (x)", text)
        self.assertIn("Laplace priors", text)
        self.assertIn("Method      ep", text)  # poisson sites have no tangents.


class Learning(ToolTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(3)
        lines = ["a,b,y"]
        for _ in range(60):
            a, b = draw.gauss(0, 1), draw.gauss(0, 1)
            lines.append(f"{a},{b},{1.0 + 2.0 * a + 0.3 * draw.gauss(0, 1)}")
        self.write("t.csv", "\n".join(lines) + "\n")
        self.fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--prior", "laplace",
                    "--learn")

    def test_the_prior_stays_unless_it_is_one_variance(self):
        for more in ([], ["--features", "a"]):
            fit = self.result(*self.fit, *more)
            free = {name for name, p in fit["learning"]["parameters"].items() if not p["fixed"]}
            self.assertEqual(free, {"sites[0].variance", "likelihood.variance"})
            self.assertAlmostEqual(math.sqrt(fit["parameters"]["likelihood.variance"]), 0.3, delta=0.06)
        fit = self.result(*self.fit, "--set", "prior.variance=1", "--fix", "likelihood.variance", "--bounds",
                          "sites[1].scale=0.01,100")
        moved = fit["learning"]["parameters"]["sites[1].scale"]
        self.assertFalse(moved["fixed"])
        # The evidence is the same at the variance of the scale that was learned, and lower beside it.
        noise = fit["parameters"]["sites[0].variance"]
        at = [self.result(*self.fit[:-1], "--set", f"likelihood.variance={noise}", "--set",
                          f"prior.variance={2.0 * (factor * moved['value']) ** 2}")["log_evidence"]
              for factor in (1.0, 0.9, 1.1)]
        self.assertAlmostEqual(fit["log_evidence"], at[0], delta=1e-7)
        self.assertGreater(at[0], max(at[1:]))

    def test_integration(self):
        fit = self.result(*self.fit[:-1], "--integrate", "--loo", "--save", "m.gsm")
        self.assertEqual(len(fit["latent"]["mean"]), 60)
        self.assertEqual(len(fit["leave_one_out"]["log_density"]), 60)
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertAlmostEqual(scores["mean_log_predictive_density"], fit["training"]["mean_log_predictive_density"], delta=1e-6)


class BadInput(ToolTest):
    def test_refusals(self):
        self.write("t.csv", class_table())
        fit = ("fit", "--data", "t.csv", "--likelihood", "bernoulli-logit")
        laplace = (*fit, "--target", "y", "--prior", "laplace")
        self.refuse(*laplace, "--kernel", "se", says="--kernel belongs to --prior gp; a laplace prior has none")
        self.refuse(*laplace, "--mean", "1", says="a laplace prior has an intercept")
        self.refuse(*laplace, "--random", "1|a", says=("--random 1|a", "--prior linear"))
        self.refuse(*fit, "--formula", "y ~ a", "--prior", "laplace", says="leave --prior out")
        self.refuse(*laplace, "--method", "laplace", says=("laplace", "use ep, kl or vb"))
        self.refuse(*laplace, "--method", "exact", says=("exact", "use ep or kl"))
        for name in ("prior.variance", "prior.scale"):
            self.refuse(*laplace, "--set", f"{name}=-1", says=(f"--set {name}", "-1", "positive"))
        self.refuse(*laplace, "--set", "prior.scael=1", says=("prior.scael", "accepted: prior.scale, prior.variance"))
        self.refuse(*laplace, "--set", "prior.variance=1", "--set", "prior.scale=1", says="--set prior.scale")
        self.refuse(*laplace, "--set", "prior.variance=1", "--coefficient-prior", "a=0,1",
                    says=("--coefficient-prior a", "prior.variance", "keep one"))
        self.refuse(*laplace, "--learn", "--hyperprior", "prior.scale=1,1", says=("prior.scale=1,1", "sites[1].scale"))
        self.refuse(*fit, "--target", "y", "--prior", "lasso", says="lasso")


if __name__ == "__main__":
    unittest.main()
