"""The duality gap of kl and the scales of vmf, as users see them."""

import json
import unittest

from tool import ToolTest


def problem(kind="student-t", rows=12, **arguments):
    y = [0.3 * n - 1.5 for n in range(rows)]
    if kind.startswith("bernoulli"):
        y = [1 if v > 0.2 else -1 for v in y]
    if kind == "poisson":
        y = [n % 4 for n in range(rows)]
    return {"format": "gaussmith-problem/1",
            "prior": {"type": "gp", "inputs": [[0.25 * n] for n in range(rows)],
                      "kernel": {"type": "se", "signal_sd": 1.0, "lengthscale": 1.0}},
            "design": {"type": "identity"},
            "sites": [{"type": kind, "y": y, **arguments}]}


class MeanField(ToolTest):
    def fit(self, model, *arguments):
        self.write("p.json", json.dumps(model))
        return self.result("fit", "--problem", "p.json", *arguments)

    def test_gap(self):
        out = self.fit(problem("bernoulli-logit"), "--method", "kl")
        self.assertGreaterEqual(out["duality_gap"], 0.0)
        self.assertLess(out["duality_gap"], 1e-7)
        self.assertEqual(len(out["duality_gap_rows"]), 5)
        self.assertEqual(set(out["duality_gap_rows"][0]), {"row", "gap"})
        early = self.fit(problem("bernoulli-logit"), "--method", "kl", "--set", "kl.stop=gap", "--set", "kl.gap_tolerance=0.01")
        self.assertTrue(early["converged"])
        self.assertLessEqual(early["duality_gap"], 0.01)
        self.assertLessEqual(out["log_evidence"] - early["log_evidence"], early["duality_gap"])

    def test_no_gap(self):
        heavy = problem("student-t", nu=3.0, scale=0.4)
        out = self.fit(heavy, "--method", "kl")
        self.assertIsNone(out["duality_gap"])
        self.assertTrue(any("student-t" in note for note in out["notes"]))
        self.refuse("fit", "--problem", "p.json", "--method", "kl", "--set", "kl.stop=gap", says=("kl.stop", "student-t"))

    def test_scales(self):
        heavy = problem("student-t", nu=3.0, scale=0.4)
        heavy["sites"][0]["y"][5] = 9.0
        out = self.fit(heavy, "--method", "vmf")
        scales = out["scales"]
        self.assertEqual(scales["shape"], [2.0] * 12)
        self.assertEqual(min(range(12), key=lambda n: scales["mean_precision"][n]), 5)
        same = self.fit(heavy, "--method", "vb")
        self.assertAlmostEqual(out["log_evidence"], same["log_evidence"], places=8)
        self.assertNotIn("scales", same)
        slow = self.fit(heavy, "--method", "vmf", "--set", "vmf.order=sequential", "--set", "vmf.tolerance=1e-6")
        self.assertAlmostEqual(out["log_evidence"], slow["log_evidence"], places=6)

    def test_scales_of_other_rows(self):
        """Laplace and logistic rows have a mean precision alone; the summary names the rows that are believed least."""
        self.write("p.json", json.dumps(problem("laplace", scale=0.5)))
        out = self.result("fit", "--problem", "p.json", "--method", "vmf")
        self.assertEqual(out["scales"]["shape"], [None] * 12)
        self.assertEqual(out["scales"]["rate"], [None] * 12)
        precision = out["scales"]["mean_precision"]
        least = min(range(12), key=lambda n: precision[n])
        text = self.run_tool("fit", "--problem", "p.json", "--method", "vmf").stdout
        line = next(line for line in text.splitlines() if line.startswith("Scales"))
        self.assertIn(f"smallest precisions: row {least} ({precision[least]:.3g})", line)
        self.assertEqual(line.count("row "), 5)
        logit = self.fit(problem("bernoulli-logit"), "--method", "vmf")
        self.assertTrue(all(0.0 < value <= 0.25 for value in logit["scales"]["mean_precision"]))
        self.assertNotIn("Scales", self.run_tool("fit", "--problem", "p.json", "--method", "vmf").stdout)
        self.assertNotIn("scales", self.fit(problem("bernoulli-probit"), "--method", "vmf"))

    def test_solvers(self):
        sites = self.fit(problem("bernoulli-logit"), "--method", "kl")
        for solver in ("decoupled", "alpha-lambda", "cholesky"):
            out = self.fit(problem("bernoulli-logit"), "--method", "kl", "--set", f"kl.solver={solver}")
            self.assertAlmostEqual(out["log_evidence"], sites["log_evidence"], places=7)
            self.assertLess(out["duality_gap"], 1e-7)
        self.fit(problem("bernoulli-logit"), "--method", "kl", "--set", "kl.solver=decoupled", "--set",
                 "decoupled.penalty=printed", "--set", "decoupled.delta=0")
        for setting, says in (("kl.solver=dual", "bernoulli-logit"), ("decoupled.delta=-1", "decoupled.delta"),
                              ("decoupled.penalty=twice", "decoupled.penalty")):
            self.refuse("fit", "--problem", "p.json", "--method", "kl", "--set", setting, says=says)
        self.refuse("fit", "--problem", "p.json", "--method", "kl", "--set", "kl.solver=decoupled", "--set",
                    "kl.covariance=diagonal", says=("kl.solver", "diagonal"))

    def test_piecewise_bounds(self):
        exact = self.fit(problem("bernoulli-logit"), "--method", "kl")["log_evidence"]
        for bound, error in (("linear:3", .2232), ("quadratic:5", .00949), ("quadratic:20", 1.43e-4)):
            below = self.fit(problem("bernoulli-logit", bound=bound), "--method", "kl")["log_evidence"]
            self.assertGreaterEqual(exact, below)
            self.assertLessEqual(exact - below, 12 * error)
        for wrong in ("quadratic:2", "linear:21"):
            self.write("p.json", json.dumps(problem("bernoulli-logit", bound=wrong)))
            self.refuse("fit", "--problem", "p.json", "--method", "kl", says=wrong)
        self.write("t.csv", "x,y\n" + "".join(f"{0.3 * n},{1 if n % 3 else -1}\n" for n in range(12)))
        table = ("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "gp", "--kernel", "se",
                 "--method", "kl")
        exact = self.result(*table)["log_evidence"]
        below = self.result(*table, "--set", "likelihood.bound=quadratic:20")["log_evidence"]
        self.assertGreaterEqual(exact, below)
        self.assertLessEqual(exact - below, 12 * 1.43e-4)
        self.refuse(*table, "--set", "likelihood.bound=quadratic:21", says=("likelihood.bound", "quadratic:21"))

    def test_refusals(self):
        self.write("p.json", json.dumps(problem("poisson")))
        self.refuse("fit", "--problem", "p.json", "--method", "vmf", says=("vmf", "poisson"))
        self.refuse("fit", "--problem", "p.json", "--method", "kl", "--set", "kl.stop=gap", "--set", "kl.covariance=diagonal",
                    says=("kl.stop", "diagonal"))


if __name__ == "__main__":
    unittest.main()
