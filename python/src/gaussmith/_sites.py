"""Sites from catalogued likelihoods, and from functions of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from . import _core
from ._checked import whole


class CustomLikelihood:
    """A likelihood given by log t(eta; y) alone, a function of arrays.

    ``log_density(eta, y, **parameters)`` gets two arrays of one shape and answers with an array of that shape: for all
    rows at once where a method wants derivatives, for the points of an integral where it integrates. ``derivatives``
    answers with three of them, (log t)', (log t)'' and (log t)''' in eta; without it a smooth likelihood uses central
    differences. ``kinks(y)`` gives the points in eta where log t has a kink or a jump, ``centre(y)`` where it varies,
    on the scale `width`. ``bound(x, y)`` is the super-Gaussian form that ``vb`` needs: g(x) and g'(x) of log t =
    slope(y) s + g(s^2), s = eta - centre(y), g convex and decreasing. The functions are called on one thread, holding
    the interpreter's lock.
    """

    def __init__(
        self,
        log_density: Callable[..., Any],
        *,
        derivatives: Callable[..., Any] | None = None,
        kinks: Callable[[float], Any] | None = None,
        centre: Callable[[float], float] | None = None,
        bound: Callable[..., Any] | None = None,
        slope: Callable[[float], float] | None = None,
        width: float = 1.0,
        log_concave: bool = False,
        smooth: bool = False,
        name: str = "custom",
    ) -> None:
        if not callable(log_density):
            raise _core.InvalidModel(f"{name}.log_density: expected a function of eta and y, found {type(log_density).__name__}")
        self.log_density = log_density
        self.derivatives = derivatives
        self.kinks = kinks
        self.centre = centre
        self.bound = bound
        self.slope = slope
        if isinstance(width, bool) or not isinstance(width, (int, float)):
            raise _core.InvalidModel(f"{name}.width: expected a number, found {width!r}")
        self.width = float(width)
        self.log_concave = bool(log_concave)
        self.smooth = bool(smooth)
        self.name = name

    def __repr__(self) -> str:
        return f"CustomLikelihood({self.log_density!r}, name={self.name!r})"


class PiecewiseQuadratic:
    """log t = constant + slope s + square s^2 in s = eta - y, on every interval between increasing `breaks`.

    `pieces` are (constant, slope, square), one more than breaks, left to right; the outer ones have square <= 0. It may
    jump and bend at breaks, and Gaussian expectations are exact.
    """

    def __init__(self, breaks: npt.ArrayLike, pieces: npt.ArrayLike, *, name: str = "piecewise-quadratic") -> None:
        self.breaks = breaks
        self.pieces = pieces
        self.name = name


class CustomJointLikelihood:
    """A likelihood of several latents a row, which ``laplace`` takes.

    ``log_density(eta, y)`` gets the latents of one row, an array of `latents` numbers, and answers with log t;
    ``derivatives(eta, y)`` answers with its gradient and its Hessian, latents x latents numbers.
    """

    def __init__(
        self,
        latents: int,
        log_density: Callable[..., Any],
        derivatives: Callable[..., Any],
        *,
        log_concave: bool = False,
        name: str = "custom",
    ) -> None:
        for what, function in (("log_density", log_density), ("derivatives", derivatives)):
            if not callable(function):
                raise _core.InvalidModel(f"{name}.{what}: expected a function of eta and y, found {type(function).__name__}")
        self.latents = whole(f"{name}.latents", latents, 2)
        self.log_density = log_density
        self.derivatives = derivatives
        self.log_concave = bool(log_concave)
        self.name = name


#: A name of the catalogue, or a likelihood of one's own.
Likelihood = str | CustomLikelihood | CustomJointLikelihood | PiecewiseQuadratic


def observe(likelihood: Likelihood, y: npt.ArrayLike, /, **arguments: Any) -> _core.Sites:
    """Responses under a likelihood: ``observe("poisson", y, exposure=e)``.

    Arguments are one number or one a row, under the names of ``gaussmith likelihoods``. Those of a
    :class:`CustomLikelihood` are handed to its functions as they are.
    """
    if y is None:
        raise _core.InvalidModel("y: expected numbers, found None")
    if isinstance(likelihood, CustomLikelihood):
        of = likelihood
        return _core._observe_custom(
            of.name, y, of.log_density, of.derivatives, of.kinks, of.centre, of.bound, of.slope, of.width, of.log_concave, of.smooth, arguments
        )
    if isinstance(likelihood, CustomJointLikelihood):
        return _core._observe_joint(
            likelihood.name, y, likelihood.latents, likelihood.log_density, likelihood.derivatives, likelihood.log_concave, arguments
        )
    if isinstance(likelihood, PiecewiseQuadratic):
        if arguments:
            raise _core.InvalidModel(f"{likelihood.name}: unknown argument {next(iter(arguments))!r}; accepted: none")
        return _core._observe_pieces(likelihood.name, y, likelihood.breaks, likelihood.pieces)
    if not isinstance(likelihood, str):
        raise _core.InvalidModel(f"likelihood: expected a name or a CustomLikelihood, found {likelihood!r}")
    return _core._observe(likelihood, y, **arguments)
