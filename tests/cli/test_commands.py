"""What the commands compute and print, checked by other means."""

import csv
import io
import json
import struct
import math
import os
import pathlib
import unittest

from tool import PROBLEM, ToolTest, class_table, count_table, normal_cdf, problem, regression_table


def without_times(text):
    return "\n".join(line for line in text.splitlines() if "seconds" not in line and not line.startswith("Time"))


class Fit(ToolTest):
    def test_result_schema(self):
        self.write("p.json", problem())
        result = self.result("fit", "--problem", "p.json", "--method", "laplace")
        self.assertEqual(
            list(result)[:14],
            ["format", "method", "version", "log_evidence", "evidence_kind", "converged", "iterations", "seconds",
             "weights", "latent", "parameters", "gradient", "prediction", "warnings"])
        self.assertEqual(result["format"], "gaussmith-result/1")
        self.assertEqual(result["method"], "laplace")
        self.assertEqual(result["evidence_kind"], "approximation")
        self.assertIs(result["converged"], True)
        self.assertEqual(len(result["latent"]["mean"]), 4)
        self.assertEqual(result["latent"], result["weights"])
        self.assertEqual(result["parameters"], {"kernel.signal_sd": 1.5, "kernel.lengthscale": 0.8})
        self.assertEqual(set(result["gradient"]), {"kernel.signal_sd", "kernel.lengthscale"})
        predicted = result["prediction"]
        for m, v, p, d, y in zip(predicted["latent_mean"], predicted["latent_variance"], predicted["probability"],
                                 predicted["log_density"], PROBLEM["predict"]["y"]):
            self.assertAlmostEqual(p, normal_cdf(m / math.sqrt(1 + v)), places=12)
            self.assertAlmostEqual(d, math.log(normal_cdf(y * m / math.sqrt(1 + v))), places=12)

    def test_gradient_by_differences(self):
        self.write("p.json", problem())
        gradient = self.result("fit", "--problem", "p.json")["gradient"]
        for name, value in (("kernel.signal_sd", 1.5), ("kernel.lengthscale", 0.8)):
            step = 1e-4
            up, down = (self.result("fit", "--problem", "p.json", "--set", f"{name}={value * math.exp(s)!r}", "--set",
                                    "laplace.tolerance=1e-11")["log_evidence"] for s in (step, -step))
            self.assertAlmostEqual(gradient[name], (up - down) / (2 * step), delta=1e-6 * (1 + abs(gradient[name])))

    def test_same_command_same_bytes(self):
        self.write("t.csv", class_table())
        command = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--kernel", "se-ard",
                   "--learn", "--restarts", "2", "--seed", "5", "--save", "m.gsm")
        for more in (("--json",), ()):
            first, model = self.succeed(*command, *more), self.read("m.gsm")
            second = self.succeed(*command, *more)
            self.assertEqual(without_times(first.stdout), without_times(second.stdout))
            self.assertEqual(first.stderr, second.stderr)
            self.assertEqual(model, self.read("m.gsm"))

    def test_default_method(self):
        self.write("t.csv", regression_table())
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood")
        self.assertEqual(self.result(*fit, "gaussian")["method"], "exact")
        self.assertEqual(self.result(*fit, "student-t")["method"], "laplace")

    def test_learning_improves_and_respects_its_limits(self):
        self.write("t.csv", regression_table())
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--learn")
        learned = self.result(*fit, "--fix", "kernel.signal_sd", "--bounds", "likelihood.variance=0.05,2", "--hyperprior",
                              "kernel.lengthscale=1,0.5")
        self.assertGreater(learned["learning"]["objective"], learned["learning"]["initial_objective"])
        by_name = learned["learning"]["parameters"]
        self.assertTrue(by_name["kernel.signal_sd"]["fixed"])
        self.assertEqual(by_name["kernel.signal_sd"]["initial"], by_name["kernel.signal_sd"]["value"])
        # The noise of the table has variance 0.01, so the lower bound holds it back.
        self.assertAlmostEqual(by_name["sites[0].variance"]["value"], 0.05, places=9)
        self.assertTrue(by_name["sites[0].variance"]["at_bound"])

    def test_learning_reaches_by_itself_what_restarts_reach(self):
        # Subjects and ages tell the same rows apart: which of the two has the short length-scale is a matter of 3.3.
        table = pathlib.Path(__file__).resolve().parents[2] / "data" / "epil.csv"
        fit = ("fit", "--data", str(table), "--target", "y", "--likelihood", "poisson", "--kernel", "se-ard", "--learn")
        own = self.result(*fit)["learning"]
        restarted = self.result(*fit, "--restarts", "10")["learning"]
        self.assertGreater(own["objective"], max(restarted["start_objectives"][1:]) - 1e-3)

    def test_kernel_expressions(self):
        self.write("t.csv", class_table())
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--kernel")
        names = self.result(*fit, "se-ard")["parameters"]
        self.assertEqual(set(names), {"kernel.signal_sd", "kernel.lengthscale[0]", "kernel.lengthscale[1]"})
        names = self.result(*fit, "se", "--set", "kernel.lengthscale=0.5,1.2")["parameters"]
        self.assertEqual((names["kernel.lengthscale[0]"], names["kernel.lengthscale[1]"]), (0.5, 1.2))
        names = self.result(*fit, "linear+periodic*(se+white)", "--set", "kernel.terms[1].terms[1].terms[0].signal_sd=3")
        self.assertEqual(names["parameters"]["kernel.terms[1].terms[1].terms[0].signal_sd"], 3.0)
        self.assertIn("kernel.terms[0].signal_sd", names["parameters"])

    def test_linear_model_is_the_problem_written_out(self):
        self.write("t.csv", class_table(rows=12))
        rows = [[float(c) for c in line.split(",")] for line in class_table(rows=12).splitlines()[1:]]
        self.write("p.json", json.dumps({
            "format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 3, "variance": 2.5},
            "design": {"type": "dense", "rows": [[1.0, a, b] for a, b, _ in rows]},
            "sites": [{"type": "bernoulli-logit", "y": [y for _, _, y in rows]}]}))
        table = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior",
                            "isotropic", "--set", "prior.variance=2.5")
        written = self.result("fit", "--problem", "p.json")
        self.assertEqual(table["log_evidence"], written["log_evidence"])
        self.assertEqual(table["weights"], written["weights"])
        sparse = "".join(f"{y:g} 1:{a!r} 2:{b!r}\n" for a, b, y in rows)
        self.write("t.svm", sparse)
        libsvm = self.result("fit", "--data", "t.svm", "--likelihood", "bernoulli-logit", "--prior", "isotropic", "--set",
                             "prior.variance=2.5")
        self.assertAlmostEqual(libsvm["log_evidence"], written["log_evidence"], places=9)

    def test_single_precision_is_the_fit_of_rounded_values(self):
        rows = [[float(c) for c in line.split(",")] for line in class_table(rows=40).splitlines()[1:]]
        single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
        self.write("t.svm", "".join(f"{y:g} 1:{a!r} 2:{b!r}\n" for a, b, y in rows))
        self.write("rounded.svm", "".join(f"{y:g} 1:{single(a)!r} 2:{single(b)!r}\n" for a, b, y in rows))
        fit = ("fit", "--likelihood", "bernoulli-logit", "--prior", "isotropic", "--set", "prior.variance=2.5", "--data")
        for more in ((), ("--no-intercept",), ("--form", "covariance"), ("--form", "sparse"), ("--learn",),
                     ("--method", "kl", "--set", "kl.covariance=diagonal")):
            once = self.result(*fit, "t.svm", "--single", "--save", "once.gsm", *more)
            rounded = self.result(*fit, "rounded.svm", "--save", "twice.gsm", *more)
            self.assertAlmostEqual(once["log_evidence"], rounded["log_evidence"], places=9)
            self.assertNotEqual(once["log_evidence"], self.result(*fit, "t.svm", *more)["log_evidence"])
            both = [self.result("predict", "--model", model, "--data", "t.svm")["mean"] for model in ("once.gsm", "twice.gsm")]
            for a, b in zip(*both):
                self.assertAlmostEqual(a, b, places=9)
        self.write("t.csv", class_table(rows=12))
        self.refuse("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--single",
                    says=("t.csv", "single precision", "LIBSVM"))

    def test_forms_agree(self):
        self.write("t.csv", class_table())
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-probit", "--prior", "isotropic",
               "--form")
        one, other = self.result(*fit, "covariance"), self.result(*fit, "precision")
        self.assertAlmostEqual(one["log_evidence"], other["log_evidence"], places=8)

    def test_notes_and_streams(self):
        self.write("t.csv", class_table(labels=("no", "yes")))
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit")
        done = self.succeed(*fit)
        self.assertIn("yes", done.stderr)
        self.assertIn("kernel parameters not given", done.stderr)
        self.assertNotIn("\r", done.stderr)
        self.assertIn("log evidence", done.stdout)
        self.assertIn("approximation", done.stdout)
        self.assertEqual(self.succeed(*fit, "--quiet").stderr, "")
        self.write("t.csv", class_table(labels=("0", "1")))
        self.assertIn("0", self.succeed(*fit).stderr)

    def test_expectation_propagation_says_how_it_went(self):
        # Pairs of neighbours, every third one in conflict: EP has to escalate, and its report has the path.
        rows = []
        for i in range(8):
            x, f = 0.3 * i, math.sin(0.3 * i)
            rows += [(x, f), (x + 0.01, f + (1.0 if i % 3 == 0 else 0.02))]
        self.write("r.csv", "x,y\n" + "\n".join(f"{x},{y}" for x, y in rows) + "\n")
        command = ("fit", "--data", "r.csv", "--target", "y", "--likelihood", "student-t", "--kernel", "se", "--method",
                   "ep", "--loo", "--set", "likelihood.scale=0.05", "--set", "likelihood.nu=3", "--set",
                   "kernel.signal_sd=1", "--set", "kernel.lengthscale=0.3")
        result = self.result(*command)
        self.assertTrue(result["converged"])
        self.assertLessEqual(result["residual"], 1e-8)
        self.assertTrue(any("because" in note for note in result["notes"]), result["notes"])
        self.assertEqual(len(result["leave_one_out"]["log_density"]), len(rows))
        text = self.succeed(*command).stdout
        self.assertIn("Path ", text)
        self.assertIn("Left out ", text)

    def test_constrained_covariances_predict_left_out_rows(self):
        self.write("t.csv", class_table())
        result = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior",
                             "isotropic", "--method", "kl", "--set", "kl.covariance=diagonal", "--loo")
        self.assertTrue(all(value < 0 for value in result["leave_one_out"]["log_density"] if value is not None))

    def test_missing_cells_can_be_dropped(self):
        self.write("t.csv", class_table() + "NA,1,1\n")
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "isotropic")
        self.refuse(*fit, says="a")
        done = self.succeed(*fit, "--drop-missing")
        self.assertIn("40 rows", done.stdout)
        self.assertIn("1", done.stderr)


