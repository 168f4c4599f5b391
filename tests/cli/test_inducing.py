"""Inducing variables through the tool: problems, tables, saved models, and what is refused."""

import json
import math
import random
import unittest

from tool import ToolTest


def problem(inducing, likelihood="poisson", **more):
    return {
        "format": "gaussmith-problem/1",
        "prior": {"type": "gp", "inputs": [[-1.0], [-0.2], [0.3], [0.9], [1.4]],
                  "kernel": {"type": "se", "signal_sd": 1.5, "lengthscale": 0.8},
                  **({"inducing": inducing} if inducing else {})},
        "sites": [{"type": likelihood, "y": [0, 1, 3, 2, 2]}],
        "predict": {"inputs": [[0.0], [5.0]], "y": [1, 2]},
        **more,
    }


def table(rows=300, seed=3):
    draw = random.Random(seed)
    lines = ["a,b,y"]
    for _ in range(rows):
        a, b = draw.uniform(-3, 3), draw.uniform(-3, 3)
        lines.append(f"{a:.6f},{b:.6f},{math.sin(1.3 * a) + draw.gauss(0, 0.2):.6f}")
    return "\n".join(lines) + "\n"


class Problems(ToolTest):
    def fit(self, content, *arguments):
        self.write("p.json", json.dumps(content))
        return self.result("fit", "--problem", "p.json", *arguments)

    def test_all_rows_give_the_full_bound(self):
        full = self.fit(problem(None), "--method", "kl")
        for inducing in ({"inputs": [[-1.0], [-0.2], [0.3], [0.9], [1.4]]}, {"sites": [[n, 0] for n in range(5)]}):
            out = self.fit(problem(inducing), "--loo")
            self.assertEqual((out["method"], out["evidence_kind"]), ("kl", "lower-bound"))
            self.assertAlmostEqual(out["log_evidence"], full["log_evidence"], places=8)
            self.assertAlmostEqual(out["prediction"]["log_density"][1], full["prediction"]["log_density"][1], places=6)
            self.assertEqual(out["inducing"], inducing)

    def test_a_count_is_resolved_to_rows(self):
        out = self.fit(problem({"count": 3}))
        self.assertEqual(len(out["inducing"]["sites"]), 3)
        self.assertEqual(len(out["inducing"]["scores"]), 3)
        again = self.fit(problem({"sites": out["inducing"]["sites"]}))
        self.assertAlmostEqual(out["log_evidence"], again["log_evidence"], places=9)

    def test_other_methods_and_mistakes_are_refused(self):
        self.write("p.json", json.dumps(problem({"inputs": [[0.1]]})))
        self.refuse("fit", "--problem", "p.json", "--method", "laplace", says=("prior.inducing", "kl"))
        self.write("p.json", json.dumps(problem({"count": 2})))
        self.refuse("fit", "--problem", "p.json", "--method", "ep", says=("prior.inducing.count", "kl"))
        for inducing, where in (({"inputs": [[0.1, 2]]}, "prior.inducing.inputs[0]"),
                                ({"sites": [[5, 0]]}, "prior.inducing.sites[0][0]"),
                                ({"sites": [[1, 0], [1, 0]]}, "prior.inducing.sites[1]"),
                                ({"count": 6}, "prior.inducing.count")):
            self.write("p.json", json.dumps(problem(inducing)))
            self.refuse("fit", "--problem", "p.json", says=where)


def classes(inducing, **more):
    draw = random.Random(5)
    rows = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(12)]
    return {
        "format": "gaussmith-problem/1",
        "prior": {"type": "gp", "inputs": rows, "latents": 3, "kernel": {"type": "se", "signal_sd": 1.5},
                  **({"inducing": inducing} if inducing else {}), **more},
        "sites": [{"type": "multinomial-logit", "y": [0 if a < -0.4 else 1 if b < 0 else 2 for a, b in rows]}],
        "predict": {"inputs": [[0.0, 0.5], [5.0, 1.0]], "y": [1, 2]},
    }


