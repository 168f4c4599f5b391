"""Models of several classes through the tool: problems, tables, saved models, evaluation, and what is refused."""

import csv
import io
import json
import math
import os
import random
import unittest

from tool import ToolTest

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")
IRIS = os.path.join(DATA, "iris_train.csv")
IRIS_TEST = os.path.join(DATA, "iris_test.csv")


def problem(likelihood="multinomial-logit", **prior):
    return {
        "format": "gaussmith-problem/1",
        "prior": {"type": "gp", "inputs": [[-1.0], [-0.2], [0.3], [0.9], [1.4]],
                  "kernel": {"type": "se", "signal_sd": 1.5, "lengthscale": 0.8}, "latents": 3, **prior},
        "design": {"type": "identity"},
        "sites": [{"type": likelihood, "y": [0, 0, 1, 2, 2]}],
        "predict": {"inputs": [[0.0], [5.0]], "y": [1, 2]},
    }


def table(labels=("cat", "dog", "owl"), rows=24, seed=3):
    draw = random.Random(seed)
    lines = ["size,weight,kind"]
    for i in range(rows):
        c = i % len(labels)
        lines.append(f"{2.0 * c + draw.gauss(0, 0.5):.4f},{draw.gauss(-c, 0.7):.4f},{labels[c]}")
    return "\n".join(lines) + "\n"


