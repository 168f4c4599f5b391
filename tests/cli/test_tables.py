"""Tables as people have them: weights, events, columns kept, tabs, typing errors, several models at once."""

import csv
import gzip
import io
import json
import math
import random
import unittest

from tool import ToolTest, class_table, normal_cdf, regression_table

NORMAL_975 = 1.959963984540054


def survival_rows(rows=60, seed=4):
    draw = random.Random(seed)
    for number in range(rows):
        x = draw.gauss(0, 1)
        time = draw.expovariate(math.exp(0.5 * x))
        yield f"p{number:03d}", x, min(time, 1.5), int(time > 1.5)


def survival_table(**options):
    lines = ["id,x,time,censored,event"]
    for name, x, time, censored in survival_rows(**options):
        lines.append(f"{name},{x:.6f},{time:.6f},{censored},{1 - censored}")
    return "\n".join(lines) + "\n"


def cells(text):
    return list(csv.DictReader(io.StringIO(text)))


class Messages(ToolTest):
    def test_the_bound_that_learning_ran_into_is_named(self):
        self.write("flat.csv", "a,y\n" + "".join(f"{i},{5 + (-1) ** i * 0.001 * i}\n" for i in range(20)))
        run = self.run_tool("fit", "--data", "flat.csv", "--target", "y", "--likelihood", "gaussian", "--learn")
        self.assertIn("at or near a bound: kernel.lengthscale (upper bound 1e+05)", run.stderr)


class Weights(ToolTest):
    def tables(self):
        draw = random.Random(7)
        weighted, repeated = ["x,y,w"], ["x,y"]
        for number in range(24):
            x, k = draw.uniform(-2, 2), 1 + number % 3
            y = int(draw.random() < 1 / (1 + math.exp(-x)))
            weighted.append(f"{x:.6f},{y},{k}")
            repeated += [f"{x:.6f},{y}"] * k
        self.write("w.csv", "\n".join(weighted) + "\n")
        self.write("r.csv", "\n".join(repeated) + "\n")

    def test_weight_k_is_k_equal_rows(self):
        self.tables()
        for prior in (("--prior", "isotropic", "--standardize"), ("--kernel", "se", "--standardize")):
            for method in ("laplace", "ep", "kl"):
                fit = ("fit", "--target", "y", "--likelihood", "bernoulli-logit", *prior, "--method", method)
                once = self.result(*fit, "--data", "w.csv", "--weights", "w")
                copies = self.result(*fit, "--data", "r.csv")
                self.assertAlmostEqual(once["log_evidence"], copies["log_evidence"], delta=1e-6)
                for name, value in copies["gradient"].items():
                    self.assertAlmostEqual(once["gradient"][name], value, delta=1e-5)
        self.assertEqual(len(once["latent"]["mean"]), 24)

    def test_level_and_report(self):
        self.write("w.csv", "x,y,w\n0,1,3\n1,5,1\n")
        fit = ("fit", "--data", "w.csv", "--target", "y", "--likelihood", "gaussian", "--mean", "auto")
        done = self.succeed(*fit, "--weights", "w")
        self.assertIn("weights w (total 4)", done.stdout)
        self.assertIn("mean 2", done.stdout)

    def test_refusals(self):
        fit = ("fit", "--target", "y", "--likelihood", "gaussian", "--weights", "w")
        for bad in ("0", "-2"):
            self.write("bad.csv", f"x,y,w\n0,1,1\n1,2,{bad}\n")
            self.refuse(*fit, "--data", "bad.csv", says=("line 3", '"w"', bad, "above 0"))
        self.write("bad.csv", "x,y\n0,1\n1,2\n")
        self.refuse(*fit, "--data", "bad.csv", says=('no column "w"',))


