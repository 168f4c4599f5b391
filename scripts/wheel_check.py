"""Uses an installed wheel, and looks at the libraries that it brings into the process: its own, or what every manylinux platform
promises."""

import ctypes  # noqa: F401  Python's own, with a library of the system.
import re
import sys

import numpy as np

PROMISED = r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|libutil|libz|libexpat|libgcc_s|libstdc\+\+)[-.\d]*\.so"


def loaded() -> set[str]:
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return {line.split()[-1] for line in maps if ".so" in line.split()[-1]}


before = loaded()

import gaussmith as gs  # noqa: E402

x = np.linspace(-2, 2, 200)[:, None]
y = np.where(np.sin(3 * x[:, 0]) > 0, 1.0, -1.0)
learned = gs.learn(gs.Model(gs.GaussianProcess(x, "se"), gs.observe("bernoulli-logit", y)), "ep", hyperpriors="weak")
assert learned.converged and ((learned.predict(x).probability > 0.5) == (y > 0)).mean() > 0.9
# CHOLMOD and its orderings, and what they stand on.
walk = gs.Model(gs.IntrinsicField("rw2", 200, 10.0), gs.observe("bernoulli-logit", y))
assert gs.infer(walk, "laplace").converged

added = sorted(loaded() - before)
print("Libraries of the wheel:", ", ".join(path.rsplit("/", 1)[-1] for path in added if "/gaussmith" in path))
strangers = [
    path
    for path in added
    if "/site-packages/" not in path and "/lib-dynload/" not in path and not re.match(PROMISED, path.rsplit("/", 1)[-1])
]
if strangers:
    sys.exit(f"wheel_check: loaded from outside of the wheel and the platform: {', '.join(strangers)}")
