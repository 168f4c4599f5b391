"""Linear models, groups and formulas: published fits of mixed models, saved models, bad input."""

import csv
import json
import math
import os
import random
import unittest

from tool import ToolTest, class_table, count_table

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")


def data(name):
    return os.path.join(DATA, name)


def read_csv(path):
    with open(path, newline="") as source:
        return list(csv.DictReader(source))


def by_name(result):
    return {c["name"]: c for c in result["coefficients"]}


class PublishedMixedModels(ToolTest):
    """Coefficients are integrated out, so that sds learned under a gaussian likelihood are those of REML (up to the wide
    priors of the coefficients)."""

    def test_sleepstudy(self):
        # D. Bates et al., Fitting linear mixed-effects models using lme4, J. Stat. Softw. 67 (2015): REML.
        fit = self.result("fit", "--data", data("sleepstudy.csv"), "--formula", "reaction ~ days + (days|subject)",
                          "--likelihood", "gaussian", "--learn")
        parameters = fit["parameters"]
        self.assertAlmostEqual(parameters["random[0].sd[0]"], 24.74, delta=0.15)
        self.assertAlmostEqual(parameters["random[0].sd[1]"], 5.92, delta=0.05)
        self.assertAlmostEqual(parameters["random[0].correlation[1][0]"], 0.066, delta=0.01)
        self.assertAlmostEqual(math.sqrt(parameters["sites[0].variance"]), 25.59, delta=0.05)
        found = by_name(fit)
        self.assertAlmostEqual(found["(intercept)"]["mean"], 251.405, delta=0.05)
        self.assertAlmostEqual(found["days"]["mean"], 10.467, delta=0.05)
        self.assertAlmostEqual(found["(intercept)"]["sd"], 6.825, delta=0.05)
        self.assertAlmostEqual(found["days"]["sd"], 1.546, delta=0.02)
        self.assertIsNone(found["days"]["ratio"])
        effects = fit["random"][0]
        self.assertEqual((effects["term"], effects["group"], len(effects["levels"])), ("days|subject", "subject", 18))
        self.assertEqual([e["name"] for e in effects["effects"]], ["(intercept)", "days"])
        # ranef() of the same fit: subject 308.
        self.assertAlmostEqual(effects["effects"][0]["mean"][0], 2.2586, delta=0.05)
        self.assertAlmostEqual(effects["effects"][1]["mean"][0], 9.1990, delta=0.05)

    def test_crossed_and_nested_groups(self):
        # D. Bates, lme4: mixed-effects modeling with R (2010): REML.
        fit = self.result("fit", "--data", data("penicillin.csv"), "--formula", "diameter ~ 1 + (1|plate) + (1|sample)",
                          "--likelihood", "gaussian", "--learn")
        for name, value in (("random[0].sd", 0.8467), ("random[1].sd", 1.9316)):
            self.assertAlmostEqual(fit["parameters"][name], value, delta=0.01 * value)
        self.assertAlmostEqual(math.sqrt(fit["parameters"]["sites[0].variance"]), 0.5499, delta=0.001)
        self.assertAlmostEqual(by_name(fit)["(intercept)"]["mean"], 22.9722, delta=0.01)
        nested = self.result("fit", "--data", data("pastes.csv"), "--formula", "strength ~ (1|batch/cask)", "--likelihood",
                             "gaussian", "--learn")
        self.assertAlmostEqual(nested["parameters"]["random[0].sd"], 1.287, delta=0.02)
        self.assertAlmostEqual(nested["parameters"]["random[1].sd"], 2.904, delta=0.02)
        self.assertEqual(len(nested["random"][1]["levels"]), 30)

    def test_counts_and_proportions(self):
        # Breslow and Clayton's counts as R's MASS has them; glmer(y ~ trt + log base ...) varies by model, this one is
        # the maximum of its own likelihood: treatment -0.334, sd of subjects 0.50.
        rows = read_csv(data("epil.csv"))
        mean = sum(math.log(float(r["base"]) / 4) for r in rows) / len(rows)
        age = sum(math.log(float(r["age"])) for r in rows) / len(rows)
        lines = ["subject,trt,lbase,lage,v4,y"]
        for r in rows:
            lines.append(f"{r['subject']},{r['trt']},{math.log(float(r['base']) / 4) - mean},"
                         f"{math.log(float(r['age'])) - age},{int(r['period'] == '4')},{r['y']}")
        self.write("epil.csv", "\n".join(lines) + "\n")
        fit = self.result("fit", "--data", "epil.csv", "--formula", "y ~ lbase*trt + lage + v4 + (1|subject)", "--likelihood",
                          "poisson", "--learn")
        found = by_name(fit)
        # The sd lies a little above that of maximum likelihood, which does not integrate the coefficients.
        self.assertAlmostEqual(fit["parameters"]["random[0].sd"], 0.50, delta=0.04)
        self.assertAlmostEqual(found["trt"]["mean"], -0.334, delta=0.1 * found["trt"]["sd"])
        self.assertAlmostEqual(found["trt"]["ratio"], math.exp(found["trt"]["mean"]), delta=1e-9)
        # lme4's example of glmer, maximum likelihood: herd 0.642, periods -0.992, -1.128, -1.580.
        fit = self.result("fit", "--data", data("cbpp.csv"), "--categorical", "period", "--formula",
                          "incidence ~ period + (1|herd)", "--trials", "size", "--likelihood", "binomial-logit", "--learn")
        found = by_name(fit)
        for name, value in (("(intercept)", -1.398), ("period=2", -0.992), ("period=3", -1.128), ("period=4", -1.580)):
            self.assertAlmostEqual(found[name]["mean"], value, delta=0.15 * found[name]["sd"])
        self.assertAlmostEqual(fit["parameters"]["random[0].sd"], 0.642, delta=0.07)


