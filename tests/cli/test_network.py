"""--prior network and sparse-linear: fits, files, refusals."""

import csv
import io
import json
import math
import random
import unittest

from tool import ToolTest, class_table, count_table

FIT = ("fit", "--likelihood", "gaussian", "--target", "y")
# One short start is enough for what is tested of the tool.
QUICK = ("--units", "2", "--set", "network.starts=1")


def sine_table(rows=50, seed=5):
    """y is the sine of x; z is noise, k a column of texts without effect, c never varies."""
    draw = random.Random(seed)
    lines = ["x,z,k,c,y"]
    for _ in range(rows):
        x = draw.uniform(-2, 2)
        lines.append(f"{1000 + 50 * x:.6f},{draw.gauss(0, 1):.6f},{draw.choice('pqr')},7,"
                     f"{300 + 40 * math.sin(1.5 * x) + 4 * draw.gauss(0, 1):.6f}")
    return "\n".join(lines) + "\n"


def linear_table(rows=40, columns=6, seed=6, noise=0.2):
    draw = random.Random(seed)
    lines = [",".join(f"x{j + 1}" for j in range(columns)) + ",y"]
    for _ in range(rows):
        x = [draw.gauss(0, 1) for _ in range(columns)]
        lines.append(",".join(f"{v:.6f}" for v in x) + f",{5 + 3 * x[0] - 2 * x[3] + noise * draw.gauss(0, 1):.6f}")
    return "\n".join(lines) + "\n"