class Events(ToolTest):
    FIT = ("fit", "--data", "t.csv", "--target", "time", "--features", "x", "--likelihood", "weibull", "--prior",
           "isotropic")

    def test_event_is_the_complement_of_censored(self):
        self.write("t.csv", survival_table())
        censored = sum(row[3] for row in survival_rows())
        one = self.result(*self.FIT, "--censored", "censored", "--save", "c.gsm")
        other = self.result(*self.FIT, "--event", "event", "--save", "e.gsm")
        self.assertEqual(one["log_evidence"], other["log_evidence"])
        for result in (one, other):
            self.assertEqual((result["events"], result["censored"]), (60 - censored, censored))
        self.assertIn(f"{60 - censored} events, {censored} censored",
                      self.succeed(*self.FIT, "--event", "event").stdout)
        scores = [self.result("evaluate", "--model", name, "--data", "t.csv") for name in ("c.gsm", "e.gsm")]
        self.assertEqual(scores[0], scores[1])
        self.assertEqual(scores[1]["censored"], censored)
        self.assertEqual(self.result("evaluate", "--model", "c.gsm", "--model", "e.gsm", "--data", "t.csv")["warnings"],
                         [])
        # The other way round is another set of rows.
        self.succeed(*self.FIT, "--censored", "event", "--save", "wrong.gsm")
        warned = self.result("evaluate", "--model", "e.gsm", "--model", "wrong.gsm", "--data", "t.csv")["warnings"]
        self.assertIn(f"e.gsm takes {censored} rows as censored and wrong.gsm takes {60 - censored} rows", warned[0])

    def test_a_column_of_events_that_nobody_names(self):
        self.write("t.csv", "x,time,Status\n" + "".join(f"{i % 3},{1 + i % 5},{1 + i % 2}\n" for i in range(12)))
        fit = ("fit", "--data", "t.csv", "--formula", "time ~ x")
        wanted = 'every row is taken for an event, though there is a column "Status"'
        self.assertTrue(any(w.startswith(wanted) for w in self.result(*fit, "--likelihood", "weibull")["warnings"]))
        self.assertFalse(self.result(*fit, "--likelihood", "gamma")["warnings"])
        table = self.read("t.csv").decode()
        self.write("t.csv", table.replace(",2\n", ",0\n"))
        self.assertFalse(self.result(*fit, "--likelihood", "weibull", "--event", "Status")["warnings"])
        self.write("t.csv", table.replace(",2\n", ",7\n"))
        self.assertFalse(self.result(*fit, "--likelihood", "weibull")["warnings"])

    def test_events_are_not_asked_of_new_rows(self):
        self.write("t.csv", survival_table())
        self.succeed(*self.FIT, "--event", "event", "--save", "e.gsm")
        self.write("new.csv", "x\n0.5\n")
        self.assertEqual(len(self.succeed("predict", "--model", "e.gsm", "--data", "new.csv").stdout.splitlines()), 2)

    def test_refusals(self):
        self.write("t.csv", survival_table())
        self.refuse(*self.FIT, "--event", "event", "--censored", "censored", says=("--event", "--censored", "keep one"))
        self.refuse("fit", "--data", "t.csv", "--target", "time", "--likelihood", "weibull", "--event", "x",
                    says=("line 2", '"x"', "1 (event) or 0 (censored)"))
        self.refuse("fit", "--data", "t.csv", "--target", "time", "--likelihood", "gamma", "--event", "event",
                    says=("--event", "gamma"))


