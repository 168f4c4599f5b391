"""Under a limit of address space a fit ends: with its result, or with one line and exit code 3."""

import os
import resource
import subprocess
import unittest

from tool import TOOL, ToolTest, class_table, regression_table

MEGABYTES = (60, 100, 140, 170, 200, 250, 300, 400, 600, 1000)


@unittest.skipIf(os.environ.get("GAUSSMITH_SANITIZE"), "sanitizers reserve more address space than any limit")
class MemoryLimit(ToolTest):
    def codes(self, *arguments):
        codes = []
        for megabytes in MEGABYTES:
            limit = megabytes << 20
            done = subprocess.run([os.path.abspath(TOOL), *arguments], cwd=self.home.name, capture_output=True, text=True,
                                  timeout=120, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            self.assertIn(done.returncode, (0, 3), f"{megabytes} MB: {done.stderr}")
            if done.returncode == 3:
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("gaussmith: error: "), done.stderr)
            codes.append(done.returncode)
        return codes

    def check(self, *arguments):
        for threads in ("1", "2"):
            codes = self.codes(*arguments, "--threads", threads)
            self.assertEqual(codes[0], 3)
            self.assertEqual(codes[-1], 0)

    def test_small_process(self):
        self.write("t.csv", class_table())
        self.check("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit")

    def test_process_on_threads(self):
        self.write("t.csv", regression_table(500))
        self.check("fit", "--data", "t.csv", "--target", "y", "--likelihood", "gaussian")

    def test_linear_model(self):
        self.write("t.csv", class_table(400))
        self.check("fit", "--data", "t.csv", "--target", "y", "--likelihood", "bernoulli-logit", "--prior", "isotropic")


if __name__ == "__main__":
    unittest.main()
