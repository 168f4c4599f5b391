"""A model that is saved is read again and predicts what the fit predicted: every prior, method and likelihood."""

import json
import math
import random
import unittest

from tool import ToolTest

ROWS, NEW = 12, 5
RESPONSES = {"numbers": lambda draw: draw.gauss(0, 1), "two classes": lambda draw: draw.choice((-1, 1)),
             "counts 0, 1, 2, ...": lambda draw: draw.randrange(4), "positive numbers": lambda draw: draw.expovariate(1),
             "classes": lambda draw: draw.randrange(3)}
FAMILIES = ("diagonal", "banded:2", "chevron:2", "subspace:2", "factor:2", "full")


def points(draw, rows):
    return [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(rows)]


def priors(draw):
    """Pieces of a problem file: prior, design and where to predict, with the rows that a table would have."""
    trained, new = points(draw, ROWS), points(draw, NEW)
    ard = {"type": "matern32", "signal_sd": 1.3, "lengthscale": [0.7, 1.4]}
    both = {"type": "sum", "terms": [{"type": "se", "signal_sd": 0.5, "lengthscale": 0.6}, ard, {"type": "white"}]}
    for kernel in ({"type": "matern12", "signal_sd": 1.2, "lengthscale": 0.9}, ard, both):
        yield {"prior": {"type": "gp", "inputs": trained, "kernel": kernel, "mean": 0.3},
               "design": {"type": "identity"}}, {"inputs": new}, new
    rows, there = {"type": "dense", "rows": trained}, {"design": {"type": "dense", "rows": new}}
    yield {"prior": {"type": "isotropic", "dim": 2, "variance": 2.5}, "design": rows}, there, new
    yield {"prior": {"type": "diagonal", "mean": [0.1, -0.2], "variance": [2.5, 0.5]}, "design": rows}, there, new
    yield {"prior": {"type": "dense", "mean": [0.1, -0.2], "covariance": [[2.0, 0.3], [0.3, 1.0]]}, "design": rows}, there, new


class SavedModels(ToolTest):
    def compare(self, parts, where, new, sites, method, *options):
        self.write("p.json", json.dumps({"format": "gaussmith-problem/1", **parts, "sites": [sites], "predict": where}))
        self.write("n.csv", "x1,x2\n" + "".join(f"{a!r},{b!r}\n" for a, b in new))
        done = self.run_tool("fit", "--problem", "p.json", "--method", method, *options, "--save", "m.gsm", "--json")
        self.assertIn(done.returncode, (0, 2), done.stderr)
        fitted = json.loads(done.stdout)["prediction"]
        loaded = self.result("predict", "--model", "m.gsm", "--data", "n.csv")
        classes = "classes" in loaded
        for name in ("latent_mean", "latent_variance", *(("probability",) if classes else ("mean", "variance"))):
            rows = zip(fitted[name], loaded[name])
            for a, b in [pair for one, other in rows for pair in zip(one, other)] if classes else rows:
                if a is not None and b is not None:
                    self.assertTrue(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9), (name, a, b))

    def test_priors_and_methods(self):
        draw = random.Random(7)
        sites = {"type": "student-t", "y": [draw.gauss(0, 1) for _ in range(ROWS)], "nu": 4, "scale": 0.6}
        gaussian = {"type": "gaussian", "y": sites["y"], "variance": 0.2}
        for parts, where, new in priors(draw):
            with self.subTest(prior=parts["prior"]):
                self.compare(parts, where, new, gaussian, "exact")
                for method in ("laplace", "ep"):
                    self.compare(parts, where, new, sites, method)
                for form in ("covariance", "precision"):
                    self.compare(parts, where, new, sites, "laplace", "--form", form)
                for family in FAMILIES:
                    self.compare(parts, where, new, sites, "kl", "--set", f"kl.covariance={family}")

    def test_likelihoods(self):
        draw = random.Random(8)
        parts, where, new = next(priors(draw))
        for known in json.loads(self.succeed("likelihoods", "--json").stdout)["likelihoods"]:
            sites = {"type": known["name"], "y": [RESPONSES[known["response"]](draw) for _ in range(ROWS)]}
            for parameter in known["parameters"]:
                if parameter["required"]:
                    sites[parameter["name"]] = 4 if parameter["name"] == "trials" else 0.8
            with self.subTest(likelihood=known["name"]):
                prior = {**parts["prior"], "latents": 3} if known["response"] == "classes" else parts["prior"]
                self.compare({**parts, "prior": prior}, where, new, sites, known["methods"][0])


if __name__ == "__main__":
    unittest.main()