class Networks(ToolTest):
    def test_raw_tables_find_what_matters(self):
        self.write("t.csv", sine_table())
        fit = self.result(*FIT, "--data", "t.csv", "--prior", "network", *QUICK, "--loo", "--save", "m.gsm", "--quiet")
        self.assertEqual((fit["method"], fit["evidence_kind"]), ("ep", "approximation"))
        network = fit["network"]
        self.assertEqual(network["units_asked"], 2)
        self.assertLessEqual(network["units"], 2)
        shares = {input["name"]: input["share"] for input in network["relevance"]}
        self.assertAlmostEqual(sum(shares.values()), 1.0, delta=1e-9)
        self.assertEqual(set(shares), {"x", "z", "k=p", "k=q", "k=r", "c"})
        self.assertEqual(shares["c"], 0.0)
        self.assertEqual(max(shares, key=shares.get), "x")
        self.assertEqual([i["share"] for i in network["relevance"]], sorted(shares.values(), reverse=True))
        self.assertFalse(network["relevance"][0]["irrelevant"])
        # The noise is in the units of the responses: its sd is 4.
        self.assertAlmostEqual(0.5 * network["noise"]["mean"], math.log(4), delta=0.5)
        groups = [scale["group"] for scale in network["log_scales"]]
        self.assertTrue(any("k" == group.split(" ")[-1] or "k" in group for group in groups), groups)
        self.assertAlmostEqual(sum(start["weight"] for start in network["starts"]), 1.0, delta=1e-9)
        self.assertEqual(len(fit["leave_one_out"]["log_density"]), 50)
        self.assertLess(fit["training"]["rmse"], 12)

        # The saved model predicts the rows of the fit as the fit has them.
        predicted = list(csv.DictReader(io.StringIO(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stdout)))
        for row, mean, variance in zip(predicted, fit["latent"]["mean"], fit["latent"]["variance"]):
            self.assertAlmostEqual(float(row["latent_mean"]), mean, delta=1e-6 * 300)
            self.assertAlmostEqual(float(row["latent_variance"]) / variance, 1.0, delta=1e-6)
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertAlmostEqual(scores["rmse"], fit["training"]["rmse"], delta=1e-9)
        self.assertEqual(scores["method"], "ep")

    def test_a_start_with_an_idle_unit_does_not_run_away(self):
        # A unit without effect got an output weight of -9.6, and what it said of its activations was narrower than any rule
        # saw: the log evidence went to 6e6 and stayed there.
        draw = random.Random("friedman 105")
        lines = [",".join(f"x{j + 1}" for j in range(10)) + ",y"]
        for _ in range(200):
            x = [draw.random() for _ in range(10)]
            f = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
            lines.append(",".join(map(repr, [*x, f + draw.gauss(0, 1)])))
        self.write("f.csv", "\n".join(lines) + "\n")
        done = self.run_tool(*FIT, "--data", "f.csv", "--prior", "network", "--set", "network.starts=1", "--set",
                             "network.max_iterations=60", "--seed", "105", "--json", "--quiet")
        self.assertEqual(done.returncode, 2, done.stderr)
        start, = json.loads(done.stdout)["network"]["starts"]
        self.assertLess(start["residual"], 1.0)
        self.assertLess(abs(start["log_evidence"]), 1000)

    def test_same_seed_same_bytes_at_any_number_of_threads(self):
        self.write("t.csv", sine_table(rows=30))
        runs = [self.run_tool(*FIT, "--data", "t.csv", "--prior", "network", "--units", "2", "--set", "network.starts=2", "--set",
                              "network.max_iterations=30", "--seed", "3", "--threads", threads, "--json", "--save", f"{threads}.gsm")
                for threads in ("1", "2")]
        for done in runs:
            self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertEqual(self.read("1.gsm"), self.read("2.gsm"))
        one, two = (json.loads(done.stdout) for done in runs)
        for result in (one, two):
            del result["seconds"]
        self.assertEqual(one, two)
        # 30 sweeps are too few or enough: exit code, result and warning say the same.
        self.assertEqual(one["converged"], runs[0].returncode == 0)

    def test_two_classes_counts_and_offsets(self):
        self.write("c.csv", class_table(labels=("no", "yes")))
        fit = self.result("fit", "--data", "c.csv", "--target", "y", "--likelihood", "bernoulli-probit", "--prior", "network",
                          *QUICK, "--save", "c.gsm")
        self.assertIsNone(fit["network"]["noise"])
        self.assertLess(fit["training"]["error_rate"], 0.3)
        rows = list(csv.DictReader(io.StringIO(self.succeed("predict", "--model", "c.gsm", "--data", "c.csv").stdout)))
        self.assertEqual({row["label"] for row in rows}, {"no", "yes"})
        self.write("d.csv", count_table())
        fit = self.result("fit", "--data", "d.csv", "--target", "deaths", "--exposure", "expected", "--likelihood", "poisson",
                          "--prior", "sparse-linear", "--save", "d.gsm")
        slope = {c["name"]: c for c in fit["coefficients"]}["x"]
        self.assertLess(abs(slope["mean"] - 0.5), 3 * slope["sd"])
        self.assertAlmostEqual(slope["ratio"], math.exp(slope["mean"]), delta=1e-12)
        self.refuse("predict", "--model", "d.gsm", "--data", self.write("n.csv", "x\n1\n"), says="expected")


    def test_a_linear_truth_switches_all_units_off(self):
        self.write("t.csv", linear_table(rows=60, noise=1.0))
        fit = self.result(*FIT, "--data", "t.csv", "--prior", "network", "--units", "1", "--set", "network.starts=1", "--loo",
                          "--save", "m.gsm")
        self.assertEqual(fit["network"]["units"], 0)
        self.assertEqual([i["name"] for i in fit["network"]["relevance"]][:2], ["x1", "x4"])
        self.assertTrue(all(map(math.isfinite, fit["leave_one_out"]["log_density"])))
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertAlmostEqual(scores["rmse"], fit["training"]["rmse"], delta=1e-9)


