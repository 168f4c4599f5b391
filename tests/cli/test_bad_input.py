"""Every mistake gives its exit code, one clear line and no file."""

import os
import pty
import resource
import signal
import subprocess
import unittest

from tool import TOOL, ToolTest, class_table, count_table, problem, regression_table

FIT = ("fit", "--data", "t.csv", "--target", "y", "--likelihood")


class BadUse(ToolTest):
    def test_commands_and_options(self):
        self.refuse(says="--help")
        self.refuse("frobnicate", says=("frobnicate", "fit", "predict"))
        self.refuse("fit", says=("--data", "--problem"))
        self.refuse("fit", "--colour", "red", says="--colour")
        self.refuse("fit", "--data", says="--data")
        self.refuse("predict", "--data", "t.csv", says="--model")
        self.refuse("fit", "--problem", "p.json", "--data", "t.csv", says="--data")

    def test_unknown_names(self):
        self.write("t.csv", class_table())
        self.refuse("fit", "--data", "t.csv", "--target", "y", says="--likelihood")
        self.refuse(*FIT, "logit", says=("logit", "bernoulli-logit"))
        self.refuse(*FIT, "bernoulli-logit", "--kernel", "rbf", says=("rbf", "matern32"))
        self.refuse(*FIT, "bernoulli-logit", "--kernel", "linear-ard", says="linear")
        self.refuse(*FIT, "bernoulli-logit", "--kernel", "se+", says="name is missing")
        self.refuse(*FIT, "bernoulli-logit", "--kernel", "(se", says="bracket")
        self.refuse(*FIT, "bernoulli-logit", "--method", "magic", says=("magic", "laplace"))
        self.refuse(*FIT, "bernoulli-logit", "--method", "exact", says="exact")
        self.refuse(*FIT, "bernoulli-logit", "--prior", "flat", says="isotropic")
        self.refuse(*FIT, "bernoulli-logit", "--set", "kernel.width=1", says=("kernel.width", "kernel.lengthscale"))
        self.refuse(*FIT, "bernoulli-logit", "--set", "laplace.speed=1", says=("laplace.speed", "laplace.tolerance"))
        self.refuse(*FIT, "bernoulli-logit", "--set", "laplace.tolerance=tiny", says="tiny")
        ep = (*FIT, "bernoulli-logit", "--method", "ep", "--set")
        self.refuse(*ep, "ep.mode=fast", says=("ep.mode", "parallel", "double-loop", "fast"))
        self.refuse(*ep, "ep.power=0", says=("ep.power", "(0, 1]"))
        self.refuse(*ep, "ep.power=1.5", says=("ep.power", "(0, 1]"))
        self.refuse(*ep, "ep.damping=-1", says=("ep.damping", "(0, 1]"))
        self.refuse(*ep, "ep.speed=1", says=("ep.speed", "ep.tolerance"))
        self.refuse(*FIT, "bernoulli-logit", "--method", "kl", "--set", "kl.covariance=round",
                    says=("kl.covariance", "full", "round"))
        self.refuse(*FIT, "bernoulli-logit", "--method", "kl", "--set", "kl.starts=0", says="kl.starts")
        self.refuse(*FIT, "bernoulli-logit", "--set", "kernel.signal_sd", says="NAME=VALUE")
        self.refuse(*FIT, "bernoulli-logit", "--set", "kernel.signal_sd=abc", says="abc")
        self.refuse(*FIT, "bernoulli-logit", "--set", "kernel.lengthscale=1,2,3", says="2 coded features")
        self.refuse(*FIT, "bernoulli-logit", "--fix", "kernel.signal_sd", says="--learn")
        self.refuse(*FIT, "bernoulli-logit", "--learn", "--fix", "kernel.size", says="kernel.size")
        self.refuse(*FIT, "bernoulli-logit", "--learn", "--bounds", "kernel.signal_sd=2,1", says="LOWER < UPPER")
        self.refuse(*FIT, "bernoulli-logit", "--learn", "--hyperprior", "kernel.signal_sd=1", says="MEDIAN,SD")
        self.refuse(*FIT, "bernoulli-logit", "--exposure", "a", says="exposure")
        self.refuse(*FIT, "bernoulli-logit", "--threads", "0", says="--threads")

    def test_covariance_families(self):
        self.write("t.csv", class_table())
        self.write("gap.txt", "0 0\n1 1\n")
        self.write("outside.txt", "0 0\n1 1\n2 2\n0 3\n")
        self.write("below.txt", "0 0\n1 0\n")
        self.write("words.txt", "0 zero\n")
        linear = (*FIT, "bernoulli-logit", "--prior", "isotropic", "--method", "kl", "--set")
        for text, says in (("chevron:4", "dimension 3"), ("banded:4", "dimension 3"), ("factor:4", "dimension 3"),
                           ("subspace:4", "dimension 3"), ("banded:-1", '"-1"'), ("chevron:two", '"two"'),
                           ("banded", "banded:B"), ("sparse:none.txt", "none.txt"),
                           ("sparse:gap.txt", "lacks the diagonal entry 2 2"), ("sparse:outside.txt", "0 3 is out of range"),
                           ("sparse:below.txt", "below.txt:2"), ("sparse:words.txt", "words.txt:1")):
            self.refuse(*linear, f"kl.covariance={text}", says=says)
        self.refuse(*linear, "kl.covariance=diagonal", "--set", "kl.memory=1e-9", says=("needs about", "kl.memory"))
        self.refuse(*linear, "kl.basis=round", says=("weights", "whitened"))

    def test_parameters_outside_their_domain(self):
        self.write("t.csv", regression_table())
        self.refuse(*FIT, "gaussian", "--set", "kernel.lengthscale=0", says="kernel.lengthscale")
        self.refuse(*FIT, "gaussian", "--set", "likelihood.variance=-1", says="variance")
        self.refuse(*FIT, "gaussian", "--prior", "isotropic", "--set", "prior.variance=0", says="prior.variance")
        self.refuse(*FIT, "gaussian", "--set", "kernel.signal_sd=nan", says="kernel.signal_sd")
        self.refuse(*FIT, "gaussian", "--set", "kernel.signal_sd=inf", says="kernel.signal_sd")


