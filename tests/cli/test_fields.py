"""Markov fields beside covariates and groups: --field, --graph, formulas, predictions, saved models."""

import csv
import io
import json
import math
import os
import random
import unittest

from tool import ToolTest

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data")


def cells(text):
    return list(csv.DictReader(io.StringIO(text)))


class Map(ToolTest):
    """Lip cancer in Scotland, the example of textbooks: counts of districts, expected ones, one covariate."""

    def setUp(self):
        super().setUp()
        self.table = os.path.join(DATA, "lip_cancer.csv")
        self.graph = os.path.join(DATA, "lip_cancer_neighbours.csv")

    def fit(self, *more, table=None, graph=None):
        return ("fit", "--data", table or self.table, "--formula", "observed ~ aff_pct + besag(region)", "--exposure",
                "expected", "--graph", graph or self.graph, "--likelihood", "poisson", *more)

    def test_outdoor_work_raises_the_rate(self):
        # Without a field the share of outdoor work takes the whole of the trend, 0.7 per 10 %; the field takes half of that.
        learned = self.result(*self.fit("--learn"))
        coefficient = {c["name"]: c for c in learned["coefficients"]}
        self.assertAlmostEqual(10 * coefficient["aff_pct"]["mean"], 0.36, delta=0.03)
        self.assertAlmostEqual(10 * coefficient["aff_pct"]["sd"], 0.13, delta=0.02)
        self.assertAlmostEqual(coefficient["(intercept)"]["mean"], -0.2, delta=0.06)
        self.assertAlmostEqual(learned["gradient"]["fields[0].precision"], 0, delta=1e-3)
        field = learned["fields"][0]
        self.assertEqual((field["term"], field["column"], len(field["nodes"])), ("besag(region)", "region", 56))
        self.assertAlmostEqual(sum(field["mean"]), 0, delta=1e-9)
        self.assertIn("besag(region): 56 nodes", self.succeed(*self.fit("--learn")).stdout)

    def test_a_problem_file_says_the_same(self):
        rows = cells(self.read_text(self.table))
        edges = [[int(e["i"]) - 1, int(e["j"]) - 1] for e in cells(self.read_text(self.graph))]
        share = [float(r["aff_pct"]) for r in rows]
        centre = sum(share) / len(share)
        sd = math.sqrt(sum((x - centre) ** 2 for x in share) / len(share))
        counts = [float(r["observed"]) for r in rows]
        expected = [float(r["expected"]) for r in rows]
        triplets = [t for i, x in enumerate(share) for t in ([i, 0, 1], [i, 1, x - centre], [i, 2 + i, 1])]
        level = math.log(sum(counts) / sum(expected))
        problem = {
            "format": "gaussmith-problem/1",
            "prior": {"type": "additive",
                      "fixed": {"mean": [level, 0], "sd": [10, 1 / sd], "scaled": [False, True], "scale": 2.5},
                      "fields": [{"type": "besag", "dim": 56, "precision": 3, "edges": edges, "scaled": True}]},
            "design": {"type": "sparse", "shape": [56, 58], "triplets": triplets},
            "sites": [{"type": "poisson", "y": counts, "exposure": expected}]}
        self.write("p.json", json.dumps(problem))
        for method in ("laplace", "ep", "kl"):
            ours = self.result("fit", "--problem", "p.json", "--method", method)
            table = self.result(*self.fit("--method", method, "--set", "prior.precision=3"))
            self.assertAlmostEqual(ours["log_evidence"], table["log_evidence"], delta=1e-7)
            for name, slope in ours["gradient"].items():
                self.assertAlmostEqual(slope, table["gradient"][name], delta=1e-5, msg=name)
            self.assertTrue(ours["converged"])

    def read_text(self, path):
        with open(path, encoding="utf-8") as source:
            return source.read()

    def test_saved_models_predict_like_the_fit(self):
        for more in (("--learn",), ("--integrate", "--hyperpriors", "weak"), ("--method", "kl")):
            fitted = self.result(*self.fit(*more, "--save", "m.gsm"))
            rows = cells(self.succeed("predict", "--model", "m.gsm", "--data", self.table).stdout)
            for row, mean, variance in zip(rows, fitted["latent"]["mean"], fitted["latent"]["variance"]):
                self.assertAlmostEqual(float(row["latent_mean"]), mean, delta=1e-8)
                self.assertAlmostEqual(float(row["latent_variance"]), variance, delta=1e-8)
        population = cells(self.succeed("predict", "--model", "m.gsm", "--data", self.table, "--population").stdout)
        self.assertNotAlmostEqual(float(population[0]["latent_mean"]), float(rows[0]["latent_mean"]), delta=0.1)
        self.write("new.csv", "region,aff_pct,expected\n99,1,1\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "new.csv", says=("line 2", '"99" is no node'))
        self.write("none.csv", "region,aff_pct,expected\n,1,1\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "none.csv", says="region")
        scores = json.loads(self.succeed("evaluate", "--model", "m.gsm", "--data", self.table, "--json").stdout)
        self.assertEqual(scores["rows"], 56)

    def test_independent_effects_beside_it(self):
        fitted = self.result("fit", "--data", self.table, "--target", "observed", "--features", "aff_pct", "--field",
                             "besag(region)", "--random", "1|region", "--exposure", "expected", "--graph",
                             f"region={self.graph}", "--likelihood", "poisson", "--set", "random[0].sd=0.3", "--set",
                             "fields[0].precision=5", "--loo")
        self.assertEqual(len(fitted["random"][0]["levels"]), 56)
        effects = zip(fitted["random"][0]["effects"][0]["mean"], fitted["fields"][0]["mean"])
        intercept, slope = (c["mean"] for c in fitted["coefficients"])
        rows = cells(self.read_text(self.table))
        for row, (own, spatial), eta in zip(rows, effects, fitted["latent"]["mean"]):
            self.assertAlmostEqual(intercept + slope * float(row["aff_pct"]) + own + spatial, eta, delta=1e-8)

    def test_nodes_without_rows_are_predicted_and_islands_are_independent(self):
        lines = self.read_text(self.table).splitlines()
        self.write("part.csv", "\n".join(lines[:40] + ["isle,5,3.0,4"]) + "\n")
        fitted = self.result(*self.fit("--save", "m.gsm", table="part.csv"))
        notes = " ".join(fitted["notes"])
        self.assertIn("one node without a neighbour (isle)", notes)
        self.assertIn("17 of 57 nodes without a row", notes)
        self.assertEqual(len(fitted["fields"][0]["nodes"]), 57)
        self.write("rest.csv", "\n".join([lines[0]] + lines[45:]) + "\n")
        rows = cells(self.succeed("predict", "--model", "m.gsm", "--data", "rest.csv").stdout)
        self.assertEqual(len(rows), 12)

    def test_graph_files(self):
        wanted = self.result(*self.fit())["log_evidence"]
        neighbours = {str(i): [] for i in range(1, 57)}
        for edge in cells(self.read_text(self.graph)):
            neighbours[edge["i"]].append(edge["j"])
            neighbours[edge["j"]].append(edge["i"])
        lists = "".join(f"{n} {len(k)} {' '.join(k)}\n" for n, k in neighbours.items())
        self.write("a.graph", "56 # nodes\n" + lists)
        self.write("a.gal", "0 56 scotland region\n" + "".join(f"{n} {len(k)}\n{' '.join(k)}\n" for n, k in neighbours.items()))
        self.write("both.csv", "a,b\n" + "".join(f"{n},{k}\n" for n, all in neighbours.items() for k in all))
        for name in ("a.graph", "a.gal", "both.csv"):
            self.assertAlmostEqual(self.result(*self.fit(graph=name))["log_evidence"], wanted, delta=1e-9)
        for text, says in (
                ("", "empty"), ("2 7\n", '"7" follows'), ("2\n1 1 2\n", "ends after 1 of 2"),
                ("2\n1 1 2\n2 0\n", "not the other way round"), ("2\n1 1 1\n2 0\n", "its own neighbour"),
                ("2\n1 1 3\n2 0\n", "none of the 2 nodes"), ("2\n1 x 2\n2 1 1\n", "expected a whole number"),
                ("2\n1 1 2\n2 1 1\n3 0\n", "follows the 2 nodes"), ("2\n1 1 2\n1 1 2\n", "a second time")):
            self.write("bad.graph", text)
            self.refuse(*self.fit(graph="bad.graph"), says=("bad.graph", says))
        for text, says in (("i,j,k\n1,2,3\n", "3 columns"), ("1,2\n3,4\n", "expected a header"),
                           ("i,j\n1,1\n", "its own neighbour"), ("i,j\n1,\n", "missing"),
                           ("i,j\na,b\n", "no cell of \"region\"")):
            self.write("bad.csv", text)
            self.refuse(*self.fit(graph="bad.csv"), says=says)

    def test_bad_use(self):
        base = ("fit", "--data", self.table, "--exposure", "expected", "--likelihood", "poisson")
        graph = ("--graph", self.graph)
        for formula, more, says in (
                ("besag(region)", (), "give --graph region=FILE"),
                ("rw1(region)", graph, "no besag field"),
                ("besag(region, cyclic)", graph, "takes a column alone"),
                ("besag(region) + se(aff_pct)", graph, "do not go together"),
                ("besag(region) + besag(region)", graph, "given twice"),
                ("rw2(region, 5)", (), "a range is"), ("rw1(region, 3, 9)", (), "beyond the range"),
                ("rw1(region, loop)", (), "understood by no random walk"), ("rw1(nothing)", (), "nothing"),
                ("bym2(region)", (), "besag(x) + (1|x)"), ("rw1(observed)", (), "another role")):
            self.refuse_formula(*base, "--formula", f"observed ~ {formula}", *more, says=says)
        self.refuse(*base, "--target", "observed", "--prior", "laplace", "--field", "rw1(region)", "--method", "ep",
                    says="without fields")

    def refuse_formula(self, *arguments, says):
        done = self.run_tool(*arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stdout + done.stderr)
        self.assertIn(says, done.stderr)


class Walks(ToolTest):
    def table(self, times, seed=3):
        draw = random.Random(seed)
        rows = ["t,x,y"]
        for t in times:
            x = draw.gauss(0, 1)
            rows.append(f"{t},{x},{math.sin(0.3 * t) + 0.5 * x + 0.1 * draw.gauss(0, 1)}")
        self.write("w.csv", "\n".join(rows) + "\n")

    def fit(self, formula, *more):
        return ("fit", "--data", "w.csv", "--formula", f"y ~ {formula}", "--likelihood", "gaussian", *more)

    def test_gaps_are_nodes_and_a_range_forecasts(self):
        self.table([t for t in range(60) if t % 7])
        fitted = self.result(*self.fit("x + rw2(t, 0, 70)", "--learn", "--save", "m.gsm"))
        field = fitted["fields"][0]
        self.assertEqual(field["nodes"], [str(t) for t in range(71)])
        self.assertAlmostEqual(fitted["coefficients"][1]["mean"], 0.5, delta=0.05)
        self.write("new.csv", "t,x\n7,0\n61,0\n70,0\n")
        rows = cells(self.succeed("predict", "--model", "m.gsm", "--data", "new.csv").stdout)
        self.assertAlmostEqual(float(rows[0]["latent_mean"]), math.sin(2.1), delta=0.2)
        self.assertLess(float(rows[0]["latent_variance"]), float(rows[1]["latent_variance"]))
        self.assertLess(float(rows[1]["latent_variance"]), float(rows[2]["latent_variance"]))
        self.write("off.csv", "t,x\n7.5,0\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "off.csv", says=("line 2", '"7.5" is no node'))

    def test_uneven_times_are_a_wiener_process(self):
        # rw1 over uneven times, learned without scale or noise in common: the same as a dense problem of min(s, t).
        times = [0.0, 0.4, 1.7, 2.0, 3.3, 4.1, 6.0, 6.2, 8.8, 9.5]
        self.table(times)
        fitted = self.result(*self.fit("rw1(t)", "--set", "prior.precision=2", "--set", "likelihood.variance=0.01"))
        self.assertEqual(len(fitted["fields"][0]["nodes"]), 10)
        rows = cells(self.read("w.csv").decode())
        y = [float(r["y"]) for r in rows]
        field = {"type": "rw1", "dim": 10, "precision": 2, "locations": times, "scaled": True}
        level, spread = sum(y) / 10, math.sqrt(sum((v - sum(y) / 10) ** 2 for v in y) / 10)
        problem = {"format": "gaussmith-problem/1",
                   "prior": {"type": "additive", "fixed": {"mean": [level], "sd": [10 * spread]}, "fields": [field]},
                   "design": {"type": "sparse", "shape": [10, 11],
                              "triplets": [t for i in range(10) for t in ([i, 0, 1], [i, 1 + i, 1])]},
                   "sites": [{"type": "gaussian", "y": y, "variance": 0.01}]}
        self.write("p.json", json.dumps(problem))
        same = self.result("fit", "--problem", "p.json", "--method", "exact")
        self.assertAlmostEqual(same["log_evidence"], fitted["log_evidence"], delta=1e-8)

    def test_what_is_no_walk(self):
        self.table([0.0, 0.4, 1.7, 2.0])
        self.refuse(*self.fit("rw2(t, cyclic)"), says="equal distances")
        self.write("w.csv", "t,x,y\na,1,2\nb,2,3\n")
        self.refuse(*self.fit("rw1(t)"), says="needs a column of numbers")
        self.write("w.csv", "t,x,y\n1,1,2\n1,2,3\n")
        self.refuse(*self.fit("rw1(t)"), says="one value only")
        self.write("w.csv", "t,x,y\n1,1,2\n2,2,3\n")
        self.refuse(*self.fit("rw2(t)"), says="at least 3")


if __name__ == "__main__":
    unittest.main()
