"""gaussmith design measure: both uses, curve, pictures, states that survive SIGKILL, and what it refuses."""

import csv
import json
import math
import os
import random
import struct
import unittest
import zlib

from tool import TOOL, ToolTest

SIDE = 8
WEIGHTS = SIDE * SIDE


def image_problem():
    rows = 2 * SIDE * (SIDE - 1)
    return json.dumps({
        "format": "gaussmith-problem/1",
        "prior": {"type": "none", "dim": WEIGHTS},
        "design": {"type": "stacked", "parts": [{"type": "differences", "height": SIDE, "width": SIDE},
                                                {"type": "wavelets", "height": SIDE, "width": SIDE, "levels": 2}]},
        "sites": [{"type": "laplace", "y": 0, "rows": rows, "scale": 0.1}, {"type": "laplace", "y": 0, "scale": 0.14}],
    })


def signal_problem(dim=40, likelihood="laplace", **arguments):
    return json.dumps({"format": "gaussmith-problem/1", "prior": {"type": "none", "dim": dim},
                       "sites": [{"type": likelihood, "y": 0, **(arguments or {"scale": 0.2})}]})


def picture():
    pixels = [[200 if (i - 3) ** 2 + (j - 4) ** 2 < 7 else 40 + 5 * j for j in range(SIDE)] for i in range(SIDE)]
    return f"P2\n{SIDE} {SIDE}\n255\n" + "\n".join(" ".join(map(str, row)) for row in pixels) + "\n"


def truth_numbers(dim=40, seed=3):
    draw = random.Random(seed)
    return [draw.choice([-1, 1]) * 0.2 * draw.expovariate(1.0) for _ in range(dim)]