class SparseLinear(ToolTest):
    def test_coefficients_are_on_the_scale_of_the_table(self):
        table = linear_table()
        self.write("t.csv", table)
        fit = self.result(*FIT, "--data", "t.csv", "--prior", "sparse-linear", "--coefficients", "c.csv")
        self.assertTrue(fit["converged"])
        self.assertEqual(fit["network"]["units"], 0)
        found = {c["name"]: c for c in fit["coefficients"]}
        for name, truth in {"(intercept)": 5, "x1": 3, "x2": 0, "x4": -2}.items():
            self.assertLess(abs(found[name]["mean"] - truth), 4 * found[name]["sd"] + 0.01, name)
        self.assertEqual([i["name"] for i in fit["network"]["relevance"]][:2], ["x1", "x4"])
        # The latent function is what the coefficients say.
        rows = [[float(v) for v in row.split(",")] for row in table.splitlines()[1:]]
        for row, mean in zip(rows, fit["latent"]["mean"]):
            by_hand = found["(intercept)"]["mean"] + sum(found[f"x{j + 1}"]["mean"] * row[j] for j in range(6))
            self.assertAlmostEqual(by_hand, mean, delta=1e-8)
        self.assertEqual(len(self.read("c.csv").splitlines()), 8)
        # In other units the coefficients change with them, the evidence does not but for the scale of y.
        other = "\n".join([table.splitlines()[0]] + [",".join(f"{(100 * row[0] + 7 if j == 0 else row[j])!r}" for j in range(7))
                                                    for row in rows]) + "\n"
        self.write("u.csv", other)
        scaled = self.result(*FIT, "--data", "u.csv", "--prior", "sparse-linear")
        self.assertAlmostEqual(scaled["log_evidence"], fit["log_evidence"], delta=1e-6)
        self.assertAlmostEqual(100 * scaled["coefficients"][1]["mean"], found["x1"]["mean"], delta=1e-6)

    def test_more_columns_than_rows(self):
        self.write("t.csv", linear_table(rows=30, columns=60))
        fit = self.result(*FIT, "--data", "t.csv", "--prior", "sparse-linear", "--weights", "ard", "--save", "m.gsm")
        self.assertTrue(fit["converged"])
        self.assertEqual({i["name"] for i in fit["network"]["relevance"][:2]}, {"x1", "x4"})
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertAlmostEqual(scores["rmse"], fit["training"]["rmse"], delta=1e-8)

    def test_groups_share_a_scale(self):
        self.write("t.csv", linear_table())
        fit = self.result(*FIT, "--data", "t.csv", "--prior", "sparse-linear", "--weights", "ard", "--set",
                          "network.group.pair=x1,x4", "--set", "network.scale_prior=-1,2", "--set", "network.noise_prior=-3,2")
        scales = {i["name"]: i["linear_scale"] for i in fit["network"]["relevance"]}
        self.assertEqual(scales["x1"], scales["x4"])
        self.assertNotEqual(scales["x1"], scales["x2"])
        self.assertEqual(sum("pair" in scale["group"] for scale in fit["network"]["log_scales"]), 1)

    def test_libsvm_text(self):
        rows = [row.split(",") for row in linear_table().splitlines()[1:]]
        self.write("t.svm", "".join(row[-1] + " " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row[:-1])) + "\n" for row in rows))
        self.write("t.csv", linear_table())
        both = [self.result("fit", "--data", name, "--likelihood", "gaussian", "--prior", "sparse-linear", *extra)
                for name, extra in (("t.svm", ()), ("t.csv", ("--target", "y")))]
        self.assertEqual(both[0]["log_evidence"], both[1]["log_evidence"])
        self.assertEqual(both[0]["network"]["relevance"][0]["name"], "feature[1]")