class Classes(ToolTest):
    def fit(self, content, *arguments):
        self.write("p.json", json.dumps(content))
        return self.result("fit", "--problem", "p.json", *arguments)

    def test_all_values_give_the_full_bound(self):
        for more in ({}, {"latent_covariance": {"model": "full", "factor": [[1, 0, 0], [0.5, 1, 0], [0, -0.3, 1]]}}):
            full = self.fit(classes(None, **more), "--method", "kl")
            content = classes(None, **more)
            content["prior"]["inducing"] = {"inputs": content["prior"]["inputs"]}
            out = self.fit(content, "--loo")
            self.assertEqual((out["method"], out["evidence_kind"]), ("kl", "lower-bound"))
            self.assertAlmostEqual(out["log_evidence"], full["log_evidence"], places=7)
            self.assertAlmostEqual(out["bounds"]["log_zb"], full["bounds"]["log_zb"], places=5)
            self.assertIsNone(out["bounds"]["theorem9"])
            for a, b in zip(out["prediction"]["log_density"], full["prediction"]["log_density"]):
                self.assertAlmostEqual(a, b, places=5)

    def test_a_count_is_resolved_to_single_latents(self):
        out = self.fit(classes({"count": 7, "block": 2, "subset": 4, "filter": 9}))
        self.assertEqual(len(out["inducing"]["sites"]), 7)
        self.assertEqual(len(out["inducing"]["scores"]), 7)
        self.assertTrue(all(score > 0 for score in out["inducing"]["scores"]))
        again = self.fit(classes({"sites": out["inducing"]["sites"]}))
        self.assertAlmostEqual(out["log_evidence"], again["log_evidence"], places=7)
        chance = self.fit(classes({"count": 7, "select": "random"}))
        self.assertEqual(chance["inducing"], self.fit(classes({"count": 7, "select": "random"}))["inducing"])

    def test_gradients_are_differences(self):
        inputs = {"inputs": [[0.3, 0.1], [-0.7, 0.4]], "noise": 0.05}
        for inducing, weights in (({"sites": [[0, 0], [3, 1], [5, 2], [7, 1]]}, [0.5, 1, 1.7]), (inputs, [0.5, 1, 1.7])):
            for model in ("diagonal", "centred-diagonal"):
                def bound(scale, c):
                    changed = [w * math.exp(scale * (i == c)) for i, w in enumerate(weights)]
                    return self.fit(classes(inducing, latent_covariance={"model": model, "weight": changed}))

                gradient = bound(0.0, 0)["gradient"]
                for c in range(3):
                    slope = (bound(1e-4, c)["log_evidence"] - bound(-1e-4, c)["log_evidence"]) / 2e-4
                    self.assertAlmostEqual(gradient[f"prior.latent_covariance.weight[{c}]"], slope, places=5)

    def test_more_values_never_lower_the_bound(self):
        for more in ({}, {"latent_covariance": {"model": "full", "factor": [[1, 0, 0], [0.5, 1, 0], [0, -0.3, 1]]}}):
            chosen = self.fit(classes({"count": 6, "block": 1}, **more))["inducing"]
            last = None
            for m in range(1, 7):
                bound = self.fit(classes({"sites": chosen["sites"][:m]}, **more))["log_evidence"]
                if last is not None:
                    # The score of a value is between nothing and what it gains.
                    self.assertGreater(chosen["scores"][m - 1], 0.0)
                    self.assertLess(chosen["scores"][m - 1], bound - last + 1e-4)
                last = bound

    def test_mistakes_are_refused(self):
        for inducing, where in (({"sites": [[12, 0]]}, "prior.inducing.sites[0][0]"),
                                ({"sites": [[1, 3]]}, "prior.inducing.sites[0][1]"),
                                ({"sites": [[1, 0], [1, 0]]}, "prior.inducing.sites[1]"),
                                ({"count": 37}, "prior.inducing.count"),
                                ({"count": 5, "block": 0}, "prior.inducing.block")):
            self.write("p.json", json.dumps(classes(inducing)))
            self.refuse("fit", "--problem", "p.json", says=where)
        self.write("p.json", json.dumps(classes({"count": 5})))
        self.refuse("fit", "--problem", "p.json", "--method", "laplace", says=("prior.inducing.count", "kl"))
        self.refuse("fit", "--problem", "p.json", "--set", "kl.covariance=structured", says="structured")
        probit = classes({"sites": [[0, 1]]})
        probit["sites"][0]["type"] = "multinomial-probit"
        self.write("p.json", json.dumps(probit))
        self.refuse("fit", "--problem", "p.json", "--method", "ep", says=("prior.inducing", "kl"))

    def test_table_learned_saved_and_read_again(self):
        draw = random.Random(2)
        rows = ["a,b,kind"]
        for _ in range(120):
            a, b = draw.uniform(-2, 2), draw.uniform(-2, 2)
            kind = draw.choice(["low", "mid", "top"]) if draw.random() < 0.2 else (
                "low" if a + b < -0.7 else "mid" if a + b < 0.7 else "top")
            rows.append(f"{a:.5f},{b:.5f},{kind}")
        self.write("t.csv", "\n".join(rows) + "\n")
        arguments = ("fit", "--data", "t.csv", "--target", "kind", "--likelihood", "multinomial-logit", "--inducing", "15")
        out = self.result(*arguments, "--learn", "--save", "m.gsm")
        self.assertTrue(any("15 inducing variables" in note for note in out["notes"]))
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "t.csv")
        self.assertLess(scores["error_rate"], 0.3)
        with open(self.path("m.gsm"), encoding="utf-8") as file:
            saved = json.loads(file.read().split("\n", 1)[1])
        self.assertEqual(saved["form"], "inducing")
        self.assertEqual(len(saved["pivots"]), 15)
        self.refuse(*arguments, "--learn", "--set", "inducing.learn=true", says="inducing.learn")
        self.refuse(*arguments[:-1], "361", says="count of 361")
        self.result(*arguments, "--inducing-select", "random", "--seed", "3")


