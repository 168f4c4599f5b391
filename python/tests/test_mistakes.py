"""What is wrong with the input is one clear exception of one line, before any work."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gaussmith as gs
import numpy as np
import pytest

X = np.random.default_rng(0).normal(size=(20, 2))
SIGNS = np.where(X[:, 0] > 0, 1.0, -1.0)
MODEL = gs.Model(gs.GaussianProcess(X, "se"), gs.observe("bernoulli-logit", SIGNS))
FIT = gs.infer(MODEL)
TABLE = {"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 2.5]}


def closed() -> io.StringIO:
    file = io.StringIO("a,y\n1,2\n")
    file.close()
    return file


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "rows of unlike length": (lambda: gs.observe("gaussian", [[1], [1, 2]], variance=1), "y: expected numbers, found list of rows that differ"),
    "no responses": (lambda: gs.observe("gaussian", None, variance=1), "y: expected numbers, found None"),  # type: ignore[arg-type]
    "no likelihood": (lambda: gs.observe(3, [1.0]), "likelihood: expected a name"),  # type: ignore[arg-type]
    "half a weight": (lambda: gs.Isotropic(2.5), "dimension: expected a whole number, found 2.5"),  # type: ignore[arg-type]
    "variance as a text": (lambda: gs.Isotropic(2, "a"), "variance: expected numbers"),  # type: ignore[arg-type]
    "latents": (lambda: gs.Model(gs.Isotropic(20), gs.observe("bernoulli-logit", SIGNS), latents="a"), "latents: expected a whole number"),  # type: ignore[arg-type]
    "an option without its name": (lambda: gs.Laplace(1e-5), r"Laplace takes its options by name: Laplace\(max_iterations"),  # type: ignore[call-arg]
    "no model": (lambda: gs.infer(None), "model: expected a Model, found NoneType"),  # type: ignore[arg-type]
    "no model to learn": (lambda: gs.learn(X), "model: expected a Model, found ndarray"),  # type: ignore[arg-type]
    "a number for a method": (lambda: gs.infer(MODEL, 3), "method: expected a name"),  # type: ignore[arg-type]
    "threads": (lambda: gs.infer(MODEL, threads=1.5), "threads: expected a whole number, found 1.5"),  # type: ignore[arg-type]
    "seed": (lambda: gs.infer(MODEL, seed=-1), "seed: expected 0 or more, found -1"),
    "warm start": (lambda: gs.infer(MODEL, warm_start=3), "warm_start: expected a Posterior"),  # type: ignore[arg-type]
    "inducing": (lambda: gs.infer(MODEL, inducing=2.5), "inducing: expected a whole number"),  # type: ignore[arg-type]
    "evaluations": (lambda: gs.learn(MODEL, max_evaluations="a"), "max_evaluations: expected a whole number"),  # type: ignore[arg-type]
    "bounds": (lambda: gs.learn(MODEL, bounds=3), "bounds: expected a mapping"),  # type: ignore[arg-type]
    "fixed": (lambda: gs.learn(MODEL, fixed=3), "fixed: expected names"),  # type: ignore[arg-type]
    "nowhere to predict": (lambda: FIT.predict(), "predict: expected inputs"),
    "draws": (lambda: FIT.sample(1.5), "draws: expected a whole number"),  # type: ignore[arg-type]
    "draws of a card": (lambda: FIT.diagnose(draws="a"), "draws: expected a whole number"),  # type: ignore[arg-type]
    "a closed file": (lambda: gs.load(closed()), "closed file"),
    "a closed table": (lambda: gs.fit_table(closed(), "gaussian", target="y"), "closed file"),
    "a closed problem": (lambda: gs.read_problem(closed()), "closed file"),
    "no path": (lambda: gs.load(3), "path: expected a path or an open file, found int"),  # type: ignore[arg-type]
    "no table": (lambda: gs.fit_table(None, "gaussian", target="y"), "data: expected a path, an open file, a mapping"),
    "a table's option": (lambda: gs.fit_table(TABLE, "poisson", target="y", kernl="se"), "kernl: there is no such option, and by row the likelihood poisson takes exposure"),
    "learning as an option": (lambda: gs.fit_table(TABLE, "gaussian", target="y", learn=False), 'learn: there is no such option; fit="infer" takes'),  # type: ignore[arg-type]
    "an exposure for all rows": (lambda: gs.fit_table(TABLE, "poisson", target="y", exposure=2.0), "exposure: expected the name of a column"),
    "a category that is not there": (lambda: gs.fit_table(TABLE, "gaussian", target="y", categorical="b"), 'categorical: there is no column "b"; the columns are a, y'),
    "a kernel that is no text": (lambda: gs.fit_table(TABLE, "gaussian", target="y", kernel=3), "kernel: expected a text, found 3"),  # type: ignore[arg-type]
    "a missing cell": (lambda: gs.fit_table({**TABLE, "a": [1, None, 3]}, "gaussian", target="y"), "leave such rows out with drop_missing$"),
    "no trials": (lambda: gs.fit_table({"a": [1, 2, 3], "y": [1, 0, 2]}, "binomial-logit", target="y"), "give trials COLUMN or likelihood.trials=VALUE"),
    "width": (lambda: gs.CustomLikelihood(lambda eta, y: eta, width="a"), "width: expected a number"),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name: str) -> None:
    make, message = MISTAKES[name]
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_estimators_without_scikit_learn_say_what_to_install() -> None:
    hidden = "import sys; sys.modules['sklearn'] = None; import gaussmith as gs; gs.GaussianProcessClassifier"
    run = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: GaussianProcessClassifier needs scikit-learn: pip install 'gaussmith[sklearn]'"
    )


def test_a_fit_of_a_table_prints_what_its_parameters_belong_to() -> None:
    rows = np.arange(24.0)
    noise = np.cos(5.0 * rows**2)
    table = {"a": rows % 5, "b": rows % 7, "g": [f"g{int(i) % 3}" for i in rows], "y": np.sin(rows % 5) + 0.1 * (rows % 7) ** 1.5 + 0.1 * noise}
    process = gs.fit_table(table, "gaussian", target="y", features=["a", "b"], kernel="se-ard")
    lines = str(process).splitlines()
    assert [line[-3:] for line in lines if line.startswith("  kernel.lengthscale[")] == [", a", ", b"]
    turned = gs.fit_table(table, "gaussian", target="y", features=["a", "b"], kernel="se-ard(b,a)")
    lines = str(turned).splitlines()
    assert [line[-3:] for line in lines if line.startswith("  kernel.lengthscale[")] == [", b", ", a"]
    mixed = gs.fit_table(table, "gaussian", formula="y ~ a + (1|g)")
    slope = next(found for found in mixed.coefficients() if found["name"] == "a")
    assert f"{slope['mean']:.5g}, sd {slope['sd']:.4g}" in str(mixed)
    assert "1|g: 3 levels, (intercept) sd" in str(mixed)


def test_open_files_are_read(tmp_path: Path) -> None:
    fit = gs.fit_table(TABLE, "gaussian", target="y", prior="linear")
    fit.save(tmp_path / "m.gsm")
    with open(tmp_path / "m.gsm", "rb") as file:
        assert gs.load(file).log_evidence == fit.log_evidence
    text = "a,y\n1,1\n2,2\n3,2.5\n"
    again = gs.fit_table(io.StringIO(text), "gaussian", target="y", prior="linear")
    assert again.log_evidence == fit.log_evidence
    assert np.array_equal(again.predict(io.BytesIO(text.encode())).mean, fit.predict(TABLE).mean)


def test_a_text_is_one_name_and_none_is_nothing() -> None:
    learned = gs.learn(MODEL, fixed="kernel.signal_sd", bounds=None, hyperpriors=None, max_evaluations=np.int64(50))
    assert learned.parameters["kernel.signal_sd"] == 1.0
    assert [row["method"] for row in gs.compare(MODEL, "laplace", truth=False, verdicts=False).rows] == ["laplace"]