class Predict(ToolTest):
    def columns(self, text):
        return list(csv.DictReader(io.StringIO(text)))

    def test_saved_problem_predicts_as_the_fit(self):
        self.write("p.json", problem())
        result = self.result("fit", "--problem", "p.json", "--save", "m.gsm")
        self.write("n.csv", "x1\n-0.5\n1.0\n")
        rows = self.columns(self.succeed("predict", "--model", "m.gsm", "--data", "n.csv").stdout)
        for name in ("latent_mean", "latent_variance", "mean", "variance", "probability"):
            for row, expected in zip(rows, result["prediction"][name]):
                self.assertAlmostEqual(float(row[name]), expected, places=11)

    def test_output_json_and_labels(self):
        self.write("t.csv", class_table(labels=("no", "yes")))
        self.succeed("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--standardize",
                     "--save", "m.gsm")
        predict = ("predict", "--model", "m.gsm", "--data", "t.csv", "--quantiles", "0.05,0.5", "--samples", "3")
        printed = self.succeed(*predict).stdout
        written = self.succeed(*predict, "--output", "p.csv")
        self.assertEqual(written.stdout, "")
        self.assertEqual(self.read("p.csv").decode(), printed)
        self.assertEqual(sorted(os.listdir(self.home.name)), ["m.gsm", "p.csv", "t.csv"])
        rows = self.columns(printed)
        self.assertEqual(len(rows), 40)
        self.assertEqual(list(rows[0]), ["latent_mean", "latent_variance", "mean", "variance", "probability", "label",
                                         "quantile_0.05", "quantile_0.5", "sample_1", "sample_2", "sample_3"])
        for row in rows:
            self.assertEqual(row["label"], "yes" if float(row["probability"]) > 0.5 else "no")
            self.assertAlmostEqual(float(row["mean"]), 2 * float(row["probability"]) - 1, places=12)
        parsed = json.loads(self.succeed(*predict, "--json").stdout)
        self.assertEqual([float(r["mean"]) for r in rows], parsed["mean"])
        self.assertEqual(self.succeed(*predict, "--seed", "1").stdout, self.succeed(*predict, "--seed", "1").stdout)
        self.assertNotEqual(self.succeed(*predict, "--seed", "1").stdout, self.succeed(*predict, "--seed", "2").stdout)

    def test_exposure_and_text_columns(self):
        lines = count_table().splitlines()
        table = [lines[0] + ",town"] + [line + ("," + ("Bonn", "Ulm")[i % 2]) for i, line in enumerate(lines[1:])]
        self.write("t.csv", "\n".join(table) + "\n")
        done = self.succeed("fit", "--data", "t.csv", "--target", "deaths", "--exposure", "expected", "--likelihood",
                            "poisson", "--prior", "isotropic", "--save", "m.gsm")
        self.assertIn("town", done.stderr)
        self.write("n.csv", "town,expected,x\nUlm,2,0.5\nUlm,4,0.5\n")
        rows = self.columns(self.succeed("predict", "--model", "m.gsm", "--data", "n.csv").stdout)
        for row, exposure in zip(rows, (2, 4)):
            mean, variance = float(row["latent_mean"]), float(row["latent_variance"])
            self.assertAlmostEqual(float(row["mean"]), exposure * math.exp(mean + variance / 2), places=9)
        self.write("n.csv", "town,expected,x\nRom,2,0.5\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "n.csv", says="Rom")
        self.write("n.csv", "town,x\nUlm,0.5\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "n.csv", says="expected")

    def test_libsvm_tables(self):
        rows = [[float(c) for c in line.split(",")] for line in class_table().splitlines()[1:]]
        self.write("t.svm", "".join(f"{y:g} 1:{a!r} 2:{b!r}\n" for a, b, y in rows))
        self.write("t.csv", class_table())
        predictions = []
        for table, target in (("t.svm", ()), ("t.csv", ("--target", "y"))):
            self.succeed("fit", "--data", table, *target, "--likelihood", "bernoulli-probit", "--save", "m.gsm")
            predictions.append(self.succeed("predict", "--model", "m.gsm", "--data", table).stdout)
        self.assertEqual(*predictions)
        self.write("n.svm", "1 2:0.5 7:1\n")
        self.succeed("fit", "--data", "t.svm", "--likelihood", "bernoulli-probit", "--save", "m.gsm")
        self.assertIn("1 value", self.succeed("predict", "--model", "m.gsm", "--data", "n.svm").stderr)

    def test_dropped_rows_are_named(self):
        self.write("t.csv", regression_table())
        self.succeed("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--save", "m.gsm")
        self.write("n.csv", "x\n1\nNA\n2\n")
        rows = self.columns(self.succeed("predict", "--model", "m.gsm", "--data", "n.csv", "--drop-missing").stdout)
        self.assertEqual([row["row"] for row in rows], ["1", "3"])


class Evaluate(ToolTest):
    def test_classes(self):
        self.write("t.csv", class_table())
        self.write("e.csv", class_table(rows=200, seed=9))
        self.succeed("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-probit", "--save", "m.gsm")
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "e.csv")
        predicted = json.loads(self.succeed("predict", "--model", "m.gsm", "--data", "e.csv", "--json").stdout)
        labels = [float(line.split(",")[2]) for line in class_table(rows=200, seed=9).splitlines()[1:]]
        p = predicted["probability"]
        self.assertEqual(scores["rows"], 200)
        self.assertEqual(scores["errors"], sum((q > 0.5) != (y > 0) for q, y in zip(p, labels)))
        self.assertAlmostEqual(scores["accuracy"], 1 - scores["errors"] / 200)
        density = [math.log(normal_cdf(y * m / math.sqrt(1 + v)))
                   for m, v, y in zip(predicted["latent_mean"], predicted["latent_variance"], labels)]
        self.assertAlmostEqual(scores["mean_log_predictive_density"], sum(density) / 200, places=10)
        brier = sum((q - (y > 0)) ** 2 for q, y in zip(p, labels)) / 200
        self.assertAlmostEqual(scores["calibration"]["brier"], brier, places=12)
        error = 0.0
        for b, bin in enumerate(scores["calibration"]["bins"]):
            inside = [(q, y > 0) for q, y in zip(p, labels) if min(int(q * 10), 9) == b]
            self.assertEqual(bin["count"], len(inside))
            error += abs(sum(q for q, _ in inside) - sum(y for _, y in inside)) / 200
        self.assertAlmostEqual(scores["calibration"]["expected_calibration_error"], error, places=12)
        self.assertIn("error rate", self.succeed("evaluate", "--model", "m.gsm", "--data", "e.csv").stdout)

    def test_numbers(self):
        self.write("t.csv", regression_table())
        self.write("e.csv", regression_table(rows=100, seed=11))
        self.succeed("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--learn", "--save", "m.gsm")
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "e.csv")
        predicted = json.loads(self.succeed("predict", "--model", "m.gsm", "--data", "e.csv", "--json").stdout)
        y = [float(line.split(",")[1]) for line in regression_table(rows=100, seed=11).splitlines()[1:]]
        mean, variance = predicted["mean"], predicted["variance"]
        self.assertAlmostEqual(scores["rmse"], math.sqrt(sum((a - b) ** 2 for a, b in zip(y, mean)) / 100), places=12)
        self.assertAlmostEqual(scores["mae"], sum(abs(a - b) for a, b in zip(y, mean)) / 100, places=12)
        density = [-0.5 * math.log(2 * math.pi * v) - 0.5 * (a - m) ** 2 / v for a, m, v in zip(y, mean, variance)]
        self.assertAlmostEqual(scores["mean_log_predictive_density"], sum(density) / 100, places=10)
        self.assertAlmostEqual(scores["mean_predictive_variance"], sum(variance) / 100, places=12)
        for entry in scores["calibration"]["coverage"]:
            inside = [abs(normal_cdf((a - m) / math.sqrt(v)) - 0.5) <= entry["level"] / 2
                      for a, m, v in zip(y, mean, variance)]
            self.assertAlmostEqual(entry["share"], sum(inside) / 100)

    def test_censored_rows(self):
        self.write("t.csv", "x,time,cens\n0.1,1.5,0\n0.5,2.5,1\n0.9,0.7,0\n1.3,3.1,1\n")
        self.succeed("fit", "--data", "t.csv", "--target", "time", "--censored", "cens", "--likelihood", "weibull",
                     "--save", "m.gsm")
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertEqual((scores["rows"], scores["censored"], scores["error_rows"]), (4, 2, 2))
        done = self.succeed("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertRegex(done.stdout, r"RMSE \S+, MAE \S+ over the 2 rows that are not censored, mean log .* over all")
        self.write("n.csv", "x\n0.4\n")
        self.succeed("predict", "--model", "m.gsm", "--data", "n.csv", "--quantiles", "0.5")


class Catalogues(ToolTest):
    def test_catalogues(self):
        for name, member in (("methods", "laplace"), ("likelihoods", "student-t"), ("kernels", "matern32")):
            listing = json.loads(self.succeed(name, "--json").stdout)[name]
            self.assertIn(member, [entry["name"] for entry in listing])
            self.assertIn(member, self.succeed(name).stdout)
            lines = self.succeed(name, "--markdown").stdout.splitlines()
            self.assertEqual(len({line.replace("\\|", "").count("|") for line in lines}), 1)
            self.assertIn(f"`{member}`", "\n".join(lines))

    def test_valid_combinations(self):
        listing = json.loads(self.succeed("likelihoods", "--json").stdout)["likelihoods"]
        methods = {entry["name"]: entry["methods"] for entry in listing}
        self.assertEqual(methods["gaussian"], ["exact", "laplace", "kl", "ep", "vb", "vmf", "is", "ais", "ess", "nuts"])
        self.assertNotIn("laplace", methods["laplace"])
        self.assertNotIn("vb", methods["poisson"])
        self.assertNotIn("exact", methods["poisson"])

    def test_version_and_help(self):
        version = os.environ.get("GAUSSMITH_VERSION")
        if version:
            self.assertEqual(self.succeed("--version").stdout, f"gaussmith {version}\n")
        for command in ((), ("fit",), ("predict",), ("evaluate",)):
            done = self.succeed(*command, "--help")
            self.assertIn("Example", done.stdout)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