def decode_png(content):
    """An independent reader: chunks, check sums, lines without filters."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, size = 8, b"", None
    while at < len(content):
        length, kind = struct.unpack(">I4s", content[at:at + 8])
        body = content[at + 8:at + 8 + length]
        assert struct.unpack(">I", content[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, depth, colour, *_ = size
    assert (depth, colour) == (8, 0)
    lines = zlib.decompress(packed)
    assert len(lines) == height * (width + 1)
    assert not any(lines[::width + 1]), "a line with a filter"
    return [list(lines[i * (width + 1) + 1:(i + 1) * (width + 1)]) for i in range(height)]


class Measure(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("model.json", signal_problem())
        self.truth = truth_numbers()
        self.write("signal.csv", "\n".join(map(repr, self.truth)) + "\n")
        self.write("image.json", image_problem())
        self.write("image.pgm", picture())

    RUN = ("design", "measure", "--problem", "model.json", "--noise-variance", "0.005")
    SIMULATE = (*RUN, "--truth", "signal.csv", "--initial", "8")
    IMAGE = ("design", "measure", "--problem", "image.json", "--noise-variance", "0.005", "--truth", "image.pgm", "--initial", "10")

    def rows_of(self, name):
        return [[float(x) for x in line.split(",")] for line in self.read(name).decode().splitlines()]

    def answer(self, name="y.csv", noise=0.0):
        rows = self.rows_of("rows.csv")
        self.write(name, "".join(f"{sum(x * t for x, t in zip(row, self.truth)) + noise!r}\n" for row in rows))
        return rows

    def test_simulation_writes_a_line_a_step(self):
        found = self.result(*self.SIMULATE, "--steps", "10", "--propose", "greedy:2", "--curve", "curve.csv", "--mean", "mean.csv")
        rows = list(csv.DictReader(self.read("curve.csv").decode().splitlines()))
        self.assertEqual(list(rows[0]), ["measurements", "error", "gain", "log_evidence", "iterations", "seconds"])
        self.assertEqual([int(row["measurements"]) for row in rows], [8, *range(10, 29, 2)])
        self.assertEqual(float(rows[-1]["error"]), found["error"])
        self.assertEqual(sum(int(row["iterations"]) for row in rows), found["iterations"])
        mean = [float(row["mean"]) for row in csv.DictReader(self.read("mean.csv").decode().splitlines())]
        self.assertAlmostEqual(math.dist(mean, self.truth), found["error"], places=12)
        self.assertLess(found["error"], math.dist([0.0] * 40, self.truth))
        self.assertTrue(all(float(row["gain"]) > 0 for row in rows[1:]))

    def test_evidence_and_mean_are_those_of_fit(self):
        """What was asked and told, as Gaussian rows of a problem file."""
        self.succeed(*self.RUN, "--state", "run.state", "--propose", "greedy:5", "--ask", "rows.csv")
        rows = self.answer()
        self.succeed(*self.RUN, "--state", "run.state", "--propose", "greedy:5", "--set", "kl.tolerance=1e-3", "--tell", "y.csv")
        found = self.result(*self.RUN, "--state", "run.state", "--propose", "greedy:5", "--ask", "next.csv", "--mean", "mean.csv")
        values = [row[0] for row in self.rows_of("y.csv")]
        self.write("whole.json", json.dumps({
            "format": "gaussmith-problem/1", "prior": {"type": "none", "dim": 40},
            "design": {"type": "stacked", "parts": [{"type": "identity"}, {"type": "dense", "rows": rows}]},
            "sites": [{"type": "laplace", "y": 0, "scale": 0.2, "rows": 40}, {"type": "gaussian", "y": values, "variance": 0.005}]}))
        whole = self.result("fit", "--problem", "whole.json", "--method", "kl")
        self.assertAlmostEqual(found["log_evidence"], whole["log_evidence"], delta=1e-4)
        mean = [float(row["mean"]) for row in csv.DictReader(self.read("mean.csv").decode().splitlines())]
        for a, b, v in zip(mean, whole["weights"]["mean"], whole["weights"]["variance"]):
            self.assertLess(abs(a - b), 1e-2 * math.sqrt(v))

    def test_ask_and_tell_follow_each_other(self):
        asked = []
        errors = []
        for step in range(6):
            told = ("--tell", "y.csv") if step else ("--initial", "6")
            out = self.result(*self.RUN, "--state", "run.state", "--propose", "greedy:2", "--refit", "2", *told, "--ask", "rows.csv",
                              "--mean", "mean.csv")
            self.assertEqual(out["asked"], 2 if step else 6)
            asked.append(self.answer())
            mean = [float(row["mean"]) for row in csv.DictReader(self.read("mean.csv").decode().splitlines())]
            errors.append(math.dist(mean, self.truth))
        self.assertEqual(out["measurements"], 14)
        self.assertLess(errors[-1], errors[0])
        for rows in asked:
            for row in rows:
                self.assertAlmostEqual(math.hypot(*row), 1.0, places=12)
        # Asked again in the same way, it says the same.
        before = self.read("rows.csv")
        self.succeed(*self.RUN, "--state", "run.state", "--propose", "greedy:2", "--refit", "2", "--ask", "rows.csv")
        self.assertEqual(self.read("rows.csv"), before)

    def test_rows_drawn_for_a_start_are_not_those_of_the_rule(self):
        ask = (*self.RUN, "--state", "run.state", "--propose", "greedy:2", "--ask", "rows.csv")
        drawn, again, chosen = ((self.succeed(*ask, *start), self.read("rows.csv"))[1] for start in (("--initial", "2"), ("--initial", "2"), ()))
        self.assertEqual(drawn, again)
        self.assertNotEqual(drawn, chosen)

    def test_asking_for_more_candidates_than_are_left_keeps_what_is_told(self):
        draw = random.Random(5)
        self.write("candidates.csv", "\n".join(",".join(repr(draw.gauss(0, 1)) for _ in range(40)) for _ in range(5)))
        run = (*self.RUN, "--state", "run.state", "--propose", "candidates:candidates.csv")
        self.succeed(*run, "--per-step", "3", "--ask", "rows.csv")
        self.answer()
        before = self.read("run.state")
        self.refuse(*run, "--per-step", "3", "--tell", "y.csv", "--ask", "next.csv",
                    says="--ask wants 3 candidates, but 2 are left; give --tell without --ask; 2 or fewer are accepted")
        self.assertEqual(self.read("run.state"), before)
        self.assertEqual(self.result(*run, "--per-step", "2", "--tell", "y.csv", "--ask", "rows.csv")["asked"], 2)
        self.answer()
        self.refuse(*run, "--tell", "y.csv", "--ask", "rows.csv", says="but 0 are left; give --tell without --ask")
        self.assertEqual(self.result(*run, "--tell", "y.csv")["measurements"], 5)

    def test_no_file_overwrites_another(self):
        self.write("c.csv", "\n".join(",".join("1" if i == j else "0" for j in range(40)) for i in range(40)))
        self.write("g.csv", "\n".join(map(str, range(40))))
        os.symlink("signal.csv", self.path("link.csv"))
        simulate = (*self.SIMULATE, "--propose", "candidates:c.csv", "--groups", "g.csv", "--steps", "2")
        contents = {name: self.read(name) for name in ("model.json", "signal.csv", "c.csv", "g.csv")}
        for written in ("--curve", "--state", "--mean"):
            for name, read in (("model.json", "--problem"), ("signal.csv", "--truth"), ("./link.csv", "--truth"),
                               ("c.csv", "--propose candidates"), ("g.csv", "--groups")):
                self.refuse(*simulate, written, name, says=f"{read} and {written} are the same file")
            self.refuse(*simulate, written, "none/x", says=f"{written} none/x: there is no folder")
            self.refuse(*simulate, written, ".", says=f"{written} .: a folder")
        for one, other in (("--state", "--curve"), ("--curve", "--mean"), ("--state", "--mean")):
            self.refuse(*simulate, one, "x", other, "x", says=f"{one} and {other} are the same file, x")
        ask = (*self.RUN, "--propose", "candidates:c.csv")
        for name in ("c.csv", "model.json", "run.state"):
            self.refuse(*ask, "--state", "run.state", "--ask", name, says="are the same file")
        self.refuse(*ask, "--state", "none/run.state", "--ask", "rows.csv", says="--state none/run.state: there is no folder")
        for name, content in contents.items():
            self.assertEqual(self.read(name), content)

    def test_devices_are_no_files_to_write(self):
        self.refuse(*self.SIMULATE, "--curve", "/dev/null", "--mean", "/dev/null", says="--curve /dev/null: it exists and is not a regular")

    def test_candidates_are_asked_by_their_rows(self):
        candidates = [[random.Random(100 * i + j).gauss(0, 1) for j in range(40)] for i in range(30)]
        self.write("candidates.csv", "\n".join(",".join(map(repr, row)) for row in candidates))
        chosen = []
        for step in range(4):
            told = ("--tell", "y.csv") if step else ()
            chosen += self.result(*self.RUN, "--state", "run.state", "--propose", "candidates:candidates.csv", "--per-step", "3",
                                  *told, "--ask", "rows.csv")["chosen"]
            rows = self.answer()
            self.assertEqual(rows, [candidates[k] for k in chosen[-3:]])
        self.assertEqual(len(set(chosen)), 12)

    def test_pictures_can_be_read(self):
        os.mkdir(self.path("pictures"))
        self.succeed(*self.IMAGE, "--steps", "6", "--propose", "eigen:3", "--pictures", "pictures", "--picture-every", "9",
                     "--mean", "mean.csv")
        self.assertEqual(sorted(os.listdir(self.path("pictures"))), ["000010.png", "000019.png", "000028.png", "truth.png"])
        grey = decode_png(self.read("pictures/truth.png"))
        wanted = [[int(x) for x in line.split()] for line in picture().splitlines()[3:]]
        self.assertEqual(grey, wanted)
        # The last one shows the mean in the end, -1 black and 1 white.
        mean = [float(row["mean"]) for row in csv.DictReader(self.read("mean.csv").decode().splitlines())]
        pixels = [grey for row in decode_png(self.read("pictures/000028.png")) for grey in row]
        self.assertEqual(len(pixels), WEIGHTS)
        for grey, m in zip(pixels, mean):
            self.assertLess(abs(grey - min(255.0, max(0.0, 127.5 * (m + 1)))), 0.5 + 1e-9)
        self.assertGreater(max(pixels) - min(pixels), 100)

    def test_groups_are_measured_together(self):
        draw = random.Random(5)
        self.write("candidates.csv", "\n".join(",".join(repr(draw.gauss(0, 1)) for _ in range(40)) for _ in range(24)))
        self.write("groups.csv", "\n".join(str(i // 4) for i in range(24)))
        found = self.result(*self.RUN, "--truth", "signal.csv", "--initial", "1", "--steps", "3", "--propose",
                            "candidates:candidates.csv", "--groups", "groups.csv")
        self.assertEqual(found["measurements"], 16)
        self.assertEqual(len(set(found["chosen"])), 4)
        self.refuse(*self.RUN, "--truth", "signal.csv", "--initial", "1", "--steps", "6", "--propose", "candidates:candidates.csv",
                    "--groups", "groups.csv", says=("need 7, but there are 6",))
        self.result(*self.RUN, "--truth", "signal.csv", "--initial", "1", "--steps", "6", "--propose", "candidates:candidates.csv",
                    "--groups", "groups.csv", "--repeats")

    def test_refitting_seldom_takes_fewer_sweeps(self):
        often, seldom = (self.result(*self.IMAGE, "--steps", "10", "--propose", "greedy:2", "--refit", r) for r in ("1", "5"))
        self.assertLess(seldom["iterations"], 0.5 * often["iterations"])
        self.assertLess(abs(seldom["error"] - often["error"]), 0.5 * often["error"])

    def test_killed_it_goes_on_and_ends_the_same(self):
        command = (*self.IMAGE, "--steps", "40", "--propose", "greedy:1", "--refit", "2", "--threads", "1")
        whole = self.result(*command, "--curve", "whole.csv", "--mean", "whole_mean.csv")
        resumed = (*command, "--state", "run.state", "--curve", "curve.csv", "--mean", "mean.csv", "--json")
        kills = int(os.environ.get("GAUSSMITH_KILLS", "6"))
        self.assertGreater(self.kill_runs(resumed, "curve.csv", kills), 0)
        ended = json.loads(self.succeed(*resumed).stdout)
        for field in ("error", "log_evidence", "iterations", "measurements"):
            self.assertEqual(ended[field], whole[field])
        self.assertEqual(self.read("mean.csv"), self.read("whole_mean.csv"))
        curves = [[row[:5] for row in csv.reader(self.read(name).decode().splitlines())] for name in ("whole.csv", "curve.csv")]
        self.assertEqual(curves[0], curves[1])

    def test_more_steps_go_on(self):
        self.succeed(*self.SIMULATE, "--steps", "4", "--state", "run.state")
        self.assertEqual(self.result(*self.SIMULATE, "--steps", "9", "--state", "run.state")["error"],
                         self.result(*self.SIMULATE, "--steps", "9")["error"])

    def test_states_of_other_runs_and_damaged_ones_are_refused(self):
        run = (*self.SIMULATE, "--state", "run.state", "--steps", "3")
        self.succeed(*run)
        for change, says in ((("--seed", "3"), "seed is 0 there and 3 here"), (("--refit", "2"), "refit"),
                             (("--method", "vb"), "method"), (("--propose", "eigen:1"), "rule"),
                             (("--propose", "greedy:2"), "rows a step")):
            self.refuse(*run, *change, says=("run.state: the state of another run", says))
        self.write("signal.csv", "\n".join(map(repr, truth_numbers(seed=4))))
        self.refuse(*run, says=("run.state", "truth"))
        self.refuse(*self.RUN, "--state", "run.state", "--ask", "rows.csv", says="use is simulation there and ask and tell here")
        good = self.read("run.state")
        for text in (b"", b"nonsense\n", good[:-1], good + b" ", good[:40], good[:len(good) // 2], good.replace(b"/1 ", b"/9 ", 1),
                     b"gaussmith-active/1 0 0\n", good[:-9] + bytes([good[-9] ^ 1]) + good[-8:]):
            self.write("run.state", text)
            self.refuse(*run, says="run.state")

    def test_bad_input(self):
        ask = (*self.RUN, "--state", "run.state", "--propose", "greedy:2")
        self.write("y.csv", "1\n2\n")
        self.refuse(*ask, "--tell", "y.csv", says="nothing was asked")
        self.succeed(*ask, "--ask", "rows.csv")
        for text, says in (("1\n", "1 line"), ("1\n2\n3\n", "3 lines"), ("1\nnan\n", "y.csv, line 2"), ("1,2\n3,4\n", "2 numbers"),
                           ("1\n1e999\n", "y.csv, line 2"), ("a\nb\n", "y.csv, line 1"), ("", "no numbers")):
            self.write("y.csv", text)
            self.refuse(*ask, "--tell", "y.csv", says=says)
        self.refuse(*self.RUN, "--ask", "rows.csv", says="--state")
        self.refuse(*self.RUN, says="nothing to do")
        self.refuse(*ask, "--ask", "rows.csv", "--truth", "signal.csv", says="one of the two")
        for value in ("0", "-1", "nan", "inf", "1e-300", "1e300"):
            self.refuse("design", "measure", "--problem", "model.json", f"--noise-variance={value}", "--truth", "signal.csv",
                        says="noise-variance")
        self.refuse("design", "measure", "--problem", "model.json", "--noise-variance=1e-30", "--truth", "signal.csv", "--initial", "8",
                    says="the noise variance 1e-30 is too small")
        for rule in ("eigen:0", "greedy:x", "newton:3", "candidates", "candidates:", "eigen:-1"):
            self.refuse(*self.SIMULATE, "--propose", rule, says="--propose")
        self.refuse(*self.SIMULATE, "--propose", "greedy:41", says="41 rows")
        self.refuse(*self.SIMULATE, "--propose", "candidates:none.csv", says="none.csv")
        row = ",".join(["1"] * 40)
        for text, says in ((",".join(["1"] * 39), "39 numbers"), (row + "\n" + ",".join(["0"] * 40), "row 1 has length zero"),
                           (row + "\n1,2\n", "c.csv, line 2"), (row, "need")):
            self.write("c.csv", text)
            self.refuse(*self.SIMULATE, "--propose", "candidates:c.csv", says=says)
        self.refuse(*self.IMAGE[:-4], "--truth", "signal.csv", says="40 numbers, but the problem has 64 weights")
        self.refuse(*self.RUN, "--truth", "image.pgm", says="8 x 8 pixels, but the problem has 40 weights")
        self.write("image.pgm", "P2 8 8 255 1 2 3" + 200 * " ")
        self.refuse(*self.IMAGE, says="image.pgm: ends before a pixel")
        self.refuse(*self.SIMULATE, "--pictures", "nowhere", says="--pictures")
        self.refuse(*self.SIMULATE, "--method", "nuts", says="nuts")
        self.refuse(*self.SIMULATE, "--set", "prior.variance=2", says="--set")
        self.write("poisson.json", signal_problem(likelihood="poisson", exposure=1.0))
        self.refuse("design", "measure", "--problem", "poisson.json", "--noise-variance", "1", "--truth", "signal.csv", "--method", "vb",
                    says="super-Gaussian")

    def test_ep_that_does_not_converge_says_so_and_goes_on(self):
        self.write("model.json", signal_problem(likelihood="student-t", nu=2.2, scale=0.1))
        done = self.run_tool(*self.SIMULATE, "--steps", "3", "--method", "ep", "--set", "ep.max_iterations=2", "--curve", "curve.csv", "--json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did not converge", done.stderr)
        self.assertGreater(json.loads(done.stdout)["unconverged"], 0)
        self.assertEqual(len(self.read("curve.csv").splitlines()), 5)

    def test_image_designs_are_those_of_their_entries(self):
        """Differences and wavelets in problem files: signals that are known."""
        self.write("d.json", json.dumps({
            "format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 4, "variance": 1.0},
            "design": {"type": "stacked", "parts": [{"type": "differences", "width": 4}, {"type": "wavelets", "width": 4, "levels": 1}]},
            "sites": [{"type": "gaussian", "y": [0.5, -1, 2], "variance": 0.1}, {"type": "gaussian", "y": [1, 2, 3, 4], "variance": 0.1}]}))
        r3 = math.sqrt(3)
        h = [x / (4 * math.sqrt(2)) for x in (1 + r3, 3 + r3, 3 - r3, 1 - r3)]
        wavelet = [[h[0], h[1], h[2], h[3]], [h[2], h[3], h[0], h[1]],
                   [h[3], -h[2], h[1], -h[0]], [h[1], -h[0], h[3], -h[2]]]
        rows = [[-1, 1, 0, 0], [0, -1, 1, 0], [0, 0, -1, 1], *wavelet]
        self.write("e.json", json.dumps({
            "format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 4, "variance": 1.0},
            "design": {"type": "dense", "rows": rows},
            "sites": [{"type": "gaussian", "y": [0.5, -1, 2, 1, 2, 3, 4], "variance": 0.1}]}))
        found, truth = (self.result("fit", "--problem", name, "--method", "exact") for name in ("d.json", "e.json"))
        self.assertAlmostEqual(found["log_evidence"], truth["log_evidence"], places=10)
        for bad, says in (({"type": "differences", "width": 5}, "design"), ({"type": "wavelets", "width": 4, "levels": 3}, "design"),
                          ({"type": "wavelets", "width": 4}, "levels"), ({"type": "stacked", "parts": []}, "parts"),
                          ({"type": "waves"}, "accepted: identity")):
            self.write("bad.json", json.dumps({"format": "gaussmith-problem/1", "prior": {"type": "none", "dim": 4}, "design": bad,
                                               "sites": [{"type": "laplace", "y": 0, "scale": 1}]}))
            self.refuse("fit", "--problem", "bad.json", "--method", "kl", says=says)


if __name__ == "__main__":
    unittest.main()
