"""Runs beside the interpreter: it goes on during them, they stop when asked to, and nothing breaks where it ends first."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import gaussmith as gs
import numpy as np
import pytest

HEAD = """
import os, signal, threading, time, warnings
import numpy as np, gaussmith as gs
x = np.linspace(-2, 2, 10)[:, None]
y = np.sin(x[:, 0])
def slow(eta, y):
    time.sleep(0.002)
    return -0.5 * (y - eta) ** 2 / 0.04
def broken(step):
    raise RuntimeError("enough")
own = gs.CustomLikelihood(slow, log_concave=True, smooth=True)
model = gs.Model(gs.GaussianProcess(x, "se"), gs.observe(own, y))
"""


@pytest.mark.parametrize(
    "body",
    [
        # The caller leaves its run to itself, and the interpreter ends while the run calls Python.
        "try: gs.learn(model, progress=broken)\nexcept RuntimeError: pass",
        # The same from a thread that nobody waits for.
        "threading.Thread(target=lambda: gs.learn(model), daemon=True).start(); time.sleep(0.2)",
        # A result whose likelihood goes with the last module.
        "fit = gs.infer(model)",
    ],
)
def test_the_interpreter_ends_before_a_run_does(body: str) -> None:
    ended = subprocess.run([sys.executable, "-c", HEAD + body], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def classifier(rows: int) -> gs.Model:
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, 3))
    return gs.Model(gs.GaussianProcess(x, "se-ard"), gs.observe("bernoulli-logit", np.where(x[:, 0] > 0, 1.0, -1.0)))


def test_another_thread_goes_on_during_a_fit() -> None:
    ticks = 0
    done = threading.Event()

    def count() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    model = classifier(500)
    counting = threading.Thread(target=count)
    counting.start()
    before = ticks
    gs.infer(model, "ep", threads=1)
    seen = ticks - before
    done.set()
    counting.join()
    assert seen > 3


def test_two_threads_give_the_bits_of_one() -> None:
    models = [classifier(60), classifier(70)]

    def fitted(model: gs.Model) -> Any:
        learned = gs.learn(model, "ep", threads=2, hyperpriors="weak")
        return np.concatenate([learned.mean, learned.variance, list(learned.parameters.values())])

    alone = [fitted(model) for model in models]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(fitted, models))
    assert all(np.array_equal(one, other) for one, other in zip(alone, together))


def test_a_false_answer_stops_and_keeps_what_there_is() -> None:
    steps: list[gs.Iteration] = []

    def enough(step: gs.Iteration) -> bool:
        steps.append(step)
        return len(steps) < 3

    with pytest.warns(gs.ConvergenceWarning, match="did not converge"):
        learned = gs.learn(classifier(40), progress=enough)
    assert len(steps) == 3 and learned.learning.status == "stopped" and np.isfinite(learned.mean).all()


def test_ctrl_c_stops_and_keeps_what_there_is() -> None:
    main = threading.main_thread().ident
    assert main is not None
    asked = threading.Event()

    def interrupt(step: gs.Iteration) -> None:
        if not asked.is_set():
            asked.set()
            threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGINT)).start()

    with pytest.warns(gs.ConvergenceWarning, match="Ctrl-C"):
        learned = gs.learn(classifier(300), progress=interrupt, tolerance=1e-14, restarts=50)
    assert np.isfinite(learned.mean).all()


def test_ctrl_c_during_a_samplers_warmup() -> None:
    body = """
main = threading.main_thread().ident
def press(): time.sleep(0.5); signal.pthread_kill(main, signal.SIGINT)
threading.Thread(target=press).start()
x = np.random.default_rng(0).normal(size=(300, 3))
try: gs.infer(gs.Model(gs.GaussianProcess(x, "se"), gs.observe("bernoulli-logit", np.sign(x[:, 0]))), gs.Nuts(warmup=100000))
except KeyboardInterrupt: os._exit(7)
"""
    ended = subprocess.run([sys.executable, "-c", HEAD + body], timeout=60, check=False)
    assert ended.returncode == 7


PRESSED = """
main = threading.main_thread().ident
def press(after):
    def wait(): time.sleep(after); signal.pthread_kill(main, signal.SIGINT)
    threading.Thread(target=wait).start()
"""


@pytest.mark.parametrize(
    "body",
    [
        # A product that takes an hour, but for the look at it beforehand.
        """
from scipy.sparse.linalg import LinearOperator
def product(v):
    if threading.current_thread() is not threading.main_thread(): time.sleep(3600)
    return v
rows = LinearOperator((2, 2), matvec=product, rmatvec=product, dtype=float)
fit = gs.infer(gs.Model(gs.Isotropic(2), gs.observe("gaussian", [1.0, 2.0], variance=1.0), design=np.eye(2)))
press(0.2)
fit.predict(design=rows)
""",
        """
