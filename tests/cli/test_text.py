"""Tables of text: thousands of features, nearly all of them zero in a row."""

import json
import random
import unittest

from tool import ToolTest


def words(rows, features, length, seed, value=1.0):
    """Rows of `length` words each, the first of which say the class."""
    draw = random.Random(seed)
    lines = []
    for i in range(rows):
        label = 1 if i % 2 else -1
        chosen = {1 + draw.randrange(20) + (10 if label > 0 else 0)}
        while len(chosen) < length:
            chosen.add(1 + draw.randrange(features))
        lines.append(f"{label:+d} " + " ".join(f"{j}:{value}" for j in sorted(chosen)))
    return "\n".join(lines) + "\n"


class Text(ToolTest):
    def fit(self, *more, table="t.svm", method="laplace"):
        return self.result("fit", "--data", table, "--likelihood", "bernoulli-logit", "--prior", "linear", "--method",
                           method, *more)

    def test_features_share_a_prior_on_the_scale_of_the_rows(self):
        self.write("t.svm", words(120, 1500, 8, 1))
        shared = self.fit()
        self.assertTrue(any("have one prior, N" in note for note in shared.get("notes", [])), shared["notes"])
        # N(0, (2.5 / root mean square length)^2) for the features, N(best, 10^2) for the intercept.
        unseen = shared["coefficients"][1500]["sd"]
        self.assertLessEqual(unseen, 2.5 / 8**0.5)
        self.assertAlmostEqual(unseen, 2.5 / 8**0.5, delta=0.1)
        # The same in other units, and not where a scale is given.
        self.write("u.svm", words(120, 1500, 8, 1, value=0.01))
        self.assertAlmostEqual(self.fit(table="u.svm")["log_evidence"], shared["log_evidence"], delta=1e-5)
        apart = self.fit("--set", "prior.scale=2.5")
        self.assertFalse(any("have one prior, N" in note for note in apart.get("notes", [])))
        self.assertGreater(apart["coefficients"][1500]["sd"], 10)
        self.assertGreater(shared["log_evidence"], apart["log_evidence"])
        laplace = self.result("fit", "--data", "t.svm", "--likelihood", "bernoulli-logit", "--prior", "laplace")
        self.assertTrue(any("have one prior, N" in note for note in laplace.get("notes", [])))

    def test_without_an_intercept_it_is_the_model_of_the_csv_table(self):
        draw = random.Random(2)
        rows = [[draw.gauss(0, 1) for _ in range(3)] for _ in range(30)]
        labels = [1 if row[0] + draw.gauss(0, 1) > 0 else -1 for row in rows]
        self.write("t.svm", "".join(f"{label:+d} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) + "\n"
                                    for label, row in zip(labels, rows)))
        self.write("t.csv", "y,a,b,c\n" + "".join(f"{label}," + ",".join(map(repr, row)) + "\n"
                                                  for label, row in zip(labels, rows)))
        text = self.fit("--no-intercept")
        table = self.fit("--no-intercept", "--target", "y", table="t.csv")
        self.assertEqual(len(text["coefficients"]), 3)
        self.assertAlmostEqual(text["log_evidence"], table["log_evidence"], delta=1e-9)

    def test_tables_of_few_or_filled_features_keep_priors_by_spread(self):
        self.write("few.svm", words(80, 60, 8, 1))
        self.assertFalse(any("have one prior, N" in note for note in self.fit(table="few.svm").get("notes", [])))
        draw = random.Random(4)
        rows = "".join(f"{1 if i % 2 else -1:+d} " + " ".join(f"{j}:{5 + draw.random()}" for j in range(1, 451)) + "\n"
                       for i in range(12))
        self.write("filled.svm", rows)
        self.assertFalse(any("have one prior, N" in note for note in self.fit(table="filled.svm").get("notes", [])))

    def test_columns_of_a_csv_file_are_what_the_same_text_is(self):
        rows = [line.split() for line in words(120, 1500, 8, 1).splitlines()]
        rows = [(label, {int(entry.split(":")[0]) for entry in entries}) for label, *entries in rows]
        # Words that nothing has would be weights of one file and not of the other.
        used = sorted(set().union(*(present for _, present in rows)))
        self.write("t.svm", "".join(label + "".join(f" {j}:1" for j, word in enumerate(used, 1) if word in present) + "\n"
                                    for label, present in rows))
        self.write("t.csv", "y," + ",".join(f"w{word}" for word in used) + "\n" +
                   "".join(f"{int(label)}," + ",".join("1" if word in present else "0" for word in used) + "\n"
                           for label, present in rows))
        for prior in ("linear", "laplace"):
            text, columns = (self.result("fit", "--data", table, "--likelihood", "bernoulli-logit", "--prior", prior,
                                         "--method", "vb", *more)
                             for table, more in (("t.svm", ()), ("t.csv", ("--target", "y", "--save", "m.gsm"))))
            self.assertTrue(any("have one prior, N" in note for note in columns.get("notes", [])), columns.get("notes"))
            self.assertAlmostEqual(text["log_evidence"], columns["log_evidence"], delta=1e-7)
            for a, b in zip(text["latent"]["variance"], columns["latent"]["variance"]):
                self.assertAlmostEqual(a, b, delta=1e-7)
            predicted = json.loads(self.succeed("predict", "--model", "m.gsm", "--data", "t.csv", "--json").stdout)
            for a, b in zip(predicted["latent_variance"], columns["latent"]["variance"]):
                self.assertAlmostEqual(a, b, delta=1e-7)

    def test_the_report_says_what_estimates_are_worth(self):
        self.write("t.svm", words(120, 1500, 8, 1))
        options = ("--data", "t.svm", "--likelihood", "bernoulli-logit", "--prior", "linear", "--method", "vb", "--form",
                   "matrix-free", "--set", "vb.variances=sampling:16")
        result = self.result("fit", *options)
        text = self.succeed("fit", *options).stdout
        text = text.decode() if isinstance(text, bytes) else text
        self.assertEqual(result["evidence_kind"], "estimate")
        self.assertIn(f"standard error {result['log_evidence_se']:.2g}", text)
        self.assertIn(f"Variances   estimates; relative errors of at most {result['latent']['variance_error']:.2g} for rows "
                      f"and {result['weights']['variance_error']:.2g} for weights", text)

    def test_saved_draws_predict_like_the_fit(self):
        self.write("t.svm", words(120, 1500, 8, 1))
        for prior in ("linear", "laplace"):
            fitted = self.result("fit", "--data", "t.svm", "--likelihood", "bernoulli-logit", "--prior", prior,
                                 "--method", "vb", "--form", "matrix-free", "--set", "vb.variances=sampling:16",
                                 "--set", "vb.tolerance=1e-4", "--save", "m.gsm")
            model = json.loads(self.read("m.gsm").split(b"\n", 1)[1])
            self.assertEqual(model["root"]["type"], "dense")
            self.assertEqual(len(model["root"]["rows"]), 16)
            predicted = json.loads(self.succeed("predict", "--model", "m.gsm", "--data", "t.svm", "--json").stdout)
            for mean, wanted in zip(predicted["latent_mean"], fitted["latent"]["mean"]):
                self.assertAlmostEqual(mean, wanted, delta=1e-6)
            # Models of earlier versions have the root as triplets.
            rows = model["root"]["rows"]
            model["root"] = {"type": "sparse", "shape": [16, 1501],
                             "triplets": [[i, j, v] for i, row in enumerate(rows) for j, v in enumerate(row)]}
            self.write("old.gsm", self.sealed(model))
            again = json.loads(self.succeed("predict", "--model", "old.gsm", "--data", "t.svm", "--json").stdout)
            self.assertEqual(again["latent_variance"], predicted["latent_variance"])

    def sealed(self, model):
        payload = json.dumps(model).encode() + b"\n"
        checksum = 0xCBF29CE484222325
        for byte in payload:
            checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
        return b"gaussmith-model/1 %016x %d\n" % (checksum, len(payload)) + payload


if __name__ == "__main__":
    unittest.main()
