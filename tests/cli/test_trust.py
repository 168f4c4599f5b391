"""fit --diagnose, --marginals and Tierney-Kadane probabilities: fields, text, refusals, saved cards."""

import json
import math
import unittest

from tool import ToolTest

SKEWED = {"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 2, "mean": 0, "variance": 9},
          "design": {"type": "dense", "rows": [[1, 0.5], [1, -1], [1, 2], [1, 0.3]]},
          "sites": [{"type": "bernoulli-logit", "y": [1, 1, 1, 1]}],
          "predict": {"design": {"type": "dense", "rows": [[1, 0], [1, 3]]}}}
GROUPS = {"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 1, "mean": 0, "variance": 4},
          "design": {"type": "dense", "rows": [[1]] * 6},
          "sites": [{"type": "student-t", "y": [-2.1, -2, -1.9, 1.9, 2, 2.1], "nu": 2, "scale": 0.1}]}


def integral(grid, values):
    return sum(0.5 * (a + b) * (y - x) for x, y, a, b in zip(grid, grid[1:], values, values[1:]))


class Trust(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("p.json", json.dumps(SKEWED))
        self.write("g.json", json.dumps(GROUPS))

    def test_card(self):
        laplace = self.result("fit", "--problem", "p.json", "--method", "laplace", "--diagnose")
        card = laplace["trust"]
        self.assertEqual((card["verdict"], card["evidence"], card["marginals"]),
                         ("do-not-trust", "trust", "do-not-trust"))
        self.assertIn("--method ep", card["advice"])
        self.assertLess(card["pareto_k"], 0.5)
        self.assertEqual(card["numerics"], {"jitter": 0, "clipped": 0, "skipped": 0})
        self.assertEqual(card["draws"], 4000)
        self.assertEqual(card["modes"], {"searched": True, "starts": 0, "found": 1})
        self.assertAlmostEqual(sum(site["gap"] for site in card["worst_sites"]), card["second_order"]["evidence"])
        lower, upper = card["evidence_interval"]
        ep = self.result("fit", "--problem", "p.json", "--method", "ep", "--diagnose", "--seed", "5")
        self.assertEqual(ep["trust"]["verdict"], "trust")
        self.assertEqual(ep["trust"]["advice"], "")
        self.assertTrue(lower < ep["trust"]["log_evidence_corrected"] < upper)
        self.assertEqual(len(ep["trust"]["loo"]["log_density"]), 4)
        self.assertTrue(all(0 < p < 1 for p in ep["trust"]["loo"]["pit"]))
        # What is always there, and what is not.
        plain = self.result("fit", "--problem", "p.json", "--method", "laplace")
        self.assertNotIn("trust", plain)
        self.assertNotIn("marginals", plain)
        self.assertEqual(plain["checks"], laplace["checks"])
        self.assertEqual(plain["checks"]["outvoted"], [])
        text = self.succeed("fit", "--problem", "p.json", "--method", "laplace", "--diagnose").stdout
        for line in ("Trust       do-not-trust", "Advice      use --method ep", "Interval    log evidence between"):
            self.assertIn(line, text)

    def test_seed_and_threads_fix_the_card(self):
        def card(*options):
            return self.result("fit", "--problem", "g.json", "--method", "ep", "--diagnose", *options)["trust"]
        first = card("--seed", "3", "--threads", "1")
        self.assertEqual(first, card("--seed", "3", "--threads", "2"))
        self.assertNotEqual(first, card("--seed", "4", "--threads", "1"))

    def test_modes(self):
        card = self.result("fit", "--problem", "g.json", "--method", "laplace", "--diagnose")["trust"]
        self.assertEqual(card["modes"]["found"], 2)
        self.assertNotEqual(card["verdict"], "trust")
        self.assertIn("2 modes", card["advice"])
        blind = self.result("fit", "--problem", "g.json", "--method", "laplace", "--diagnose", "--set",
                            "diagnose.modes=no", "--set", "diagnose.advice=no")["trust"]
        self.assertFalse(blind["modes"]["searched"])
        self.assertIsNone(blind["evidence_interval"][1])
        self.assertNotEqual(blind["verdict"], "trust")

    def test_marginals(self):
        result = self.result("fit", "--problem", "p.json", "--method", "laplace", "--marginals",
                             "2,0,weight:1,predictions", "--set", "marginals.levels=0.1,0.5,0.9")
        places = [next((k, m[k]) for k in ("row", "weight", "point") if k in m) for m in result["marginals"]]
        self.assertEqual(places, [("row", 2), ("row", 0), ("weight", 1), ("point", 0), ("point", 1)])
        for m in result["marginals"]:
            self.assertAlmostEqual(integral(m["grid"], m["density"]), 1, places=5)
            mean = integral(m["grid"], [x * d for x, d in zip(m["grid"], m["density"])])
            self.assertAlmostEqual(mean, m["mean"], delta=1e-4 * m["sd"])
            self.assertEqual(m["levels"], [0.1, 0.5, 0.9])
            self.assertEqual(m["quantiles"], sorted(m["quantiles"]))
        self.assertGreater(result["marginals"][0]["skewness"], 0.3)
        self.assertEqual(len(self.result("fit", "--problem", "p.json", "--method", "ep", "--marginals", "all,weights",
                                         "--set", "marginals.ep=one-step")["marginals"]), 6)
        self.assertEqual(self.result("fit", "--problem", "p.json", "--method", "ep", "--marginals",
                                     "worst:1")["marginals"][0]["row"], 2)
        self.assertIn("Marginals   row 2: mean",
                      self.succeed("fit", "--problem", "p.json", "--method", "ep", "--marginals", "worst:1").stdout)

    def test_tierney_kadane(self):
        tk = ("--set", "predict.probability=tierney-kadane")
        plain = self.result("fit", "--problem", "p.json", "--method", "laplace")["prediction"]
        ratio = self.result("fit", "--problem", "p.json", "--method", "laplace", *tk)["prediction"]
        ep = self.result("fit", "--problem", "p.json", "--method", "ep")["prediction"]
        for a, b, c in zip(plain["probability"], ratio["probability"], ep["probability"]):
            self.assertLess(abs(b - c), 0.5 * abs(a - c))
        self.refuse("fit", "--problem", "p.json", "--method", "ep", *tk, says="--method laplace")
        self.refuse("fit", "--problem", "g.json", "--method", "laplace", *tk, says="no prediction")

    def test_refusals(self):
        fit = ("fit", "--problem", "p.json", "--method", "laplace")
        self.refuse(*fit, "--diagnose", "--set", "diagnose.draws=99", says="diagnose.draws")
        self.refuse(*fit, "--set", "diagnose.draws=4000", says="--diagnose")
        self.refuse("fit", "--problem", "p.json", "--method", "is", "--diagnose", says="diagnostics of its own")
        self.refuse(*fit, "--set", "marginals.ep=one-step", says="--marginals")
        self.refuse(*fit, "--marginals", "4", says="no row 4")
        self.refuse(*fit, "--marginals", "weight:2", says="no weight 2")
        self.refuse(*fit, "--marginals", "worst:5", says="worst:5")
        self.refuse(*fit, "--marginals", "worst:0", says="expected rows")
        self.refuse(*fit, "--marginals", "some", says="expected rows")
        self.refuse(*fit, "--marginals", "all", "--set", "marginals.ep=best", says="factorised")
        self.refuse(*fit, "--marginals", "all", "--set", "marginals.levels=0.5,1.5", says="between 0 and 1")
        self.refuse("fit", "--problem", "p.json", "--method", "kl", "--marginals", "all", says="laplace or ep")
        self.refuse("fit", "--problem", "g.json", "--method", "laplace", "--marginals", "predictions", says="predict")

    def test_saved_models_keep_the_card(self):
        rows = "".join(f"{x},{y}\n" for x, y in ((0.5, 1), (-1, 1), (2, 1), (0.3, 1), (0.1, 1), (1.2, 0)))
        self.write("t.csv", "x,y\n" + rows)
        fit = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "isotropic",
               "--set", "prior.variance=25", "--diagnose", "--save", "m.gsm")
        card = self.result(*fit, "--method", "laplace")["trust"]
        self.assertNotEqual(card["verdict"], "trust")
        note = self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stderr
        self.assertIn(f"the card of m.gsm says {card['verdict']}", note)
        self.assertIn(card["reasons"][0], note)
        self.assertEqual(self.result(*fit, "--method", "ep")["trust"]["verdict"], "trust")
        self.assertEqual(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv").stderr, "")
        self.assertEqual(len(card["loo"]["pit"]), 6)

    def test_exact(self):
        problem = {**SKEWED, "sites": [{"type": "gaussian", "y": [1, 0.5, 2, 1], "variance": 0.3}]}
        self.write("e.json", json.dumps(problem))
        result = self.result("fit", "--problem", "e.json", "--method", "exact", "--diagnose", "--marginals", "0")
        self.assertEqual(result["trust"]["verdict"], "trust")
        self.assertEqual(result["trust"]["evidence_interval"], [result["log_evidence"]] * 2)
        self.assertIsNone(result["trust"]["pareto_k"])
        self.assertTrue(math.isclose(result["marginals"][0]["mean"], result["latent"]["mean"][0], rel_tol=1e-10))


if __name__ == "__main__":
    unittest.main()