class Problems(ToolTest):
    def fit(self, content, *arguments):
        self.write("p.json", json.dumps(content))
        return self.result("fit", "--problem", "p.json", *arguments)

    def test_everything_by_row_has_a_second_index(self):
        out = self.fit(problem(), "--method", "laplace", "--full", "--loo")
        self.assertEqual(out["classes"], [0, 1, 2])
        self.assertEqual(out["evidence_kind"], "approximation")
        for part, rows in (("latent", 5), ("weights", 5)):
            for field in ("mean", "variance"):
                self.assertEqual([len(row) for row in out[part][field]], [3] * rows)
        self.assertEqual([[len(row) for row in block] for block in out["latent"]["covariance"]], [[3] * 3] * 5)
        for n in range(5):
            for c in range(3):
                self.assertAlmostEqual(out["latent"]["covariance"][n][c][c], out["latent"]["variance"][n][c], places=12)
        prediction = out["prediction"]
        self.assertEqual(len(prediction["latent_covariance"][1]), 3)
        self.assertNotIn("mean", prediction)
        self.assertNotIn("log_density_lower", prediction)
        for t, label in enumerate(prediction["label"]):
            p = prediction["probability"][t]
            self.assertLessEqual(abs(sum(p) - 1.0), prediction["probability_error"][t] + 1e-12)
            self.assertEqual(label, p.index(max(p)))
            self.assertAlmostEqual(prediction["log_density"][t], math.log(p[[1, 2][t]]), places=12)
        self.assertEqual([len(row) for row in out["leave_one_out"]["mean"]], [3] * 5)
        self.assertEqual(len(out["leave_one_out"]["log_density"]), 5)
        self.assertNotIn("joint", out)

    def test_kl_adds_lower_bounds(self):
        out = self.fit(problem(), "--set", "predict.tolerance=1e-8")
        self.assertEqual((out["method"], out["evidence_kind"]), ("kl", "lower-bound"))
        prediction = out["prediction"]
        lower = prediction["log_density_lower"]
        for t in range(2):
            for c in range(3):
                self.assertLessEqual(lower[t][c], math.log(prediction["probability"][t][c]) + 1e-8)
            self.assertAlmostEqual(sum(prediction["probability_at_mean"][t]), 1.0, places=12)
        self.assertAlmostEqual(out["joint"]["sum_lower"], lower[0][1] + lower[1][2], places=12)
        self.assertIsNone(out["joint"]["evidence_gap"])
        self.assertIsNone(out["joint"]["lower"])

    def test_probit_and_its_methods(self):
        out = self.fit(problem("multinomial-probit"))
        self.assertEqual((out["method"], out["evidence_kind"]), ("ep", "approximation"))
        self.assertNotIn("log_density_lower", out["prediction"])
        bound = self.fit(problem("multinomial-probit"), "--method", "vmf")
        self.assertEqual(bound["evidence_kind"], "lower-bound")
        self.assertLess(bound["log_evidence"], out["log_evidence"])
        self.refuse("fit", "--problem", "p.json", "--method", "laplace", says=("multinomial-probit", "ep", "vmf"))

    def test_a_ridge_over_all_functions_changes_nothing(self):
        """K^c + u1' + 1u' gives the same evidence: softmax sees contrasts only."""
        plain = self.fit(problem(latent_covariance=[[1.5, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.2]]))
        u = [0.3, 0.5, 0.1]
        shifted = [[k + u[i] + u[j] for j, k in enumerate(row)]
                   for i, row in enumerate([[1.5, 0.2, 0.1], [0.2, 1.0, 0.3], [0.1, 0.3, 1.2]])]
        self.assertAlmostEqual(self.fit(problem(latent_covariance=shifted))["log_evidence"], plain["log_evidence"],
                               places=8)

    def test_gradients_are_differences_of_the_evidence(self):
        base = problem(latent_covariance={"model": "full", "factor": [[1, 0, 0], [0.4, 1.5, 0], [-0.6, 0.2, 0.8]]})
        name = "prior.latent_covariance.factor[1][0]"
        out = self.fit(base, "--method", "laplace")
        self.assertEqual(out["parameters"][name], 0.4)
        step = 1e-4
        up, down = (self.fit(base, "--method", "laplace", "--set", f"{name}={0.4 + sign * step}")["log_evidence"]
                    for sign in (1, -1))
        self.assertAlmostEqual(out["gradient"][name], (up - down) / (2 * step), places=6)

    def test_options_of_the_run(self):
        for rule in ("auto", "quadrature", "qmc"):
            out = self.fit(problem(), "--set", f"predict.probability={rule}", "--set", "predict.tolerance=1e-3")
            self.assertLessEqual(max(out["prediction"]["probability_error"]), 1e-3)
        self.refuse("fit", "--problem", "p.json", "--set", "predict.probability=magic",
                    says=("predict.probability", "quadrature"))
        self.refuse("fit", "--problem", "p.json", "--set", "predict.tolerance=2", says="between 0 and 1")
        self.refuse("fit", "--problem", "p.json", "--set", "predict.tolerence=1e-3", says="did you mean")

    def test_bad_problems_say_what_is_accepted(self):
        cases = (
            (problem(latents=2), ("sites[0]", "row 3", "0 to 1")),
            (problem(latent_covariance={"model": "ful"}), ("latent_covariance.model", "did you mean full?")),
            (problem(inducing={"count": 3000}), "prior.inducing.count"),
            (problem(latent_covariance=[[1, 0], [0, 1]]), ("prior.latent_covariance", "3 rows of 3")),
        )
        for content, says in cases:
            self.write("p.json", json.dumps(content))
            self.refuse("fit", "--problem", "p.json", says=says)

    def test_methods_that_do_not_know_the_likelihood(self):
        self.write("p.json", json.dumps(problem()))
        self.refuse("fit", "--problem", "p.json", "--method", "ep", says=("multinomial-logit", "laplace", "kl"))
        self.refuse("fit", "--problem", "p.json", "--method", "vb", says=("laplace", "kl"))

    def test_saved_from_a_problem(self):
        out = self.fit(problem(), "--save", "m.gsm")
        self.write("new.csv", "x1,y\n0,1\n5,2\n")
        predicted = json.loads(self.succeed("predict", "--model", "m.gsm", "--data", "new.csv", "--json").stdout)
        self.assertEqual(predicted["classes"], ["0", "1", "2"])
        for field in ("latent_mean", "latent_variance", "probability", "log_density_lower", "probability_at_mean"):
            for a, b in zip(predicted[field], out["prediction"][field]):
                for x, y in zip(a, b):
                    self.assertAlmostEqual(x, y, places=9)
        self.succeed("evaluate", "--model", "m.gsm", "--data", "new.csv")


