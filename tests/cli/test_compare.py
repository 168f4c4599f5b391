"""compare, calibrate and the sampling methods of fit, as their users see them."""

import json
import unittest

from tool import ToolTest, class_table

PROBLEM = {
    "format": "gaussmith-problem/1",
    "prior": {"type": "isotropic", "dim": 2, "mean": 0.0, "variance": 4.0},
    "design": {"type": "dense", "rows": [[1, 0.2], [1, 0.9], [1, -1.2], [1, 0.5], [1, -0.4], [1, 1.4]]},
    "sites": [{"type": "bernoulli-logit", "y": [1, -1, 1, 1, -1, 1]}],
}


class Compare(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("p.json", json.dumps(PROBLEM))

    def test_rows_and_truth(self):
        out = self.result("compare", "--problem", "p.json", "--methods", "laplace,kl,ep,nuts", "--seed", "3")
        self.assertEqual(out["format"], "gaussmith-comparison/1")
        self.assertEqual([row["method"] for row in out["rows"]], ["laplace", "kl", "ep", "nuts"])
        self.assertEqual(out["truth"]["method"], "quadrature")
        kl, nuts = out["rows"][1], out["rows"][3]
        self.assertLessEqual(kl["log_evidence"], out["truth"]["log_evidence"] + out["truth"]["log_evidence_se"])
        self.assertAlmostEqual(kl["error"]["log_evidence"], kl["log_evidence"] - out["truth"]["log_evidence"], places=12)
        self.assertIsNone(nuts["log_evidence"])
        self.assertIsNone(nuts["log_evidence_se"])
        self.assertLess(nuts["diagnostics"]["rhat"], 1.05)
        self.assertNotIn("latent", kl)
        self.assertIn(kl["trust"]["verdict"], ("trust", "caution", "do-not-trust"))
        self.assertLess(kl["trust"]["evidence_interval"][0], kl["trust"]["evidence_interval"][1])
        self.assertNotIn("loo", kl["trust"])
        full = self.result("compare", "--problem", "p.json", "--methods", "kl", "--full")
        self.assertEqual(len(full["rows"][0]["latent"]["mean"]), 6)

    def test_text_markdown_and_page(self):
        text = self.succeed("compare", "--problem", "p.json", "--methods", "laplace,ep", "--html", "report.html").stdout
        self.assertIn("Truth", text)
        page = self.read("report.html").decode()
        self.assertIn("<svg", page)
        self.assertNotIn("http", page.replace("http://www.w3.org/2000/svg", ""))
        table = self.succeed("compare", "--problem", "p.json", "--methods", "laplace,ep", "--markdown").stdout
        self.assertEqual(table.splitlines()[0].count("|"), table.splitlines()[2].count("|"))

    def test_the_joint_density_of_classes_knows_how_far_the_bound_is_from_the_truth(self):
        problem = {"format": "gaussmith-problem/1", "design": {"type": "identity"},
                   "prior": {"type": "gp", "inputs": [[0.1], [0.7], [1.9]], "latents": 3, "mean": [0, 0, 0],
                             "kernel": {"type": "se", "signal_sd": 1.2, "lengthscale": 1.0}},
                   "sites": [{"type": "multinomial-logit", "y": [0, 2, 1]}], "predict": {"inputs": [[0.5], [1.5]], "y": [2, 1]}}
        self.write("c.json", json.dumps(problem))
        found = self.result("compare", "--problem", "c.json", "--methods", "laplace,kl")
        self.assertNotIn("joint", found["rows"][0])
        kl = found["rows"][1]
        joint, error = kl["joint"], found["truth"]["log_evidence_se"]
        self.assertAlmostEqual(joint["evidence_gap"], kl["log_evidence"] - found["truth"]["log_evidence"], places=12)
        self.assertLess(joint["evidence_gap"], 4 * error)
        self.assertAlmostEqual(joint["lower"], joint["sum_lower"] + joint["evidence_gap"], places=12)
        # By hand: log p(y*|y) is the evidence with the new rows less that without.
        more = {**problem, "prior": {**problem["prior"], "inputs": [[0.1], [0.7], [1.9], [0.5], [1.5]]},
                "sites": [{"type": "multinomial-logit", "y": [0, 2, 1, 2, 1]}]}
        del more["predict"]
        self.write("more.json", json.dumps(more))
        both = self.result("compare", "--problem", "more.json", "--methods", "kl")["truth"]
        predictive = both["log_evidence"] - found["truth"]["log_evidence"]
        self.assertLess(joint["lower"], predictive + 4 * (error + both["log_evidence_se"]))
        card = self.result("fit", "--problem", "c.json", "--method", "kl", "--diagnose")
        self.assertAlmostEqual(card["joint"]["evidence_gap"],
                               card["log_evidence"] - card["trust"]["check"]["log_evidence"], places=12)
        self.assertIn("prediction", self.result("compare", "--problem", "c.json", "--methods", "kl", "--full")["rows"][0])

    def test_held_out_table(self):
        self.write("train.csv", class_table(seed=1))
        self.write("test.csv", class_table(rows=30, seed=2))
        arguments = ("--data", "train.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "isotropic")
        out = self.result("compare", *arguments, "--methods", "laplace,ep", "--test", "test.csv", "--no-truth")
        self.assertIsNone(out["truth"])
        self.assertEqual(out["log_density_of"], "held-out")
        self.succeed("fit", *arguments, "--method", "ep", "--save", "m.gsm")
        scores = self.result("evaluate", "--model", "m.gsm", "--data", "test.csv")
        self.assertAlmostEqual(out["rows"][1]["log_density"], scores["mean_log_predictive_density"], places=9)

    def test_refusals(self):
        self.refuse("compare", "--problem", "p.json", "--methods", "exact", says="gaussian")
        self.refuse("compare", "--problem", "p.json", "--full", says="--json")
        self.refuse("compare", says="--problem")


class Samplers(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("p.json", json.dumps(PROBLEM))

    def test_same_bytes_at_any_number_of_threads(self):
        for method in ("is", "ais", "ess", "nuts"):
            arguments = ("fit", "--problem", "p.json", "--method", method, "--set", f"{method}.draws=400", "--seed", "5", "--json")
            results = [json.loads(self.run_tool(*arguments, "--threads", n).stdout) for n in ("1", "2")]
            for result in results:
                del result["seconds"]
            self.assertEqual(results[0], results[1])

    def test_saved_draws_predict_the_same(self):
        self.write("train.csv", class_table())
        self.write("new.csv", class_table(rows=5, seed=3))
        self.succeed("fit", "--data", "train.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "isotropic",
                     "--method", "nuts", "--save", "m.gsm")
        sampled = self.result("evaluate", "--model", "m.gsm", "--data", "new.csv")
        self.succeed("fit", "--data", "train.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "isotropic",
                     "--method", "ep", "--save", "e.gsm")
        fitted = self.result("evaluate", "--model", "e.gsm", "--data", "new.csv")
        self.assertAlmostEqual(sampled["mean_log_predictive_density"], fitted["mean_log_predictive_density"], delta=0.05)

    def test_text_without_an_evidence(self):
        for method in ("ess", "nuts"):
            text = self.run_tool("fit", "--problem", "p.json", "--method", method, "--set", f"{method}.draws=400").stdout
            self.assertIn("Evidence    none", text)
            self.assertNotIn("nan", text)

    def test_refusals(self):
        for method in ("is", "ais", "ess", "nuts"):
            self.refuse("fit", "--problem", "p.json", "--method", method, "--set", f"{method}.draws=99", says="100")
        self.refuse("fit", "--problem", "p.json", "--method", "nuts", "--learn", says="gradient")
        self.write("flat.json", json.dumps({**PROBLEM, "prior": {"type": "none", "dim": 2}}))
        self.refuse("fit", "--problem", "flat.json", "--method", "ess", says="Gaussian prior")


class Calibrate(ToolTest):
    def test_ranks(self):
        self.write("p.json", json.dumps(PROBLEM))
        out = self.result("calibrate", "--problem", "p.json", "--method", "ep", "--simulations", "60", "--ranked", "0,1")
        self.assertEqual(out["format"], "gaussmith-calibration/1")
        self.assertEqual(set(out["ranks"]), {"weight 0", "weight 1", "log_likelihood"})
        self.assertEqual(len(out["ranks"]["log_likelihood"]), 60)
        self.assertTrue(all(0.0 <= p <= 1.0 for p in out["p_values"].values()))
        self.succeed("calibrate", "--problem", "p.json", "--simulations", "20", "--plot", "ranks.svg")
        self.assertTrue(self.read("ranks.svg").startswith(b"<svg"))
        self.refuse("calibrate", "--problem", "p.json", "--ranked", "2", says="weights 0 to 1")


if __name__ == "__main__":
    unittest.main()