class BadTables(ToolTest):
    def refuse_table(self, text, likelihood="gaussian", says=(), more=()):
        self.write("t.csv", text)
        return self.refuse(*FIT, likelihood, "--save", "m.gsm", *more, says=says)

    def test_files(self):
        self.refuse(*FIT, "gaussian", "--save", "m.gsm", says=("t.csv", "No such file"))
        self.refuse_table("", says="t.csv")
        self.refuse_table("a,y\n", says="t.csv")
        self.refuse("fit", "--data", "t.xls", "--target", "y", "--likelihood", "gaussian", says=("t.xls", ".csv"))
        os.mkdir(self.path("d.csv"))
        self.refuse("fit", "--data", "d.csv", "--target", "y", "--likelihood", "gaussian", says="directory")

    def test_cells(self):
        self.refuse_table("a,y\n1,2\n3\n", says="line 3")
        self.refuse_table("a,y\n1,2\n3,4,5\n", says="line 3")
        self.refuse_table("a,y\n1,2\n3,four\n", says="four")
        self.refuse_table("a,y\n1,2\n3,NA\n", says=("y", "3"))
        self.refuse_table("a,y\n1,2\nnan,3\n", says="a")
        self.refuse_table("a,y\n1,2\n3,inf\n", says="inf")
        self.refuse_table("a,y\n1,2\n1e999,3\n", says="1e999")
        self.refuse_table("a,b\n1,2\n3,4\n", says=("y", "a, b"))
        self.refuse_table("a,y\n1,2\n3,4\n", says="c", more=("--features", "a,c"))

    def test_labels(self):
        self.refuse_table("a,y\n1,1\n2,1\n", "bernoulli-logit", says="y")
        self.refuse_table("a,y\n1,1\n2,0\n3,2\n", "bernoulli-logit", says="y")
        self.refuse_table("a,y\n1,1\n2,-3\n", "poisson", says="-3")
        self.refuse_table("a,y\n1,1\n2,0.5\n", "poisson", says="0.5")
        self.refuse_table("a,y\n1,1\n2,0\n", "weibull", says="0")
        self.refuse_table("a,y,n\n1,3,2\n2,0,2\n", "binomial-logit", says="trials", more=("--trials", "n"))
        self.refuse_table("a,y\n1,3\n", "binomial-logit", says="--trials")
        self.refuse_table("a,y,e\n1,3,0\n2,0,2\n", "poisson", says="e", more=("--exposure", "e"))

    def test_long_line(self):
        with open(self.path("t.csv"), "wb") as out:
            out.truncate(2 << 30)
        self.refuse(*FIT, "gaussian", says="line 1")
        self.refuse("fit", "--problem", "t.csv", says="t.csv")
        self.refuse("predict", "--model", "t.csv", "--data", "t.csv", says="t.csv")