class Tables(ToolTest):
    def fit(self, *arguments, data="t.csv", likelihood="multinomial-logit"):
        return self.run_tool("fit", "--data", data, "--target", "kind", "--likelihood", likelihood, *arguments)

    def refuse_fit(self, *arguments, says, data="t.csv", likelihood="multinomial-logit"):
        self.refuse("fit", "--data", data, "--target", "kind", "--likelihood", likelihood, *arguments, says=says)

    def test_from_fit_to_predictions(self):
        content = table(labels=("dog", '"cat, small"', "owl"))
        self.write("t.csv", content)
        done = self.fit("--save", "m.gsm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("labels of \"kind\": \"cat, small\" -> 0, dog -> 1, owl -> 2", done.stderr)
        self.assertIn("8 x dog", done.stdout)
        self.assertIn("3 latent functions", done.stdout)
        self.assertIn("error rate", done.stdout)
        text = self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        classes = ["cat, small", "dog", "owl"]
        self.assertEqual(list(rows[0]), [f"{what}_{c}" for what in ("latent_mean", "latent_variance", "probability")
                                         for c in classes] + ["label"])
        for row in rows:
            p = [float(row[f"probability_{c}"]) for c in classes]
            self.assertAlmostEqual(sum(p), 1.0, places=3)
            self.assertEqual(row["label"], classes[p.index(max(p))])
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertEqual(scores["classes"], classes)
        self.assertEqual(sum(map(sum, scores["confusion"])), 24)
        self.assertEqual([sum(row) for row in scores["confusion"]], [8, 8, 8])
        self.assertEqual(scores["errors"], 24 - sum(scores["confusion"][c][c] for c in range(3)))
        self.assertLessEqual(scores["mean_log_density_lower"], scores["mean_log_predictive_density"] + 1e-4)
        self.assertIn("mean_log_probability_at_mean", scores)
        self.assertGreater(scores["calibration"]["brier"], 0.0)
        # The same figures by hand from the predictions.
        truth = [row["kind"] for row in csv.DictReader(io.StringIO(content))]
        brier = sum(sum((float(row[f"probability_{c}"]) - (c == y)) ** 2 for c in classes)
                    for row, y in zip(rows, truth)) / 24
        self.assertAlmostEqual(scores["calibration"]["brier"], brier, places=6)
        text = self.succeed("evaluate", "--model", "m.gsm", "--data", "t.csv").stdout
        self.assertIn("Confusion", text)

    def test_the_same_command_gives_the_same_bytes(self):
        self.write("t.csv", table(labels=("a", "b", "c", "d", "e")))
        self.refuse_fit("--set", "predict.probability=quadrature", says=("3 classes", "has 5", "qmc"))
        self.assertEqual(self.fit("--save", "m.gsm").returncode, 0)
        first = self.succeed("predict", "--model", "m.gsm", "--data", "t.csv", "--seed", "5").stdout
        self.assertEqual(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv", "--seed", "5").stdout, first)

    def test_classes_fix_set_and_order(self):
        self.write("t.csv", table())
        out = self.result("fit", "--data", "t.csv", "--target", "kind", "--likelihood", "multinomial-logit",
                          "--classes", "owl,emu,cat,dog", "--save", "m.gsm")
        self.assertEqual(out["classes"], ["owl", "emu", "cat", "dog"])
        self.assertEqual(len(out["latent"]["mean"][0]), 4)
        predicted = self.result("predict", "--model", "m.gsm", "--data", "t.csv")
        self.assertEqual(predicted["classes"], ["owl", "emu", "cat", "dog"])

    def test_integer_labels_and_sparse_text(self):
        self.write("t.csv", table(labels=("10", "2", "-3")))
        out = self.result("fit", "--data", "t.csv", "--target", "kind", "--likelihood", "multinomial-logit")
        self.assertEqual(out["classes"], ["-3", "2", "10"])
        lines = [f"{i % 3} 1:{i % 3 + 0.1 * (i % 4)} {2 + i % 2}:1" for i in range(15)]
        self.write("t.svm", "\n".join(lines) + "\n")
        for prior in ("gp", "linear"):
            out = self.result("fit", "--data", "t.svm", "--likelihood", "multinomial-logit", "--prior", prior, "--save",
                              "m.gsm")
            self.assertEqual(out["classes"], ["0", "1", "2"])
            self.assertEqual(self.result("evaluate", "--model", "m.gsm", "--data", "t.svm")["rows"], 15)

    def test_linear_models_and_their_coefficients(self):
        self.write("t.csv", table())
        for setting in ((), ("--set", "prior.variance=2")):
            out = self.result("fit", "--data", "t.csv", "--target", "kind", "--likelihood", "multinomial-logit",
                              "--prior", "linear", "--save", "m.gsm", *setting)
            self.assertEqual([len(row) for row in out["weights"]["mean"]], [3, 3, 3])
            names = [c["name"] for c in out["coefficients"]]
            self.assertEqual(names[:3], ["(intercept) [cat]", "size [cat]", "weight [cat]"])
            self.assertEqual(len(names), 9)
            # Coefficients say what predictions say.
            values = {c["name"]: c["mean"] for c in out["coefficients"]}
            predicted = self.result("predict", "--model", "m.gsm", "--data", "t.csv")
            size, weight = map(float, table().splitlines()[1].split(",")[:2])
            for c, name in enumerate(out["classes"]):
                eta = values[f"(intercept) [{name}]"] + size * values[f"size [{name}]"] + weight * values[f"weight [{name}]"]
                self.assertAlmostEqual(predicted["latent_mean"][0][c], eta, places=8)

    def test_learning_moves_the_covariance_of_the_functions(self):
        self.write("t.csv", table())
        arguments = ("fit", "--data", "t.csv", "--target", "kind", "--likelihood", "multinomial-logit", "--kernel", "se",
                     "--method", "laplace", "--latent-covariance")
        plain = self.result(*arguments, "identity", "--learn")
        full = self.result(*arguments, "full", "--learn", "--hyperpriors", "weak")
        self.assertIn("prior.latent_covariance.factor[1][0]", full["learning"]["parameters"])
        moved = self.result(*arguments, "diagonal", "--learn", "--hyperpriors", "weak", "--set",
                            "prior.latent_covariance.weight=1,2,3")
        self.assertEqual(moved["learning"]["parameters"]["prior.latent_covariance.weight[2]"]["initial"], 3)
        self.assertTrue(plain["converged"])
        self.refuse(*arguments, "full", "--learn", "--bounds", "prior.latent_covariance.factor[1][0]=2,1",
                    says="LOWER < UPPER")
        self.refuse(*arguments, "fulll", says=("--latent-covariance", "did you mean full?", "centred-diagonal"))

    def test_labels_that_are_refused(self):
        self.write("t.csv", table())
        self.refuse_fit(likelihood="bernoulli-logit", says=("cat, dog, owl", "multinomial-logit", "multinomial-probit"))
        self.refuse_fit("--classes", "cat,dog", says=("t.csv, line 4", "\"owl\"", "cat, dog"))
        self.refuse_fit("--classes", "cat", says="two names or more")
        self.refuse_fit("--inducing", "5000", says="count of 5000")
        self.refuse_fit("--prior", "laplace", says=("laplace", "multinomial-logit"))
        self.refuse_fit("--random", "1|size", says=("--random", "multinomial-logit"))
        self.refuse_fit("--kernel", "se(size)", says=("multinomial-logit", "both"))
        self.refuse_fit("--classes", "cat,dog", likelihood="poisson", says=("--classes", "multinomial-logit"))
        self.write("same.csv", "size,kind\n1,a\n2,a\n3,a\n")
        self.refuse_fit(data="same.csv", says=("same.csv, line 4", "all 3 labels"))
        self.assertEqual(self.fit("--classes", "a,b", data="same.csv").returncode, 0)
        self.write("own.csv", "size,kind\n1,a\n2,b\n3,c\n")
        self.refuse_fit(data="own.csv", says=("own.csv, line 4", "label of its own"))
        self.write("half.csv", "size,kind\n1,0\n2,1\n3,1.5\n4,0\n")
        self.refuse_fit(data="half.csv", says=("half.csv, line 4", "1.5", "integers"))
        self.refuse("fit", "--data", "half.csv", "--target", "size", "--likelihood", "gaussian", "--full",
                    says="--full")

    def test_tables_that_do_not_suit_a_model(self):
        self.write("t.csv", table())
        self.assertEqual(self.fit("--save", "m.gsm").returncode, 0)
        self.write("new.csv", "size,weight,kind\n1,1,cat\n1,1,emu\n")
        self.refuse("evaluate", "--model", "m.gsm", "--data", "new.csv", says=("new.csv, line 3", "\"emu\"", "cat, dog, owl"))
        self.refuse("predict", "--model", "m.gsm", "--data", "new.csv", "--quantiles", "0.5", says="quantiles")
        self.refuse("predict", "--model", "m.gsm", "--data", "new.csv", "--interval", says="interval")
        self.refuse("predict", "--model", "m.gsm", "--data", "new.csv", "--set", "kernel.signal_sd=2",
                    says="predict.probability")
        drawn = self.succeed("predict", "--model", "m.gsm", "--data", "new.csv", "--samples", "2").stdout
        self.assertIn("sample_2", drawn)
        self.assertIn(drawn.splitlines()[1].rsplit(",", 1)[1], ("cat", "dog", "owl"))

    def test_several_models_are_compared(self):
        self.write("t.csv", table())
        for name, method in (("a.gsm", "laplace"), ("b.gsm", "kl")):
            self.assertEqual(self.fit("--method", method, "--save", name).returncode, 0)
        out = self.result("evaluate", "--model", "a.gsm", "--model", "b.gsm", "--data", "t.csv")
        self.assertEqual(out["format"], "gaussmith-evaluations/1")
        self.assertNotIn("mean_log_density_lower", out["models"][0])
        self.assertIn("mean_log_density_lower", out["models"][1])
        self.assertEqual(self.fit("--classes", "owl,dog,cat", "--save", "c.gsm").returncode, 0)
        self.refuse("evaluate", "--model", "a.gsm", "--model", "c.gsm", "--data", "t.csv", says="different classes")

    def test_many_classes_are_not_all_told(self):
        self.write("t.csv", table(labels=[f"c{i:02d}" for i in range(14)], rows=42))
        done = self.fit("--method", "laplace", "--save", "m.gsm")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("and 4 more classes", done.stdout)
        self.assertNotIn("c13", done.stdout + done.stderr)
        self.assertIn("most frequent mistakes", self.succeed("evaluate", "--model", "m.gsm", "--data", "t.csv").stdout)

    def test_listings_say_how_many_latents(self):
        likelihoods = {entry["name"]: entry for entry in self.result("likelihoods")["likelihoods"]}
        self.assertEqual(likelihoods["multinomial-logit"]["latents"], "one per class")
        self.assertEqual(likelihoods["multinomial-logit"]["methods"], ["laplace", "kl", "is", "ais", "ess", "nuts"])
        self.assertEqual(likelihoods["poisson"]["latents"], 1)
        methods = {entry["name"]: entry for entry in self.result("methods")["methods"]}
        self.assertEqual(methods["kl"]["latents"], ["1", "one per class"])
        self.assertEqual(methods["exact"]["latents"], ["1"])
        self.assertEqual(methods["vmf"]["latents"], ["1", "one per class"])
        self.assertIn("one per class", self.succeed("likelihoods").stdout)


class Iris(ToolTest):
    def test_species_are_told_apart(self):
        out = self.result("fit", "--data", IRIS, "--target", "species", "--likelihood", "multinomial-logit",
                          "--method", "laplace", "--set", "kernel.lengthscale=2", "--set", "kernel.signal_sd=5",
                          "--save", "iris.gsm")
        self.assertEqual(out["classes"], ["setosa", "versicolor", "virginica"])
        scores = self.result("evaluate", "--model", "iris.gsm", "--data", IRIS_TEST)
        self.assertLessEqual(scores["errors"], 6)
        self.assertEqual(scores["confusion"][0], [25, 0, 0])


if __name__ == "__main__":
    unittest.main()