class Tables(ToolTest):
    def test_learned_saved_and_read_again(self):
        self.write("t.csv", table())
        out = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--kernel", "se-ard",
                          "--inducing", "20", "--learn", "--save", "m.gsm")
        full = self.result("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian", "--kernel", "se-ard",
                           "--learn")
        self.assertEqual(out["method"], "kl")
        self.assertLess(out["log_evidence"], full["log_evidence"] + 1e-6)
        self.assertTrue(any("20 inducing inputs" in note for note in out["notes"]))
        self.write("new.csv", table(50, 9))
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "new.csv")
        self.assertLess(scores["rmse"], 0.3)
        with open(self.path("m.gsm"), encoding="utf-8") as file:
            saved = json.loads(file.read().split("\n", 1)[1])
        self.assertEqual(saved["form"], "inducing")
        self.assertEqual(len(saved["prior"]["inputs"]), 20)

    def test_refusals(self):
        self.write("t.csv", table(30))
        base = ["fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian"]
        self.refuse(*base, "--inducing", "10", "--method", "exact", says=("--inducing", "kl",))
        self.refuse(*base, "--inducing", "31", says=("1 to 30",))
        self.refuse(*base, "--inducing-select", "random", says=("--inducing",))
        self.refuse(*base, "--inducing", "5", "--inducing-select", "best", says=("active",))
        self.refuse(*base, "--inducing", "5", "--prior", "isotropic", says=("gp",))
        self.refuse(*base, "--inducing", "5", "--set", "inducing.learn=true", says=("--learn",))


if __name__ == "__main__":
    unittest.main()