process = gs.GaussianProcess(np.random.default_rng(0).normal(size=(40000, 3)), "se")
many = gs.Model(process, gs.observe("poisson", np.ones(40000)))
press(0.2)
gs.infer(many, inducing=600, threads=1)
""",
    ],
    ids=["predict", "inducing"],
)
def test_ctrl_c_is_heard_outside_of_inference(body: str) -> None:
    """By the library, and not by the interpreter once it is back."""
    pytest.importorskip("scipy")
    run = f"try:\n    exec({body!r})\nexcept KeyboardInterrupt as error:\n    os._exit(7 if 'interrupted' in str(error) else 8)\n"
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", HEAD + PRESSED + run], timeout=60, check=False)
    assert ended.returncode == 7


def test_ctrl_c_during_an_evaluation_keeps_the_best_so_far() -> None:
    """The second evaluation never ends; the first one is what there is."""
    body = """
def log_t(eta, y):
    if told: time.sleep(3600)
    return -0.5 * (y - eta) ** 2
told = []
model = gs.Model(gs.GaussianProcess(x, "se"), gs.observe(gs.CustomLikelihood(log_t, log_concave=True, smooth=True), y))
def first(step):
    if not told: press(0.2)
    told.append(step)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    learned = gs.learn(model, "laplace", progress=first)
assert len(told) == 1 and learned.learning.status == "stopped" and "Ctrl-C" in str(said[0].message), (told, said)
assert learned.log_evidence == told[0].objective and np.isfinite(learned.mean).all()
os._exit(7)
"""
    ended = subprocess.run([sys.executable, "-c", HEAD + PRESSED + body], timeout=60, check=False)
    assert ended.returncode == 7


def test_ctrl_c_before_there_is_a_result() -> None:
    body = """
def press(): time.sleep(0.3); signal.raise_signal(signal.SIGINT)
def stuck(eta, y): time.sleep(3600)
threading.Thread(target=press).start()
try: gs.infer(gs.Model(gs.Isotropic(1), gs.observe(gs.CustomLikelihood(stuck, smooth=True), [0.0])))
except KeyboardInterrupt: os._exit(7)
"""
    ended = subprocess.run([sys.executable, "-c", HEAD + body], timeout=60, check=False)
    assert ended.returncode == 7


def test_a_bar_shows_progress(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    gs.learn(classifier(30), progress=True, hyperpriors="weak")
    assert "learning" in capsys.readouterr().err


def own(**functions: Any) -> gs.Model:
    functions = {"log_density": lambda eta, y: -0.5 * (y - eta) ** 2, "smooth": True, "log_concave": True} | functions
    return gs.Model(gs.Isotropic(3), gs.observe(gs.CustomLikelihood(**functions), [0.1, 0.2, 0.3]))


@pytest.mark.parametrize("method", ["laplace", "kl", "ep"])
def test_functions_of_arrays_are_called_for_many_numbers(method: str) -> None:
    """The library's own likelihood from a function: all rows at once, or the points of a round of an integral."""
    sizes: list[int] = []

    def logit(eta: Any, y: Any, scale: float) -> Any:
        sizes.append(len(eta))
        assert eta.shape == y.shape and scale == 1.0
        return -np.logaddexp(0, -y * eta)

    known = classifier(60)
    own = gs.CustomLikelihood(logit, smooth=True, log_concave=True)
    mine = gs.infer(gs.Model(known.prior, gs.observe(own, known.sites[0].responses, scale=1.0)), method)
    theirs = gs.infer(known, method)
    assert mine.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-7)
    assert mine.mean == pytest.approx(theirs.mean, abs=1e-6)
    assert np.mean(sizes) > 30
    if method == "laplace":
        assert len(sizes) < 3 * (mine.report.iterations + 5)


def test_vb_takes_a_super_gaussian_function() -> None:
    """A Student-t noise by its bound: log t = g(s^2), g(x) = -(nu + 1)/2 log(1 + x / nu)."""
    rng = np.random.default_rng(5)
    design, nu = rng.normal(size=(40, 2)), 3.0
    y = design @ [1.0, -2.0] + 0.5 * rng.standard_t(nu, size=40)

    def log_t(eta: Any, y: Any) -> Any:
        return -(nu + 1) / 2 * np.log1p((y - eta) ** 2 / nu)

    def bound(x: Any, y: Any) -> Any:
        return -(nu + 1) / 2 * np.log1p(x / nu), -(nu + 1) / 2 / (nu + x)

    own = gs.CustomLikelihood(log_t, bound=bound, centre=lambda y: y, smooth=True)
    mine = gs.infer(gs.Model(gs.Isotropic(2), gs.observe(own, y), design=design), "vb")
    theirs = gs.infer(gs.Model(gs.Isotropic(2), gs.observe("student-t", y, nu=nu, scale=1.0), design=design), "vb")
    assert mine.weights_mean == pytest.approx(theirs.weights_mean, abs=1e-5)
    assert mine.weights_variance == pytest.approx(theirs.weights_variance, rel=1e-4)