class LinearModels(ToolTest):
    def least_squares(self, rows):
        """Ordinary least squares with an intercept, by elimination in rationals of doubles."""
        n = len(rows[0])
        a = [[sum(([1.0] + r[:-1])[i] * ([1.0] + r[:-1])[j] for r in rows) for j in range(n)] for i in range(n)]
        b = [sum(([1.0] + r[:-1])[i] * r[-1] for r in rows) for i in range(n)]
        for i in range(n):
            p = max(range(i, n), key=lambda k: abs(a[k][i]))
            a[i], a[p], b[i], b[p] = a[p], a[i], b[p], b[i]
            for k in range(i + 1, n):
                f = a[k][i] / a[i][i]
                b[k] -= f * b[i]
                for j in range(i, n):
                    a[k][j] -= f * a[i][j]
        x = [0.0] * n
        for i in reversed(range(n)):
            x[i] = (b[i] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
        return x

    def test_unscaled_columns_and_coefficient_files(self):
        draw = random.Random(4)
        rows = []
        for _ in range(200):
            big, small = 3e5 + 1e4 * draw.gauss(0, 1), 2e-4 * draw.gauss(0, 1)
            rows.append([big, small, 500.0 + 2e-3 * big - 3e4 * small + 3 * draw.gauss(0, 1)])
        self.write("t.csv", "big,small,y\n" + "".join(",".join(map(repr, r)) + "\n" for r in rows))
        truth = self.least_squares(rows)
        for extra in ((), ("--standardize",), ("--form", "covariance")):
            fit = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--prior", "isotropic",
                              "--learn", "--coefficients", "c.csv", *extra)
            found = fit["coefficients"]
            self.assertEqual([c["name"] for c in found], ["(intercept)", "big", "small"])
            for c, value in zip(found, truth):
                self.assertAlmostEqual(c["mean"], value, delta=0.1 * c["sd"])
                self.assertAlmostEqual(c["upper"] - c["mean"], 1.959964 * c["sd"], delta=1e-5 * c["sd"])
            written = read_csv(self.path("c.csv"))
            self.assertEqual([w["name"] for w in written], ["(intercept)", "big", "small"])
            self.assertEqual([float(w["mean"]) for w in written], [c["mean"] for c in found])
            self.assertEqual(written[1]["ratio"], "")
        narrow = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--prior", "isotropic",
                             "--learn", "--level", "0.5", "--coefficient-prior", "big=0.001,0.0000001")
        self.assertAlmostEqual(by_name(narrow)["big"]["mean"], 0.001, delta=1e-6)
        self.assertAlmostEqual(narrow["coefficients"][0]["upper"] - narrow["coefficients"][0]["mean"],
                               0.67449 * narrow["coefficients"][0]["sd"], delta=1e-3 * narrow["coefficients"][0]["sd"])

    def test_isotropic_priors_give_coefficients_too(self):
        self.write("t.csv", class_table())
        fits = [self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior",
                            "isotropic", "--set", "prior.variance=4", *extra) for extra in ((), ("--standardize",))]
        self.assertEqual([c["mean"] for c in fits[0]["coefficients"]], fits[0]["weights"]["mean"])
        self.assertAlmostEqual(by_name(fits[0])["a"]["ratio"], math.exp(by_name(fits[0])["a"]["mean"]))
        self.assertIsNone(by_name(fits[0])["(intercept)"]["ratio"])
        # Other priors, but both on the scale of the columns.
        self.assertAlmostEqual(by_name(fits[0])["a"]["mean"], by_name(fits[1])["a"]["mean"], delta=0.5)

    def test_levels_interactions_and_contrasts(self):
        draw = random.Random(5)
        lines = ["sex,town,x,y"]
        for i in range(120):
            sex, town, x = "fm"[i % 2], "abc"[i % 3], draw.gauss(5, 1)
            y = 2.0 + (1.5 + 0.7 * x if sex == "m" else 0.0) + {"a": 0, "b": 1, "c": -1}[town] + 0.01 * draw.gauss(0, 1)
            lines.append(f"{sex},{town},{x},{y}")
        self.write("t.csv", "\n".join(lines) + "\n")
        fit = self.result("fit", "--data", "t.csv", "--formula", "y ~ sex*x + town", "--likelihood", "gaussian", "--learn")
        found = by_name(fit)
        self.assertEqual(list(found), ["(intercept)", "sex=m", "x", "sex=m:x", "town=b", "town=c"])
        for name, value in (("(intercept)", 2.0), ("sex=m", 1.5), ("x", 0.0), ("sex=m:x", 0.7), ("town=b", 1), ("town=c", -1)):
            self.assertAlmostEqual(found[name]["mean"], value, delta=0.05)
        fit = self.result("fit", "--data", "t.csv", "--formula", "y ~ 0 + town + sex", "--likelihood", "gaussian", "--learn")
        self.assertEqual(list(by_name(fit)), ["town=a", "town=b", "town=c", "sex=m"])