class Problems(ToolTest):
    def problem(self, **changes):
        """A sparse linear problem; objects among the changes are merged into what is there."""
        draw = random.Random(8)
        inputs = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(25)]
        y = [2 * x[0] + 0.3 * draw.gauss(0, 1) for x in inputs]
        whole = {"format": "gaussmith-problem/1",
                 "prior": {"type": "sparse-linear", "inputs": inputs, "weights": "laplace", "names": ["dose", "age"]},
                 "sites": [{"type": "gaussian", "y": y}],
                 "predict": {"inputs": [[1.0, 0.0], [0.0, 1.0]], "y": [2.0, 0.0]}}
        for name, value in changes.items():
            if name in whole and isinstance(whole[name], dict) and isinstance(value, dict):
                whole[name] = {**whole[name], **value}
            else:
                whole[name] = value
        return self.write("p.json", json.dumps(whole))

    def test_a_problem_is_the_table(self):
        fit = self.result("fit", "--problem", self.problem(), "--save", "m.gsm")
        self.assertEqual({i["name"] for i in fit["network"]["relevance"]}, {"dose", "age"})
        self.assertEqual(len(fit["prediction"]["log_density"]), 2)
        self.assertLess(abs(fit["prediction"]["mean"][0] - 2), 0.5)
        whole = json.loads(self.read("p.json"))
        rows = ["x1,x2,y"] + [f"{x[0]!r},{x[1]!r},{y!r}" for x, y in zip(whole["prior"]["inputs"], whole["sites"][0]["y"])]
        self.write("t.csv", "\n".join(rows) + "\n")
        table = self.result(*FIT, "--data", "t.csv", "--prior", "sparse-linear")
        self.assertEqual(table["log_evidence"], fit["log_evidence"])
        self.write("n.csv", "x1,x2\n1,0\n0,1\n")
        found = self.result("predict", "--model", "m.gsm", "--data", "n.csv")
        self.assertEqual(found["mean"], fit["prediction"]["mean"])

    def test_hidden_units_and_all_fields(self):
        changes = {"type": "network", "units": 1, "weights": "ard", "groups": {"all": [0, 1]}, "linear": True,
                   "scale_prior": [-2, 3], "noise_prior": [-2, 2], "bias_sd": 1, "intercept_sd": 1, "output_scale": 2,
                   "output_degrees": 4}
        done = self.run_tool("fit", "--problem", self.problem(prior=changes), "--set", "network.starts=1", "--json")
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertEqual(json.loads(done.stdout)["network"]["units_asked"], 1)

    def test_bad_problems(self):
        for changes, says in [
            ({"prior": {"units": 0, "type": "network"}}, "prior.units"),
            ({"prior": {"units": 3}}, 'prior: unknown field "units"'),
            ({"prior": {"weights": "ridge"}}, "prior.weights: there are no weights ridge"),
            ({"prior": {"weights": "ard", "groups": {"a": [0], "b": [0, 1]}}}, "dose is in a and in b"),
            ({"prior": {"weights": "ard", "groups": {"a": [2]}}}, "prior.groups.a[0]"),
            ({"prior": {"groups": {"a": [0]}}}, "groups of inputs go with weights ard"),
            ({"prior": {"scale_prior": [0]}}, "prior.scale_prior"),
            ({"prior": {"names": ["a"]}}, "input_names has 1 names"),
            ({"prior": {"inputs": []}}, "prior.inputs"),
            ({"design": {"type": "identity"}}, "design: a network sees its inputs alone"),
            ({"weights": [1.0] * 25}, "weights: rows of a network have no weights"),
            ({"sites": [{"type": "gaussian", "y": [1.0] * 25}]}, "responses that vary"),
            ({"sites": [{"type": "gaussian", "y": [1.0] * 24}]}, "the inputs have 25"),
            ({"sites": [{"type": "student-t", "y": [float(i) for i in range(25)], "nu": 4, "scale": 1}]}, "free parameter"),
            ({"sites": [{"type": "gaussian", "y": [float(i) for i in range(12)]},
                        {"type": "gaussian", "y": [float(i) for i in range(13)]}]}, "expected one block"),
            ({"predict": {"inputs": [[1.0]]}}, "predict.inputs"),
        ]:
            with self.subTest(says=says):
                self.problem(**changes)
                self.refuse("fit", "--problem", "p.json", says=("p.json: ", says))
        self.problem()
        for options, says in [(("--method", "laplace"), "ep alone"), (("--learn",), "nothing is left to learn"),
                              (("--set", "network.linear=no"), "a problem file is the whole model")]:
            self.refuse("fit", "--problem", "p.json", *options, says=says)
        for command in ("compare", "calibrate"):
            self.refuse(command, "--problem", "p.json", says="networks go with `gaussmith fit`")