class Keep(ToolTest):
    def table(self):
        lines = ["id,a,b,y"] + [f"{n:03d},{row}" for n, row in enumerate(class_table().splitlines()[1:])]
        self.write("t.csv", "\n".join(lines) + "\n")

    def test_kept_columns_come_first_as_they_are_written(self):
        self.table()
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--save", "m.gsm")
        self.assertIn("2 features (a, b)", self.succeed(*fit, "--keep", "id").stdout)
        rows = cells(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stdout)
        self.assertEqual(list(rows[0])[:2], ["id", "latent_mean"])
        self.assertEqual([row["id"] for row in rows], [f"{n:03d}" for n in range(40)])
        rows = cells(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv", "--keep", "y,a").stdout)
        self.assertEqual(list(rows[0])[:3], ["id", "y", "a"])
        out = self.result("predict", "--model", "m.gsm", "--data", "t.csv")
        self.assertEqual(out["id"][7], "007")

    def test_rows_left_out_take_their_cells_along(self):
        self.table()
        self.succeed("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--keep", "id",
                     "--save", "m.gsm")
        self.write("new.csv", 'id,a,b\n"x,1",0,0\nx2,,1\n,1,1\n')
        done = self.succeed("predict", "--model", "m.gsm", "--data", "new.csv", "--drop-missing")
        self.assertEqual([row["id"] for row in cells(done.stdout)], ["x,1", ""])
        self.write("plain.csv", "a,b\n0,1\n")
        done = self.succeed("predict", "--model", "m.gsm", "--data", "plain.csv")
        self.assertIn("no column id", done.stderr)
        self.refuse("predict", "--model", "m.gsm", "--data", "plain.csv", "--keep", "name", says='"name"')

    def test_refusals(self):
        self.table()
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit")
        self.refuse(*fit, "--keep", "nr", says=('"nr"', "id, a, b, y"))
        self.refuse(*fit, "--keep", "id,id", says="twice")
        self.write("t.csv", "mean,x,y\n1,2,3\n2,3,4\n")
        self.refuse("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--keep", "mean",
                    says=("--keep mean", "rename"))


class Intervals(ToolTest):
    def predicted(self, table, *fit, new="x\n0.5\n"):
        self.write("t.csv", table)
        self.succeed("fit", "--data", "t.csv", *fit, "--save", "m.gsm")
        self.write("new.csv", new)
        before = cells(self.succeed("predict", "--model", "m.gsm", "--data", "new.csv").stdout)[0]
        after = cells(self.succeed("predict", "--model", "m.gsm", "--data", "new.csv", "--interval").stdout)[0]
        self.assertEqual(list(after)[:len(before)], list(before))
        return {name: float(value) for name, value in after.items() if name != "label"}

    def ends(self, row, at):
        reach = NORMAL_975 * math.sqrt(row["latent_variance"])
        return at(row["latent_mean"] - reach), at(row["latent_mean"] + reach)

    def check(self, row, name, at):
        for end, wanted in zip(("lower", "upper"), self.ends(row, at)):
            self.assertAlmostEqual(row[f"{name}_{end}"], wanted, delta=1e-9 * (1 + abs(wanted)))

    def test_what_eta_stands_for(self):
        two = ("--target", "y", "--likelihood")
        row = self.predicted(class_table(), *two, "bernoulli-logit", new="a,b\n1,0\n")
        self.check(row, "probability", lambda eta: 1 / (1 + math.exp(-eta)))
        row = self.predicted(class_table(), *two, "bernoulli-probit", new="a,b\n1,0\n")
        self.check(row, "probability", normal_cdf)
        row = self.predicted(regression_table(), *two, "gaussian")
        self.check(row, "latent", lambda eta: eta)
        counts = "x,y,n\n" + "".join(f"{n / 5},{n % 4},{4 + n % 3}\n" for n in range(15))
        row = self.predicted(counts, "--target", "y", "--exposure", "n", "--likelihood", "poisson", new="x,n\n0.5,3\n")
        self.check(row, "rate", math.exp)
        self.assertAlmostEqual(row["rate"] * 3, row["mean"], delta=1e-9 * row["mean"])
        row = self.predicted(counts, "--target", "y", "--trials", "n", "--likelihood", "binomial-logit",
                             new="x,n\n0.5,3\n")
        self.check(row, "probability", lambda eta: 1 / (1 + math.exp(-eta)))
        self.assertAlmostEqual(row["probability"] * 3, row["mean"], delta=1e-9)
        row = self.predicted(survival_table(), "--target", "time", "--features", "x", "--likelihood", "weibull")
        self.check(row, "rate", math.exp)
        row = self.predicted(survival_table(), "--target", "time", "--features", "x", "--likelihood", "gamma")
        self.check(row, "mean", math.exp)

    def test_level(self):
        self.predicted(regression_table(), "--target", "y", "--likelihood", "gaussian")
        predict = ("predict", "--model", "m.gsm", "--data", "new.csv")
        row = cells(self.succeed(*predict, "--interval", "--level", "0.5").stdout)[0]
        reach = 0.6744897501960817 * math.sqrt(float(row["latent_variance"]))
        self.assertAlmostEqual(float(row["latent_upper"]), float(row["latent_mean"]) + reach, delta=1e-9)
        self.refuse(*predict, "--interval", "--level", "1", says="--level")
        self.refuse(*predict, "--level", "0.5", says="--interval")


class Reading(ToolTest):
    FIT = ("fit", "--target", "y", "--likelihood", "gaussian", "--prior", "isotropic")

    def test_tabs(self):
        table = regression_table()
        self.write("t.csv", table)
        wanted = self.result(*self.FIT, "--data", "t.csv")["log_evidence"]
        tabs = table.replace(",", "\t")
        for name in ("t.tsv", "t.tab", "t.txt", "T.TSV"):
            self.write(name, tabs)
            self.assertEqual(self.result(*self.FIT, "--data", name)["log_evidence"], wanted)
        self.write("c.txt", table)
        self.assertEqual(self.result(*self.FIT, "--data", "c.txt")["log_evidence"], wanted)
        self.write("t.tsv.gz", gzip.compress(tabs.encode()))
        self.assertEqual(self.result(*self.FIT, "--data", "t.tsv.gz")["log_evidence"], wanted)
        self.write("c.csv", tabs)
        self.refuse(*self.FIT, "--data", "c.csv", says=("tabs", ".tsv"))
        self.write("c.tsv", table)
        self.refuse(*self.FIT, "--data", "c.tsv", says=("commas", "no tab"))
        self.write("t.dat", table)
        self.refuse(*self.FIT, "--data", "t.dat", says=(".csv", ".tsv"))

    def test_empty_cells_between_tabs_are_missing(self):
        self.write("t.tsv", "x\ty\n1\t2\n\t3\n4\t5\n")
        self.refuse(*self.FIT, "--data", "t.tsv", says=("line 3", '"x"', "missing"))

    def test_numbers_with_commas(self):
        self.write("t.csv", "x,y\n" + "".join(f'"{i % 4},{i % 3}",{i}\n' for i in range(12)))
        fit = ("fit", "--data", "t.csv", "--formula", "y ~ x", "--likelihood", "gaussian")
        self.refuse(*fit, says=('"x"', '"0,0" in line 2', "--categorical x"))
        self.succeed(*fit, "--categorical", "x")
        self.write("t.csv", "x,y\n" + "".join(f'"{"abc"[i % 3]},{i % 2}",{i}\n' for i in range(12)))
        self.succeed(*fit)

    def test_a_table_without_a_header(self):
        self.write("t.csv", "5.1,3.5,1.4\n4.9,3.0,1.4\n")
        self.refuse(*self.FIT, "--data", "t.csv", says=("line 1", "only numbers", "header"))
        self.write("t.csv", "1,1\n2,2\n")
        self.refuse(*self.FIT, "--data", "t.csv", says=("line 1", "header"))
        # Columns that are only counted have names, after all.
        self.write("t.csv", "0,1\n2.5,2\n1,4\n3,1\n")
        self.succeed("fit", "--data", "t.csv", "--target", "1", "--likelihood", "gaussian")

    def test_a_few_cells_that_are_no_numbers(self):
        lines = regression_table().splitlines()
        for row in (4, 9, 17, 30):
            lines[row] = "?" + lines[row][lines[row].index(","):]
        self.write("t.csv", "\n".join(lines) + "\n")
        self.refuse(*self.FIT, "--data", "t.csv",
                    says=('column "x"', "36 of 40", '"?" in line 5', "line 10", "line 18", "1 more", "--categorical x"))
        done = self.succeed(*self.FIT, "--data", "t.csv", "--categorical", "x")
        self.assertIn("column x: categories -> 0/1 columns", done.stderr)
        # Five of forty are more than a tenth: names of categories.
        lines[33] = "?" + lines[33][lines[33].index(","):]
        self.write("t.csv", "\n".join(lines) + "\n")
        self.succeed(*self.FIT, "--data", "t.csv")


    def test_tables_are_written_as_they_are_read(self):
        self.write("t.csv", 'id,x,y\n"a\tb",1,2\n"c,d",2,3\ne,3,5\n')
        self.succeed("fit", "--data", "t.csv", "--formula", "y ~ x", "--likelihood", "gaussian", "--keep", "id", "--save",
                     "m.gsm", "--coefficients", "c.tsv")
        for name, separator in (("p.csv", ","), ("p.tsv", "\t"), ("P.TAB", "\t"), ("p.txt", ",")):
            self.succeed("predict", "--model", "m.gsm", "--data", "t.csv", "--output", name)
            rows = list(csv.DictReader(io.StringIO(self.read(name).decode()), delimiter=separator))
            self.assertEqual([row["id"] for row in rows], ["a\tb", "c,d", "e"])
            # What was written can be read: a table whose target is one of the predictions.
            self.succeed("fit", "--data", name, "--formula", "mean ~ latent_variance", "--likelihood", "gaussian")
        rows = list(csv.DictReader(io.StringIO(self.read("c.tsv").decode()), delimiter="\t"))
        self.assertEqual([row["name"] for row in rows], ["(intercept)", "x"])


class Comparison(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("train.csv", regression_table(30, 5))
        self.write("test.csv", regression_table(25, 6))
        for name, options in (("line.gsm", ("--prior", "isotropic")), ("curve.gsm", ("--kernel", "se"))):
            self.succeed("fit", "--data", "train.csv", "--target", "y", "--likelihood", "gaussian", *options, "--learn",
                         "--save", name)

    def test_differences(self):
        models = ("--model", "line.gsm", "--model", "curve.gsm")
        out = self.result("evaluate", *models, "--data", "test.csv")
        line, curve = out["models"]
        self.assertEqual((out["best"], out["rows"]), ("curve.gsm", 25))
        self.assertEqual((curve["difference"], curve["difference_se"]), (0.0, 0.0))
        alone = self.result("evaluate", "--model", "line.gsm", "--data", "test.csv")
        self.assertEqual(line["mean_log_predictive_density"], alone["mean_log_predictive_density"])
        self.assertEqual(line["calibration"], alone["calibration"])
        # The same from the Gaussian predictions of the rows.
        densities = []
        for name in ("line.gsm", "curve.gsm"):
            rows = cells(self.succeed("predict", "--model", name, "--data", "test.csv").stdout)
            truth = cells(self.read("test.csv").decode())
            densities.append([-0.5 * math.log(2 * math.pi * float(p["variance"])) -
                              0.5 * (float(t["y"]) - float(p["mean"])) ** 2 / float(p["variance"])
                              for p, t in zip(rows, truth)])
        gaps = [a - b for a, b in zip(*densities)]
        mean = sum(gaps) / 25
        se = math.sqrt(25 * sum((g - mean) ** 2 for g in gaps) / 24)
        self.assertAlmostEqual(line["difference"], sum(gaps), delta=1e-6)
        self.assertAlmostEqual(line["difference_se"], se, delta=1e-6)
        self.assertAlmostEqual(curve["total_log_predictive_density"], sum(densities[1]), delta=1e-6)
        text = self.succeed("evaluate", *models, "--data", "test.csv").stdout
        self.assertIn("curve.gsm  best", text)
        for model in out["models"]:
            share = 100 * model["calibration"]["coverage"][2]["share"]
            self.assertRegex(text, rf"(?m)^  {model['model']} .* {share:.1f} % of the rows in the central 95 % interval$")
        self.assertIn(f"{sum(gaps):.4g} +- {se:.3g}", text)

    def test_refusals(self):
        self.succeed("fit", "--data", "train.csv", "--target", "x", "--likelihood", "gaussian", "--save", "x.gsm")
        self.refuse("evaluate", "--model", "line.gsm", "--model", "x.gsm", "--data", "test.csv",
                    says=("line.gsm predicts y", "x.gsm predicts x"))
        self.refuse("evaluate", "--model", "line.gsm", "--model", "none.gsm", "--data", "test.csv", says="none.gsm")
        for model in (("--model", "line.gsm"), ("--model", "line.gsm", "--model", "curve.gsm")):
            self.refuse("evaluate", *model, "--data", "test.csv", "--population", says="--population")
        self.refuse("predict", "--model", "line.gsm", "--data", "test.csv", "--population", says="line.gsm has no effects")


class Reports(ToolTest):
    def test_training_scores_and_the_total_left_out(self):
        self.write("t.csv", regression_table())
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--loo", "--save", "m.gsm")
        out = self.result(*fit)
        rows = out["leave_one_out"]["log_density"]
        mean = sum(rows) / 40
        self.assertAlmostEqual(out["leave_one_out"]["total"], sum(rows), delta=1e-9)
        self.assertAlmostEqual(out["leave_one_out"]["total_se"],
                               math.sqrt(40 * sum((r - mean) ** 2 for r in rows) / 39), delta=1e-9)
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        for name in ("rmse", "mae", "mean_log_predictive_density"):
            self.assertAlmostEqual(out["training"][name], scores[name], delta=1e-9)
        text = self.succeed(*fit).stdout
        self.assertIn(f"total {sum(rows):.6g} +- {out['leave_one_out']['total_se']:.3g}", text)
        self.assertNotIn("events", out)
        self.write("c.csv", class_table())
        out = self.result("fit", "--data", "c.csv", "--target", "y", "--likelihood", "bernoulli-logit")
        self.assertEqual(out["training"]["rows"], 40)
        self.assertEqual(out["training"]["error_rate"], out["training"]["errors"] / 40)


class Suggestions(ToolTest):
    def test_names_that_are_nearly_right(self):
        self.write("t.csv", class_table())
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood")
        self.refuse("fitt", says="did you mean fit?")
        self.refuse("fitt", "--help", says=("fitt", "did you mean fit?"))
        learned = (*fit, "bernoulli-logit", "--integrate", "--set")
        self.refuse(*learned, "integrate.desgin=grid", says=("integrate.desgin", "did you mean integrate.design?"))
        self.refuse(*learned, "learn.tolerence=yes", says=("learn.tolerence", "did you mean learn.tolerance?"))
        self.refuse("fit", "--kernal", "se", says="did you mean --kernel?")
        self.refuse("predict", "--modle=m.gsm", says=("--modle", "did you mean --model?"))
        self.refuse(*fit, "bernouli-logit", says="did you mean bernoulli-logit?")
        self.refuse(*fit, "bernoulli-logit", "--kernel", "mattern32-ard", says="did you mean matern32?")
        self.refuse(*fit, "bernoulli-logit", "--method", "laplce", says="did you mean laplace?")
        self.refuse(*fit, "bernoulli-logit", "--set", "kernel.lengthscales=1", says="did you mean kernel.lengthscale?")
        self.assertNotIn("did you mean", self.refuse("fit", "--colour", "red", says="--colour"))

    def test_help_of_catalogues_is_their_own(self):
        for name in ("methods", "likelihoods", "kernels"):
            text = self.succeed(name, "--help").stdout
            self.assertIn(f"gaussmith {name} --json", text)
            self.assertNotIn("gaussmith fit", text)


if __name__ == "__main__":
    unittest.main()