class Terms(ToolTest):
    def setUp(self):
        super().setUp()
        draw = random.Random(6)
        effect = {g: 1.5 * draw.gauss(0, 1) for g in "abcdefgh"}
        lines = ["time,dose,ward,y"]
        for i in range(160):
            time, dose, ward = draw.uniform(0, 10), draw.gauss(0, 1), "abcdefgh"[i % 8]
            lines.append(f"{time:.5f},{dose:.5f},{ward},"
                         f"{math.sin(time) + 0.8 * dose + effect[ward] + 0.2 * draw.gauss(0, 1):.5f}")
        self.write("t.csv", "\n".join(lines) + "\n")

    def test_a_process_beside_fixed_effects_and_groups(self):
        fit = self.result("fit", "--data", "t.csv", "--formula", "y ~ dose + (1|ward) + se(time)", "--likelihood", "gaussian",
                          "--learn", "--save", "m.gsm")
        self.assertAlmostEqual(by_name(fit)["dose"]["mean"], 0.8, delta=0.1)
        self.assertAlmostEqual(math.sqrt(fit["parameters"]["sites[0].variance"]), 0.2, delta=0.05)
        self.assertEqual(sorted(n for n in fit["parameters"] if not n.startswith("likelihood.")),
                         ["kernel.lengthscale", "kernel.signal_sd", "prior.scale", "random[0].sd", "sites[0].variance"])
        same = self.result("fit", "--data", "t.csv", "--target", "y", "--kernel", "se(time)", "--random", "1|ward",
                           "--likelihood", "gaussian", "--learn")
        self.assertAlmostEqual(same["log_evidence"], fit["log_evidence"], delta=1e-6)
        # A level never seen, a missing one, one that is known.
        self.write("new.csv", "time,dose,ward\n1,0.5,a\n1,0.5,zzz\n1,0.5,\n")
        done = self.run_tool("predict", "--model", "m.gsm", "--data", "new.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 rows with a level that was never seen", done.stderr)
        rows = list(csv.DictReader(done.stdout.splitlines()))
        sd = fit["parameters"]["random[0].sd"]
        for name, value in rows[1].items():
            self.assertAlmostEqual(float(value), float(rows[2][name]), delta=1e-9)
        population = list(csv.DictReader(
            self.succeed("predict", "--model", "m.gsm", "--data", "new.csv", "--population").stdout.splitlines()))
        self.assertAlmostEqual(float(rows[1]["latent_mean"]), float(population[0]["latent_mean"]), delta=1e-9)
        self.assertAlmostEqual(float(rows[1]["latent_variance"]), float(population[0]["latent_variance"]) + sd * sd, delta=1e-8)
        self.assertLess(float(rows[0]["latent_variance"]), float(rows[1]["latent_variance"]))
        self.refuse("predict", "--model", "m.gsm", "--data", "new.csv", "--new-levels", "error", says=("line 3", "zzz", "ward"))
        # The training table itself, from the saved model alone.
        again = list(csv.DictReader(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stdout.splitlines()))
        for row, mean, variance in zip(again, fit["latent"]["mean"], fit["latent"]["variance"]):
            self.assertAlmostEqual(float(row["latent_mean"]), mean, delta=1e-6)
            self.assertAlmostEqual(float(row["latent_variance"]), variance, delta=1e-6)

    def test_both_forms_agree(self):
        fits = [self.result("fit", "--data", "t.csv", "--target", "y", "--random", "dose|ward", "--likelihood", "gaussian",
                            "--features", "dose", "--set", "random[0].sd[0]=1.5", "--set", "random[0].sd[1]=0.3", "--set",
                            "random[0].correlation[1][0]=-0.4", "--form", form) for form in ("covariance", "precision")]
        self.assertAlmostEqual(fits[0]["log_evidence"], fits[1]["log_evidence"], delta=1e-6)
        for name, value in fits[0]["gradient"].items():
            self.assertAlmostEqual(value, fits[1]["gradient"][name], delta=1e-5 * (1 + abs(value)))
        self.assertEqual(fits[0]["parameters"]["random[0].correlation[1][0]"], -0.4)

    def test_kernels_on_columns(self):
        fit = self.result("fit", "--data", "t.csv", "--target", "y", "--kernel", "se(time)+linear(dose)", "--features",
                          "time,dose", "--likelihood", "gaussian", "--learn", "--save", "m.gsm")
        self.assertIn("kernel.terms[0].lengthscale", fit["parameters"])
        self.assertNotIn("coefficients", fit)
        self.assertEqual(self.run_tool("predict", "--model", "m.gsm", "--data", "t.csv").returncode, 0)

    def test_methods_on_groups(self):
        self.write("c.csv", count_table(80))
        rows = self.read("c.csv").decode().splitlines()
        self.write("c.csv", "\n".join([rows[0] + ",g"] + [f"{r},{i % 6}" for i, r in enumerate(rows[1:])]) + "\n")
        values = {}
        for method in ("laplace", "ep", "kl"):
            fit = self.result("fit", "--data", "c.csv", "--formula", "deaths ~ x + (1|g)", "--exposure", "expected",
                              "--likelihood", "poisson", "--method", method, "--set", "random[0].sd=0.5")
            values[method] = fit["log_evidence"]
        self.assertLess(max(values.values()) - min(values.values()), 0.1)

    def test_an_intercept_beside_a_process_alone(self):
        fit = self.result("fit", "--data", "t.csv", "--formula", "y ~ gp(time)", "--likelihood", "gaussian", "--learn", "--save",
                          "m.gsm")
        self.assertEqual([c["name"] for c in fit["coefficients"]], ["(intercept)"])
        again = csv.DictReader(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stdout.splitlines())
        for row, mean in zip(again, fit["latent"]["mean"]):
            self.assertAlmostEqual(float(row["latent_mean"]), mean, delta=1e-6)

    def test_units_do_not_matter(self):
        rows = self.read("t.csv").decode().splitlines()
        learned = {}
        for scale in (1.0, 1e-6, 1e6):
            self.write("s.csv", "\n".join([rows[0]] + [",".join(r.split(",")[:-1] + [repr(scale * float(r.split(",")[-1]))])
                                                        for r in rows[1:]]) + "\n")
            for formula in ("y ~ dose", "y ~ dose + (1|ward)"):
                fit = self.result("fit", "--data", "s.csv", "--formula", formula, "--likelihood", "gaussian", "--learn")
                found = math.sqrt(fit["parameters"]["sites[0].variance"]) / scale
                self.assertAlmostEqual(found, learned.setdefault(formula, found), delta=1e-4 * found)

    def test_names_of_levels_and_columns(self):
        lines = ["a,b,1,y"]
        draw = random.Random(7)
        for i in range(80):
            a, b, effect = [("p:q", "r", 5), ("p", "q:r", -5), ("p", "s", 0), ("01", "s", 2)][i % 4]
            x = draw.gauss(0, 1)
            lines.append(f"{a},{b},{x},{effect + 3 * x + 0.01 * draw.gauss(0, 1)}")
        self.write("n.csv", "\n".join(lines) + "\n")
        fit = self.result("fit", "--data", "n.csv", "--formula", "y ~ `1` + (1|a:b)", "--likelihood", "gaussian", "--learn",
                          "--save", "n.gsm")
        self.assertAlmostEqual(by_name(fit)["1"]["mean"], 3.0, delta=0.01)
        self.assertEqual(len(fit["random"][0]["levels"]), 4)
        # A table of nothing but numbers, and one of texts: the same level.
        self.write("one.csv", "a,b,1\n01,s,0\n")
        self.write("two.csv", "a,b,1\n01,s,0\np,s,0\n")
        first = [next(csv.DictReader(self.succeed("predict", "--model", "n.gsm", "--data", name).stdout.splitlines()))
                 for name in ("one.csv", "two.csv")]
        self.assertAlmostEqual(float(first[0]["latent_mean"]), float(first[1]["latent_mean"]), delta=1e-9)

    def test_constant_columns_and_priors_of_levels(self):
        self.write("k.csv", "x,c,s,y\n" + "".join(f"{i},98.6,{'uv'[i % 2]},{2 * i + (i % 2) + 0.1 * ((7 * i) % 5)}\n"
                                                  for i in range(40)))
        done = self.run_tool("fit", "--data", "k.csv", "--target", "y", "--prior", "linear", "--likelihood", "gaussian", "--learn",
                             "--json", "--coefficient-prior", "s=v=0,0.00001")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("left out", done.stderr)
        found = by_name(json.loads(done.stdout))
        self.assertEqual(list(found), ["(intercept)", "x", "s=v"])
        self.assertAlmostEqual(found["s=v"]["mean"], 0.0, delta=1e-4)
        self.assertLess(found["(intercept)"]["sd"], 1.0)

    def test_counts_of_nothing(self):
        self.write("z.csv", "x,y\n" + "".join(f"{i},0\n" for i in range(60)))
        fit = self.result("fit", "--data", "z.csv", "--formula", "y ~ x", "--likelihood", "poisson")
        self.assertGreater(by_name(fit)["(intercept)"]["mean"], -15.0)

    def test_one_row_a_level(self):
        draw = random.Random(6)
        self.write("o.csv", "id,x,y,n\n" + "".join(
            f"p{i},{draw.gauss(0, 1)!r},{draw.gauss(0, 1)!r},{draw.randrange(5)}\n" for i in range(30)))
        fit = ("fit", "--data", "o.csv", "--learn")
        gaussian = (*fit, "--formula", "y ~ x + (1|id)", "--likelihood", "gaussian")
        wanted = "every row has a level of its own in (1|id): random[0].sd and likelihood.variance"
        self.assertTrue(any(wanted in w for w in self.result(*gaussian)["warnings"]))
        self.assertIn("warning: " + wanted, self.succeed(*gaussian).stderr)
        # Nothing to split: a noise that is held, counts without one, weights that count rows.
        quiet = ((*gaussian, "--fix", "likelihood.variance", "--set", "likelihood.variance=0.5"),
                 (*fit, "--formula", "n ~ x + (1|id)", "--likelihood", "poisson"),
                 (*fit, "--formula", "y ~ x + (1|twice)", "--likelihood", "gaussian"))
        lines = self.read("o.csv").decode().splitlines()
        self.write("o.csv", "\n".join([lines[0] + ",twice"] + [f"{line},q{k // 2}" for k, line in enumerate(lines[1:])]))
        for command in quiet:
            self.assertFalse(any("level of its own" in w for w in self.result(*command)["warnings"]), command)
        self.assertIn("level of its own", self.succeed(*fit, "--formula", "n ~ x + (1|id)", "--likelihood",
                                                       "negative-binomial").stderr)

    def test_long_numbers_that_name_groups(self):
        self.write("l.csv", "id,x,y\n" + "".join(f"{2023000000000000001 + i // 4},{i % 5},{i % 7}\n" for i in range(24)))
        fit = ("fit", "--data", "l.csv", "--formula", "y ~ x + (1|id)", "--likelihood", "gaussian")
        self.refuse(*fit, says=('"id"', "--categorical id"))
        kept = self.result(*fit, "--categorical", "id")["random"][0]["levels"]
        self.assertEqual(kept, [str(2023000000000000001 + i) for i in range(6)])

    def test_effects_of_levels_are_shown(self):
        fit = ("fit", "--data", data("sleepstudy.csv"), "--formula", "reaction ~ days + (days|subject)", "--likelihood",
               "gaussian", "--learn")
        effects = self.result(*fit)["random"][0]
        text = self.succeed(*fit).stdout
        row = [f"{value:.4g}" for effect in effects["effects"] for value in (effect["mean"][0],)]
        self.assertRegex(text, rf"(?m)^  {effects['levels'][0]} +{row[0]} +\S+ +{row[1]} +\S+$")
        self.assertIn("... and 12 more (all with --json)", text)

    def test_products_of_a_column_with_itself(self):
        fit = ("fit", "--data", "t.csv", "--likelihood", "gaussian", "--formula")
        plain = self.result(*fit, "y ~ dose + time")
        for formula in ("y ~ dose:dose + time", "y ~ dose*dose + time", "y ~ dose + time:time:time"):
            self.assertEqual(self.result(*fit, formula)["coefficients"], plain["coefficients"], formula)
        product = self.result(*fit, "y ~ dose:time")
        self.assertEqual(self.result(*fit, "y ~ dose:time:dose")["coefficients"], product["coefficients"])

    def test_columns_whose_squares_are_no_numbers(self):
        draw = random.Random(2)
        rows = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(20)]
        self.write("e.csv", "x,big,small,y,g\n" + "".join(
            f"{x!r},{x * 1e200!r},{x * 1e-200!r},{x + e!r},{'ab'[i % 2]}\n" for i, (x, e) in enumerate(rows)))
        fit = ("fit", "--data", "e.csv", "--likelihood", "gaussian")
        for formula in ("y ~ big", "y ~ small", "y ~ gp(big)", "y ~ x + (big|g)", "y ~ x + (small||g)", "big ~ x"):
            name = "big" if "big" in formula else "small"
            self.refuse(*fit, "--formula", formula, says=(f'"{name}"', "between 1e-100 and 1e+100"))
        self.refuse(*fit, "--formula", "y ~ big:x", says='"big:x"')
        # Standardised, it is the column in another unit.
        scaled = self.result(*fit, "--target", "y", "--features", "big", "--standardize")
        plain = self.result(*fit, "--target", "y", "--features", "x", "--standardize")
        self.assertAlmostEqual(scaled["log_evidence"], plain["log_evidence"], delta=1e-9)

    def test_defaults_of_counts_are_no_news(self):
        self.write("c.csv", count_table())
        fit = ("fit", "--data", "c.csv", "--formula", "deaths ~ x", "--likelihood", "poisson", "--learn")
        self.assertNotIn("exposure", self.succeed(*fit).stdout)
        self.assertIn("likelihood.exposure", self.succeed(*fit, "--set", "likelihood.exposure=2").stdout)

    def test_bad_input(self):
        fit = ("fit", "--data", "t.csv", "--likelihood", "gaussian")
        self.refuse(*fit, "--target", "y", "--kernel", "se(tme)", says=("tme", "time"))
        self.refuse(*fit, "--target", "y", "--random", "1|wrd", says=("wrd", "ward"))
        self.refuse(*fit, "--target", "y", "--random", "ward|dose", says="ward")
        self.write("one.csv", "x,g,y\n1,a,2\n2,a,3\n")
        self.refuse("fit", "--data", "one.csv", "--target", "y", "--random", "1|g", "--likelihood", "gaussian",
                    says=("one level", "g"))
        self.refuse(*fit, "--formula", "y ~ dose", "--target", "y", says=("--formula", "--target"))
        self.refuse(*fit, "--formula", "y ~ y", says="role")
        for formula in ("y ~ 0", "y ~ -1", "y ~ 1 - 1"):
            self.refuse(*fit, "--formula", formula, says=(formula, "y ~ 1"))
        self.refuse(*fit, "--target", "y", "--prior", "isotropic", "--coefficient-prior", "nose=0,1", says=("nose", "dose"))
        self.refuse(*fit, "--target", "y", "--features", "time", "--coefficients", "c.csv", says="--coefficients")
        done = self.run_tool(*fit, "--formula", "y ~ dose + (1|ward) +")
        self.assertEqual(done.returncode, 1)
        lines = done.stderr.splitlines()
        self.assertTrue(lines[0].startswith("gaussmith: error: --formula"), lines[0])
        self.assertEqual(lines[1:], ["  y ~ dose + (1|ward) +", " " * 23 + "^"])