class Refusals(ToolTest):
    def test_what_networks_do_not_have(self):
        self.write("t.csv", sine_table(rows=12))
        start = (*FIT, "--data", "t.csv", "--prior", "network")
        for options, says in [
            (("--units", "0"), ("--units 0", "--prior sparse-linear")),
            (("--method", "laplace"), "networks and sparse linear models are fitted by ep alone"),
            (("--learn",), "--learn: nothing is left to learn"),
            (("--integrate",), "--integrate"),
            (("--diagnose",), "--diagnose"),
            (("--marginals", "all"), "--marginals"),
            (("--full",), "--full"),
            (("--inducing", "5"), "--inducing"),
            (("--form", "sparse"), "--form sparse"),
            (("--kernel", "se"), "--kernel"),
            (("--random", "1|k"), "--random"),
            (("--field", "rw1(z)"), "--field"),
            (("--no-intercept",), "--no-intercept"),
            (("--coefficient-prior", "x=0,1"), "--coefficient-prior"),
            (("--mean", "auto"), "--mean"),
            (("--coefficients", "c.csv"), "--coefficients: a network has none"),
            (("--weights", "z"), ("--weights z", "rows have no weights there", "laplace-ard")),
            (("--set", "network.group.a=x,nope"), ('there is no feature "nope"', "there are")),
            (("--set", "network.group.a=x", "--set", "network.group.b=x,z"), "x is in a and in b"),
            (("--weights", "gaussian", "--set", "network.group.a=x"), "weights ard or laplace-ard"),
            (("--set", "network.scale_prior=-2"), "--set network.scale_prior: found 1 numbers"),
            (("--set", "network.scale_prior=-2,-3"), "scale_prior"),
            (("--set", "network.linear=maybe"), "yes or no"),
            (("--set", "network.powr=1"), "did you mean network.power?"),
            (("--set", "network.power=2"), "network.power must lie in"),
            (("--set", "network.start=one"), "fitted | zero"),
            (("--set", "likelihood.variance=1"), "a network has no such parameter"),
            (("--set", "ep.power=1"), "options of its own"),
            (("--set", "learn.tolerance=1"), "a network has no use for it"),
        ]:
            with self.subTest(options=options):
                self.refuse(*start, *options, says=says)
        self.refuse("fit", "--data", "t.csv", "--formula", "y ~ x", "--likelihood", "gaussian", "--prior", "network", says="--prior")
        self.refuse(*FIT, "--data", "t.csv", "--prior", "sparse-linear", "--units", "3", says="--units belongs to --prior network")
        self.refuse(*FIT, "--data", "t.csv", "--prior", "linear", "--units", "3", says="--units belongs to --prior network")
        for likelihood, says in (("student-t", "free parameter"), ("multinomial-logit", "one latent function a row")):
            self.refuse("fit", "--data", "t.csv", "--target", "y", "--likelihood", likelihood, "--prior", "network", says=says)
        for command in ("compare", "calibrate"):
            self.refuse(command, "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--prior", "network",
                        says="networks go with `gaussmith fit`")

    def test_bad_tables(self):
        start = (*FIT, "--prior", "network", "--data", "t.csv")
        self.write("t.csv", "x,y\n1,2\n2,2\n3,2\n")
        self.refuse(*start, says="responses that vary")
        self.write("t.csv", "x,y\n1,2\n1,3\n1,4\n")
        self.refuse(*start, says="constant")
        self.write("t.csv", "x,y\n1,2\n,3\n3,4\n")
        self.refuse(*start, says="missing")
        self.write("t.csv", "x,y\n1,2\ninf,3\n3,4\n")
        self.refuse(*start)
        self.write("t.csv", "y\n1\n2\n")
        self.refuse(*start, says="feature")

    def test_old_options_mean_what_they_meant(self):
        self.write("t.csv", "x,w,y\n1,1,2\n2,2,3\n3,1,5\n4,1,6\n")
        fit = self.result(*FIT, "--data", "t.csv", "--prior", "linear", "--weights", "w")
        self.assertEqual(fit["method"], "exact")