def test_a_row_may_have_two_functions() -> None:
    """Noise that changes: log t = -(y - f)^2 e^-g / 2 - g / 2, with latents f and g."""

    def log_t(eta: Any, y: float) -> float:
        f, g = eta
        return float(-0.5 * (y - f) ** 2 * np.exp(-g) - 0.5 * g)

    def derivatives(eta: Any, y: float) -> Any:
        f, g = eta
        r, w = y - f, np.exp(-eta[1])
        return [r * w, 0.5 * r * r * w - 0.5], [[-w, -r * w], [-r * w, -0.5 * r * r * w]]

    rng = np.random.default_rng(1)
    x = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * x[:, 0]) + np.exp(x[:, 0]) * 0.2 * rng.normal(size=60)
    likelihood = gs.CustomJointLikelihood(2, log_t, derivatives)
    latents = gs.Latents(2, kernels=[gs.kernel("se"), gs.kernel("se", lengthscale=2.0)], mean=[0.0, -3.0])
    posterior = gs.infer(gs.Model(gs.GaussianProcess(x, "se"), gs.observe(likelihood, y), latents=latents), "laplace")
    assert posterior.mean.shape == (60, 2)
    assert np.mean((posterior.mean[:, 0] - np.sin(2 * x[:, 0])) ** 2) < 0.05
    assert posterior.mean[-1, 1] > posterior.mean[0, 1] + 1
    with pytest.raises(gs.InvalidModel, match="expected 4 numbers"):
        wrong = gs.CustomJointLikelihood(2, log_t, lambda eta, y: (eta, eta))
        gs.infer(gs.Model(gs.GaussianProcess(x, "se"), gs.observe(wrong, y), latents=latents), "laplace")


def test_quadratic_pieces_are_exact() -> None:
    """A Gaussian in two pieces that meet in one quadratic is that Gaussian."""
    piece = [-0.5 * np.log(2 * np.pi * 0.25), 0.0, -0.5 / 0.25]
    pieces = gs.PiecewiseQuadratic([0.3], [piece, piece])
    y = np.array([0.3, -1.0, 2.0])
    mine, theirs = (gs.infer(gs.Model(gs.Isotropic(3), sites), "kl") for sites in (gs.observe(pieces, y), gs.observe("gaussian", y, variance=0.25)))
    assert mine.mean == pytest.approx(theirs.mean, abs=1e-8)
    assert mine.log_evidence == pytest.approx(theirs.log_evidence, abs=1e-8)
    with pytest.raises(gs.InvalidModel, match=r"expected \(constant, slope, square\) of each, found 2"):
        gs.observe(gs.PiecewiseQuadratic([0.3], [[1, 2], [3, 4]]), y)


def raising(*_: Any) -> Any:
    raise ZeroDivisionError("mine")


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: gs.infer(own(log_density=raising)), ZeroDivisionError, "mine"),
        (lambda: gs.learn(own(log_density=raising)), ZeroDivisionError, "mine"),
        (lambda: gs.infer(own(log_density=raising), "ep"), ZeroDivisionError, "mine"),
        (lambda: gs.infer(own(derivatives=raising)), ZeroDivisionError, "mine"),
        (lambda: gs.infer(own(kinks=raising, smooth=False), "ep"), ZeroDivisionError, "mine"),
        (lambda: gs.infer(own(bound=raising), "vb"), ZeroDivisionError, "mine"),
        (lambda: gs.infer(own(), progress=raising), ZeroDivisionError, "mine"),
        (lambda: gs.learn(own(), progress=raising), ZeroDivisionError, "mine"),
        (lambda: gs.infer(own(log_density=lambda eta, y: [1.0, 2.0, 3.0, 4.0])), gs.InvalidModel, "one for each eta"),
        (lambda: gs.infer(own(log_density=lambda eta, y: None)), gs.InvalidModel, "expected numbers, found None"),
        (lambda: gs.infer(own(log_density=lambda eta, y: "much")), gs.InvalidModel, "expected numbers"),
        (lambda: gs.infer(own(log_density=lambda eta, y: eta * np.nan)), gs.InvalidModel, "expected a finite number"),
        (lambda: gs.infer(own(derivatives=lambda eta, y: (eta, eta))), gs.InvalidModel, "expected 3 arrays, found 2"),
        (lambda: gs.infer(own(log_density=lambda eta: eta)), TypeError, "positional argument"),
        (lambda: gs.infer(own(), progress=3), TypeError, "progress: expected True or a function"),  # type: ignore[arg-type]
        (lambda: gs.CustomLikelihood(3), gs.InvalidModel, "expected a function of eta and y"),  # type: ignore[arg-type]
    ],
)
def test_functions_of_the_caller_that_fail(make: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()