class RareColumns(ToolTest):
    """Documents: priors scaled by column make much of words that hardly occur; where they are asked for, a note says so."""

    def test_a_note_names_the_prior_that_all_columns_share(self):
        rng = random.Random(3)
        rows = [sorted(rng.sample(range(1, 3001), 40)) for _ in range(300)]
        text = "".join(f"{rng.choice((-1, 1)):+d} " + " ".join(f"{j}:0.5" for j in row) + "\n" for row in rows)
        self.write("words.svm", text)
        fit = ("fit", "--data", "words.svm", "--likelihood", "bernoulli-logit", "--prior", "linear", "--json")
        notes = json.loads(self.succeed(*fit, "--set", "prior.scale=2.5").stdout)["notes"]
        # 40 entries of 1/2 a row: variance 2.5^2 / 10.
        self.assertTrue(any("--set prior.variance=0.62 makes that sd 2.5" in note for note in notes), notes)
        shared = json.loads(self.succeed(*fit, "--set", "prior.variance=0.62").stdout)
        self.assertFalse(any("wide priors" in note for note in shared.get("notes", [])))
        # That is about what is taken by itself: 2.5 / sqrt(10) for each.
        alone = json.loads(self.succeed(*fit).stdout)
        self.assertTrue(any("N(0, 0.791^2)" in note for note in alone["notes"]), alone["notes"])
        self.assertAlmostEqual(alone["coefficients"][7]["mean"], shared["coefficients"][7]["mean"], delta=0.02)


if __name__ == "__main__":
    unittest.main()