class BadProblems(ToolTest):
    def refuse_problem(self, says, **changes):
        self.write("p.json", problem(**changes))
        self.refuse("fit", "--problem", "p.json", "--json", "--save", "m.gsm", says=("p.json", says))

    def test_problems(self):
        self.refuse("fit", "--problem", "p.json", says="p.json")
        self.write("p.json", "{")
        self.refuse("fit", "--problem", "p.json", says="line 1")
        self.refuse_problem("gaussmith-problem/1", format="gaussmith-problem/2")
        self.refuse_problem("blocks cover 3 rows", sites=[{"type": "bernoulli-probit", "y": [1, 1, -1]}])
        dense = {"type": "dense", "mean": 0, "covariance": [[1, 0.5], [0.4, 1]]}
        sites = [{"type": "bernoulli-probit", "y": [1, -1]}]
        self.refuse_problem("not symmetric", prior=dense, sites=sites, predict={"design": {"type": "identity"}})
        dense = {"type": "dense", "mean": 0, "covariance": [[1, 2], [2, 1]]}
        self.refuse_problem("positive semi-definite", prior=dense, sites=sites, predict={"design": {"type": "identity"}})
        self.refuse_problem("rank-deficient", prior={"type": "precision", "precision": {
            "shape": [4, 4], "triplets": [[0, 0, 1], [1, 0, -1], [1, 1, 1 + 1e-15], [2, 2, 1], [3, 3, 1]]}})
        self.refuse_problem("numbered from 0 to 3", prior={"type": "besag", "dim": 4, "precision": 1, "edges": [[0, 4]]})
        zero = {"type": "gp", "inputs": [[1], [2], [3], [4]], "kernel": {"type": "se", "lengthscale": 0}}
        self.refuse_problem("kernel.lengthscale", prior=zero)