class Files(ToolTest):
    def saved(self):
        self.write("t.csv", linear_table(rows=20, columns=4))
        self.succeed(*FIT, "--data", "t.csv", "--prior", "sparse-linear", "--save", "m.gsm")
        return self.read("m.gsm").decode()

    def test_damaged_models_are_refused(self):
        text = self.saved()
        first, payload = text.split("\n", 1)

        def write(changed):
            whole = json.dumps(changed)
            hash_ = 0xcbf29ce484222325
            for byte in whole.encode():
                hash_ = (hash_ ^ byte) * 0x100000001b3 % 2**64
            self.write("bad.gsm", f"gaussmith-model/1 {hash_:016x} {len(whole.encode())}\n{whole}")

        write(json.loads(payload))
        self.succeed("predict", "--model", "bad.gsm", "--data", "t.csv")
        changes = [
            (("starts",), [], "at least one start"),
            (("starts", 0, "weight"), 0, "weight"),
            (("starts", 0, "linear", "mean"), [1.0], "5 numbers"),
            (("starts", 0, "linear", "covariance"), [[1.0]], "5 rows"),
            (("starts", 0, "output_mean"), [1.0], "0 numbers"),
            (("starts", 0, "noise_sd"), -1, "noise_sd"),
            (("inputs",), [0, 0], "may stand once"),
            (("inputs",), [0, 4], "inputs[1]"),
            (("input_scale",), [1.0, 1.0, 1.0, 0.0], "positive"),
            (("input_count",), 5, "the coding gives 4 features"),
            (("response_scale",), 0, "response_scale"),
            (("likelihood", "type"), "gauss", "type"),
        ]
        for path, value, says in changes:
            with self.subTest(path=path, says=says):
                document = json.loads(payload)
                place = document["network"]
                for key in path[:-1]:
                    place = place[key]
                place[path[-1]] = value
                write(document)
                self.refuse("predict", "--model", "bad.gsm", "--data", "t.csv", says=says)
        document = json.loads(payload)
        document["form"] = "precision"
        write(document)
        self.refuse("predict", "--model", "bad.gsm", "--data", "t.csv", says="a network stands alone")
        self.write("cut.gsm", text[: len(text) // 2])
        self.refuse("predict", "--model", "cut.gsm", "--data", "t.csv", says="truncated")


class Reports(ToolTest):
    def test_what_people_read(self):
        self.write("t.csv", sine_table())
        done = self.run_tool(*FIT, "--data", "t.csv", "--prior", "network", "--units", "2", "--set", "network.starts=2",
                             "--save", "m.gsm", "--loo", "--standardize")
        self.assertIn(done.returncode, (0, 2), done.stderr)
        for fragment in ("network of 2 hidden units beside a linear one, weights ard", "of 2 kept", "Noise       sd ", "Relevance",
                         "linear unit", "Starts", "Left out", "gaussmith predict --model m.gsm"):
            self.assertIn(fragment, done.stdout)
        self.assertIn("--standardize changes nothing", done.stderr)
        for line in done.stdout.splitlines():
            if line.startswith("  c "):
                self.assertIn("cannot be told from irrelevant", line)

    def test_catalogues(self):
        methods = {m["name"]: m for m in json.loads(self.succeed("methods", "--json").stdout)["methods"]}
        names = [o["name"] for o in methods["ep"]["network_options"]]
        self.assertIn("network.power", names)
        self.assertNotIn("network_options", methods["laplace"])
        likelihoods = {x["name"]: x["networks"] for x in json.loads(self.succeed("likelihoods", "--json").stdout)["likelihoods"]}
        self.assertTrue(likelihoods["gaussian"] and likelihoods["bernoulli-probit"] and likelihoods["poisson"])
        self.assertFalse(likelihoods["student-t"] or likelihoods["multinomial-logit"])


if __name__ == "__main__":
    unittest.main()