class BadModels(ToolTest):
    def setUp(self):
        super().setUp()
        self.write("t.csv", class_table())
        self.succeed(*FIT, "bernoulli-logit", "--save", "m.gsm")

    def refuse_model(self, content, says):
        self.write("bad.gsm", content)
        self.refuse("predict", "--model", "bad.gsm", "--data", "t.csv", "--output", "out.csv", says=("bad.gsm", says))
        self.refuse("evaluate", "--model", "bad.gsm", "--data", "t.csv", says=("bad.gsm", says))

    def test_damaged_models(self):
        whole = self.read("m.gsm")
        self.refuse_model(whole[: len(whole) // 2], "truncated")
        at = whole.index(b'"dual":[') + 10
        self.refuse_model(whole[:at] + (b"1" if whole[at : at + 1] != b"1" else b"2") + whole[at + 1 :], "checksum")
        self.refuse_model(whole + b" ", "too many")
        self.refuse_model(whole.replace(b"gaussmith-model/1", b"gaussmith-model/7"), "gaussmith-model/7")
        self.refuse_model(b"a,b\n1,2\n", "not a saved model")
        self.refuse_model(b"", "not a saved model")
        self.refuse("predict", "--model", "none.gsm", "--data", "t.csv", says="none.gsm")

    def test_tables_that_do_not_suit_the_model(self):
        self.write("n.csv", "a,c\n1,2\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "n.csv", says="b")
        self.write("n.csv", "a,b\n1,\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "n.csv", says="b")
        self.write("n.csv", "a,b\n1,red\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "n.csv", says="red")
        self.write("n.csv", "a,b\n1,2\n")
        self.refuse("evaluate", "--model", "m.gsm", "--data", "n.csv", says="y")
        self.write("n.svm", "1 1:2\n")
        self.refuse("predict", "--model", "m.gsm", "--data", "n.svm", says="LIBSVM")
        self.refuse("predict", "--model", "m.gsm", "--data", "t.csv", "--quantiles", "0.5,1", says="--quantiles")


class Echoes(ToolTest):
    def test_seeds_out_of_range(self):
        self.write("t.csv", class_table())
        for seed in ("-1", "18446744073709551616", "99999999999999999999", "1.5", "abc", "0x10", ""):
            self.refuse(*FIT, "bernoulli-logit", "--seed", seed, says=("--seed", "from 0 to 18446744073709551615"))
        self.succeed(*FIT, "bernoulli-logit", "--seed", "18446744073709551615")

    def test_long_arguments_are_cut(self):
        self.write("t.csv", class_table())
        long = "é" * 3000
        fit = (*FIT, "bernoulli-logit")
        for command in ((long,), ("fit", f"--{long}"), ("fit", "--problem", long), (*FIT, long), (*fit, "--kernel", long),
                        (*fit, "--kernel", f"se+{long}"), (*fit, "--method", long), (*fit, "--set", long),
                        (*fit, "--set", f"{long}=1"), (*fit, "--set", f"kernel.lengthscale={long}"),
                        (*fit, "--set", f"laplace.{long}=1"), (*fit, "--features", f"a,{long}"), (*fit, "--seed", long),
                        (*fit, "--method", "kl", "--set", f"kl.covariance={long}"),
                        (*fit, "--method", "kl", "--set", f"kl.covariance=sparse:{long}"),
                        (*fit, "--learn", "--fix", long), (*fit, "--learn", "--bounds", f"{long}=1,2"),
                        (*fit, "--mean", long), (*fit, "--form", long), ("predict", "--model", long, "--data", "t.csv")):
            self.assertLess(len(self.refuse(*command)), 500)


class MachineFailures(ToolTest):
    def test_outputs_that_cannot_be_written(self):
        self.write("t.csv", class_table())
        self.refuse(*FIT, "bernoulli-logit", "--save", "absent/m.gsm", code=3, says="absent/m.gsm")
        self.succeed(*FIT, "bernoulli-logit", "--save", "m.gsm")
        self.refuse("predict", "--model", "m.gsm", "--data", "t.csv", "--output", "absent/p.csv", code=3, says="absent")

    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([os.path.abspath(TOOL), "methods"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn("standard output", done.stderr)

    @unittest.skipIf(os.environ.get("GAUSSMITH_SANITIZE"), "the files of coverage would meet the limit too")
    def test_limit_on_file_sizes(self):
        self.write("t.csv", class_table())
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))}
        self.refuse(*FIT, "bernoulli-logit", "--save", "m.gsm", code=3, says=("m.gsm", "File too large"), **limit)
        with open(self.path("out.txt"), "w") as out:
            done = subprocess.run([os.path.abspath(TOOL), "likelihoods"], stdout=out, stderr=subprocess.PIPE, text=True,
                                  **limit)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1))
        self.assertIn("standard output", done.stderr)

    def test_reader_that_leaves_early(self):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([os.path.abspath(TOOL), "likelihoods"], stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Interrupts(ToolTest):
    def test_interrupt_in_mid_fit(self):
        self.write("t.csv", class_table(rows=600))
        command = [os.path.abspath(TOOL), *FIT, "bernoulli-logit", "--kernel", "matern32-ard", "--learn", "--restarts",
                   "100000", "--save", "m.gsm", "--json"]
        # On a terminal the fit shows its progress, which tells when it is under way.
        terminal, end = pty.openpty()
        running = subprocess.Popen(command, cwd=self.home.name, stdout=subprocess.PIPE, stderr=end, text=True)
        os.close(end)
        shown = b""
        while b"learning" not in shown:
            shown += os.read(terminal, 1000)
        running.send_signal(signal.SIGINT)
        out = running.communicate(timeout=120)[0]
        while True:
            try:
                piece = os.read(terminal, 1000)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(terminal)
        self.assertEqual(running.returncode, 2, shown)
        self.assertEqual(out, "")
        self.assertEqual(shown.count(b"\n"), 1)
        self.assertTrue(shown.endswith(b"gaussmith: error: interrupted; nothing was written\r\n"), shown[-200:])
        self.assertEqual(os.listdir(self.home.name), ["t.csv"])


class NotConverged(ToolTest):
    def test_result_so_far_is_printed(self):
        self.write("t.csv", count_table())
        command = ("fit", "--data", "t.csv", "--target", "deaths", "--exposure", "expected", "--likelihood", "poisson",
                   "--set", "laplace.max_iterations=1", "--set", "laplace.tolerance=1e-12")
        done = self.run_tool(*command, "--json")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('"converged": false', done.stdout)
        self.assertIn("did not converge", done.stderr)
        quiet = self.run_tool(*command, "--quiet")
        self.assertEqual((quiet.returncode, quiet.stderr), (2, ""))


if __name__ == "__main__":
    unittest.main()
