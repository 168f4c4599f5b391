#!/usr/bin/env python3
"""High-precision oracle for Gaussian site expectations and tilted moments.

Requires: pip install python-flint==0.9.0 (arb ball arithmetic); nothing else.
Usage:    python3 scripts/site_oracle.py > tests/data/site_oracle.csv

For every likelihood t, cavity N(m, v) and power p the table holds
  E      = E_N(m,v)[log t],  dE_dm = E[(log t)'],  dE_dv = 1/2 E[(log t)'']   (power empty)
  logZ   = log of the integral of N(x | m, v) t(x)^p, and the mean and variance of that tilted density.
Each number of the table means the nearest IEEE double, so a reader that parses 0.1 into a double has the same problem.

Every value is an integral by Gauss-Legendre panels in 256-bit arithmetic. The panels start from the features of the
integrand (Gaussian width, site width, kink, level sets around the modes) and are bisected until a 30-node and a 44-node
rule agree to 1e-32. A value is written only if
  1. a second integration over panels cut elsewhere with another rule agrees to 1e-20 relative;
  2. an integration-by-parts identity using other derivatives of log t agrees: Stein's
     dE_dm = E[(x-m) log t]/v,  dE_dv = E[((x-m)^2 - v) log t]/(2 v^2),  and in the tilted density
     mean = m + v p E[(log t)'],  variance = v (1 + p E[(x - mean) (log t)']);
  3. the closed form agrees where there is one.
Checks 2 and 3 allow for digits cancelled in their own form (1e-23 of the absolute integral). Two kinds of value are
the closed form alone: expectations of exp(+-x) beyond 1e300, and the Laplace site's dE_dv where Stein's form cancels.
Magnitudes above 1e300 are written inf or -inf; those below 1e-300, or below 1e-45 of the absolute integral (zero by
symmetry), are written 0.
"""

import sys

from flint import arb, ctx

ctx.prec = 256

MEANS = ["-50", "-10", "-1", "0", "0.7", "5", "30", "50"]
VARIANCES = ["1e-8", "1e-4", "0.1", "1", "10", "1e3", "1e4"]
POWERS = ["1", "0.5"]

# Likelihood, response, parameters, and the stride that thins its grid of means and variances (1 keeps all of it).
CASES = [
    ("gaussian", "1.3", "variance=0.2", 5),
    ("gaussian", "-3", "variance=1e-4", 5),
    ("bernoulli-logit", "1", "", 3),
    ("bernoulli-logit", "-1", "", 4),
    ("bernoulli-probit", "1", "", 3),
    ("bernoulli-probit", "-1", "", 4),
    ("binomial-logit", "3", "trials=10", 4),
    ("binomial-logit", "999", "trials=1000", 3),
    ("binomial-logit", "0", "trials=5", 5),
    ("poisson", "0", "exposure=1", 4),
    ("poisson", "4", "exposure=1", 4),
    ("poisson", "100000", "exposure=10", 3),
    ("negative-binomial", "0", "shape=0.1;exposure=1", 3),
    ("negative-binomial", "7", "shape=3;exposure=2", 4),
    ("negative-binomial", "250", "shape=40;exposure=0.5", 5),
    ("student-t", "50", "nu=2.5;scale=0.1", 2),
    ("student-t", "-20", "nu=2;scale=1", 2),
    ("student-t", "0.3", "nu=3;scale=0.3", 3),
    ("laplace", "0.7", "scale=0.5", 3),
    ("laplace", "-2", "scale=0.01", 3),
    ("cauchy", "1", "scale=0.001", 2),
    ("cauchy", "0", "scale=1", 4),
    ("weibull", "2", "shape=1.5;censored=0", 4),
    ("weibull", "2", "shape=1.5;censored=1", 4),
    ("weibull", "0.03", "shape=0.7;censored=0", 5),
    ("exponential", "1.7", "censored=0", 4),
    ("exponential", "0.4", "censored=1", 4),
    ("gamma", "2.5", "shape=3", 4),
    ("gamma", "0.05", "shape=0.5", 5),
]

ONE = arb(1)
TINY = arb(10) ** -300
HUGE = arb(10) ** 300
PI = arb.pi()


class Site:
    """log t with derivatives; `features` are breakpoints where the site changes character.

    `exponential` holds (A, B, C, sign) when log t = A + B x - C exp(sign x).
    `peak(m, v)` is where N(x | m, v) log t peaks if that can be many standard deviations away from m.
    `centre` is set for the sites that are not log-concave: their tilted modes lie between it and m.
    """

    def __init__(self, evaluate, features=(), exponential=None, centre=None, kink=None, peak=None):
        self.evaluate = evaluate
        self.peak = peak
        self.features = list(features)
        self.exponential = exponential
        self.centre = centre
        self.kink = kink


def exponential_site(A, B, C, sign):
    def evaluate(x):
        e = C * (x if sign > 0 else -x).exp()
        return A + B * x - e, (B - e if sign > 0 else B + e), -e

    return Site(evaluate, exponential=(A, B, C, sign), peak=lambda m, v: m + sign * v)


def gaussian(y, p):
    variance = p["variance"]
    constant = -(2 * PI * variance).log() / 2

    def evaluate(x):
        d = y - x
        return constant - d * d / (2 * variance), d / variance, -1 / variance

    return Site(evaluate)


def softplus_features(offset):
    return [offset + k for k in (-60, -25, -10, -4, 0, 4, 10, 25, 60)]


def bernoulli_logit(y, p):
    def evaluate(x):
        e = (y * x).exp()
        return -(1 / e).log1p(), y / (1 + e), -e / (1 + e) ** 2

    return Site(evaluate, softplus_features(arb(0)))


def bernoulli_probit(y, p):
    root_half = arb(0.5).sqrt()
    density_constant = 1 / (2 * PI).sqrt()

    def evaluate(x):
        z = y * x
        if z.mid() > 0:
            tail = (z * root_half).erfc() / 2
            cdf, log_cdf = 1 - tail, (-tail).log1p()
        else:
            cdf = (-z * root_half).erfc() / 2
            log_cdf = cdf.log()
        ratio = density_constant * (-z * z / 2).exp() / cdf
        return log_cdf, y * ratio, -ratio * (z + ratio)

    return Site(evaluate, [arb(k) for k in (-12, -6, -3, -1, 0, 1, 3, 6, 12)], peak=lambda m, v: m / (1 + v))


def binomial_logit(y, p):
    n = p["trials"]
    constant = (n + 1).lgamma() - (y + 1).lgamma() - (n - y + 1).lgamma()

    def evaluate(x):
        e = x.exp()
        return constant + y * x - n * e.log1p(), y - n * e / (1 + e), -n * e / (1 + e) ** 2

    return Site(evaluate, softplus_features(arb(0)))


def poisson(y, p):
    exposure = p["exposure"]
    return exponential_site(y * exposure.log() - (y + 1).lgamma(), y, exposure, 1)


def negative_binomial(y, p):
    r, exposure = p["shape"], p["exposure"]
    constant = (y + r).lgamma() - r.lgamma() - (y + 1).lgamma()
    log_ratio = (exposure / r).log()

    def evaluate(x):
        q = (x + log_ratio).exp()  # mean / shape
        value = constant + y * (x + log_ratio) - (y + r) * q.log1p()
        return value, y - (y + r) * q / (1 + q), -(y + r) * q / (1 + q) ** 2

    return Site(evaluate, softplus_features(-log_ratio))


def student_t(y, p):
    nu, scale = p["nu"], p["scale"]
    constant = ((nu + 1) / 2).lgamma() - (nu / 2).lgamma() - (nu * PI).log() / 2 - scale.log()
    spread = nu * scale * scale

    def evaluate(x):
        d = y - x
        q = d * d
        return constant - (nu + 1) / 2 * (q / spread).log1p(), (nu + 1) * d / (spread + q), (
            (nu + 1) * (q - spread) / (spread + q) ** 2
        )

    features = [y] + [y + sign * scale * arb(4) ** k for k in range(16) for sign in (-1, 1)]
    return Site(evaluate, features, centre=y)


def cauchy(y, p):
    return student_t(y, {"nu": ONE, "scale": p["scale"]})


def laplace(y, p):
    scale = p["scale"]
    constant = -(2 * scale).log()

    def evaluate(x):
        d = y - x
        slope = (1 if d.mid() > 0 else -1) / scale
        return constant - d * slope, slope, arb(0)

    return Site(evaluate, [y], kink=y)


def weibull(y, p):
    k = p["shape"]
    rate = y**k
    if p["censored"] == 1:
        return exponential_site(arb(0), arb(0), rate, 1)
    return exponential_site(k.log() + (k - 1) * y.log(), ONE, rate, 1)


def exponential(y, p):
    if p["censored"] == 1:
        return exponential_site(arb(0), arb(0), y, -1)
    return exponential_site(arb(0), -ONE, y, -1)


def gamma(y, p):
    a = p["shape"]
    return exponential_site((a - 1) * y.log() + a * a.log() - a.lgamma(), -a, a * y, -1)


FACTORIES = {
    "gaussian": gaussian,
    "bernoulli-logit": bernoulli_logit,
    "bernoulli-probit": bernoulli_probit,
    "binomial-logit": binomial_logit,
    "poisson": poisson,
    "negative-binomial": negative_binomial,
    "student-t": student_t,
    "laplace": laplace,
    "cauchy": cauchy,
    "weibull": weibull,
    "exponential": exponential,
    "gamma": gamma,
}


def number(text):
    return arb(float(text))


def make_site(likelihood, y, parameters):
    values = {}
    for item in filter(None, parameters.split(";")):
        name, value = item.split("=")
        values[name] = number(value)
    return FACTORIES[likelihood](number(y), values)


# --- quadrature -----------------------------------------------------------------------------------------------------


def legendre_rule(n):
    return [arb.legendre_p_root(n, k, weight=True) for k in range(n)]


COARSE, FINE, CHECK = legendre_rule(30), legendre_rule(44), legendre_rule(37)


def panel(function, a, b, rule):
    """Integrals of the components of `function` and of their magnitudes over [a, b]."""
    half, middle = (b - a) / 2, (a + b) / 2
    total = magnitude = None
    for node, weight in rule:
        values = function((middle + half * node).mid())
        terms = [weight * value for value in values]
        if total is None:
            total, magnitude = terms, [abs(t) for t in terms]
        else:
            total = [s + t for s, t in zip(total, terms)]
            magnitude = [s + abs(t) for s, t in zip(magnitude, terms)]
    return [half * s for s in total], [half * s for s in magnitude]


def add(a, b):
    return [s + t for s, t in zip(a, b)]


class Failure(Exception):
    pass


def integrate(function, points, tolerance=arb(10) ** -32):
    """Integrals and absolute integrals of all components, adapted to relative `tolerance`, confirmed to 1e-24."""
    points = sorted(points, key=lambda x: x.mid())
    separation = (points[-1] - points[0]) * arb(10) ** -25
    edges = [points[0]]
    for x in points[1:]:
        if (x - edges[-1]).mid() > separation.mid():
            edges.append(x)
    first = [(a, b) + panel(function, a, b, FINE) for a, b in zip(edges, edges[1:])]
    scale = first[0][3]
    for item in first[1:]:
        scale = add(scale, item[3])
    scale = [s.mid() for s in scale]

    accepted, total = [], None
    stack = [(a, b, fine, 0) for a, b, fine, _ in reversed(first)]
    while stack:
        a, b, fine, depth = stack.pop()
        coarse, _ = panel(function, a, b, COARSE)
        if all(abs(c - f).mid() <= tolerance * s for c, f, s in zip(coarse, fine, scale)):
            accepted.append((a, b))
            total = fine if total is None else add(total, fine)
            continue
        if depth > 60:
            raise Failure("panel bisection does not converge")
        middle = ((a + b) / 2).mid()
        stack.append((middle, b, panel(function, middle, b, FINE)[0], depth + 1))
        stack.append((a, middle, panel(function, a, middle, FINE)[0], depth + 1))

    # Second opinion: other cuts, another rule.
    again = magnitude = None
    for a, b in accepted:
        cut = (a + (b - a) * arb(27) / 64).mid()
        for lower, upper in ((a, cut), (cut, b)):
            part, part_magnitude = panel(function, lower, upper, CHECK)
            again = part if again is None else add(again, part)
            magnitude = part_magnitude if magnitude is None else add(magnitude, part_magnitude)
    for value, other, size in zip(total, again, magnitude):
        if abs(value - other).mid() > size.mid() * arb(10) ** -24 or value.rad() > size.mid() * arb(10) ** -35:
            raise Failure("refinements disagree")
    return total, again, magnitude


# --- the two families of quantities ----------------------------------------------------------------------------------


def confirm(name, value, other, scale):
    """The verified value; exact zero where it vanishes by symmetry (rounding noise against its scale)."""
    noise = scale.mid() * arb(10) ** -45
    if abs(value).mid() <= noise and abs(other).mid() <= noise:
        return arb(0)
    if abs(value - other).mid() > abs(value).mid() * arb(10) ** -20:
        raise Failure(f"{name}: refinements differ, {value} and {other}")
    return value.mid()


def agree(name, value, other, scale):
    """An identity or closed form may lose digits by cancellation against `scale`, but no more."""
    if abs(value - other).mid() > (abs(value) * arb(10) ** -20 + scale * arb(10) ** -23).mid():
        raise Failure(f"{name}: identity fails, {value} and {other}")


def closed_expectation(site, likelihood, m, v, y, parameters):
    if site.exponential:
        A, B, C, sign = site.exponential
        e = C * (sign * m + v / 2).exp()
        return A + B * m - e, B - sign * e, -e / 2
    if likelihood == "gaussian":
        variance = number(parameters.split("=")[1])
        d = number(y) - m
        return -(2 * PI * variance).log() / 2 - (d * d + v) / (2 * variance), d / variance, -1 / (2 * variance)
    if likelihood == "laplace":
        scale = number(parameters.split("=")[1])
        d = m - number(y)
        density = (-d * d / (2 * v)).exp() / (2 * PI * v).sqrt()
        balance = (d / (2 * v).sqrt()).erf()  # P(x > y) - P(x < y)
        return -(2 * scale).log() - (2 * v * density + d * balance) / scale, -balance / scale, -density / scale
    return None


def gaussian_points(site, m, v):
    """Breakpoints for an integral of N(x | m, v) times something that varies like log t."""
    s = v.sqrt()
    points = []
    for centre in (m, site.peak(m, v)) if site.peak else (m,):
        points += [centre + s * k for k in (-24, -12, -6, -3, -1, 0, 1, 3, 6, 12, 24)]
    low, high = min(points, key=lambda x: x.mid()), max(points, key=lambda x: x.mid())
    return points + [x for x in site.features if low.mid() < x.mid() < high.mid()]


def expectations(site, likelihood, y, parameters, m, v):
    """E, dE_dm, dE_dv, verified."""
    closed = closed_expectation(site, likelihood, m, v, y, parameters)
    if site.exponential and abs(closed[0]).mid() > HUGE:
        return closed
    points = gaussian_points(site, m, v)
    normaliser = 1 / (2 * PI * v).sqrt()

    def integrand(x):
        value, first, second = site.evaluate(x)
        d = x - m
        q = d * d / v
        weight = normaliser * (-q / 2).exp()
        weighted = weight * value
        return weighted, weight * first, weight * second / 2, weighted * d / v, weighted * (q - 1) / (2 * v)

    total, again, size = integrate(integrand, points)
    if site.kink is not None:  # the second derivative is a point mass there, Stein's form needs none of it
        total[2], again[2], size[2] = total[4], again[4], size[4]
        agree("dE_dv", total[2], closed[2], size[2])
        if abs(closed[2]).mid() < size[2].mid() * arb(10) ** -10:  # Stein's form cancels there
            total[2] = again[2] = closed[2]
            size[2] = abs(closed[2])
    names = ("E", "dE_dm", "dE_dv")
    result = [confirm(n, a, b, c) for n, a, b, c in zip(names, total, again, size)]
    agree("dE_dm (Stein)", result[1], total[3], size[3])
    agree("dE_dv (Stein)", result[2], total[4], size[4])
    if closed:
        for n, a, b, c in zip(names, result, closed, size):
            agree(n + " (closed form)", a, b, c)
    return result


def bisect(test, a, b, steps=110):
    """Boundary between a, where test holds, and b, where it does not."""
    for _ in range(steps):
        middle = ((a + b) / 2).mid()
        if test(middle):
            a = middle
        else:
            b = middle
    return a


LEVELS = (0.5, 2, 6, 16, 40, 80, 130)


def level_points(log_integrand, mode, top, start):
    """Where the log integrand has fallen from its mode by each of LEVELS, on both sides."""
    points = [mode]
    for sign in (-1, 1):
        inner = mode
        for level in LEVELS:

            def above(x, level=level):
                return (log_integrand(x) - top + level).mid() > 0

            step = start
            while above(inner + sign * step):
                step = 2 * step
            # `start` may be far wider than the site's own width.
            inner = bisect(above, inner, inner + sign * step)
            points.append(inner)
    return points


def tilted(site, m, v, power):
    """logZ, mean, variance, verified."""
    s = v.sqrt()
    normaliser = -(2 * PI * v).log() / 2

    def log_integrand(x):
        d = x - m
        return normaliser - d * d / (2 * v) + power * site.evaluate(x)[0]

    def slope(x):
        return (m - x) / v + power * site.evaluate(x)[1]

    if site.centre is None:  # log-concave: one mode, found from the sign of the slope
        direction = 1 if slope(m).mid() > 0 else -1
        step = s
        while (direction * slope(m + direction * step)).mid() > 0:
            step = 2 * step
        mode = bisect(lambda x: (direction * slope(x)).mid() > 0, m, m + direction * step, 200)
        top = log_integrand(mode).mid()
        points = level_points(log_integrand, mode, top, s)
        low, high = min(points, key=lambda x: x.mid()), max(points, key=lambda x: x.mid())
    else:
        # Both factors fall outside the hull of m and the centre; 17 standard deviations further the Gaussian alone
        # has fallen by exp(-144).
        low, high = (m, site.centre) if m.mid() < site.centre.mid() else (site.centre, m)
        points = [low, high] + [m + s * k for k in (-17, -8, -4, -2, -1, 0, 1, 2, 4, 8, 17)]
        points += [low - 17 * s, high + 17 * s] + [x for x in site.features]
        low, high = low - 17 * s, high + 17 * s
        points = sorted((x for x in points if low.mid() <= x.mid() <= high.mid()), key=lambda x: x.mid())
        # Modes shifted off m and the centre: sign changes of the slope on the feature grid.
        signs = [slope(x).mid() > 0 for x in points]
        modes = []
        for i in range(len(points) - 1):
            if signs[i] and not signs[i + 1]:
                modes.append(bisect(lambda x: slope(x).mid() > 0, points[i], points[i + 1]))
        for x in modes:
            curvature = (1 / v - power * site.evaluate(x)[2]).mid()
            width = 1 / abs(curvature).sqrt() if curvature != 0 else s
            points += [x + width * k for k in (-17, -8, -4, -2, -1, 0, 1, 2, 4, 8, 17)]
        points = [x for x in points if low.mid() <= x.mid() <= high.mid()]
        mode = max(points, key=lambda x: log_integrand(x).mid())
        top = log_integrand(mode).mid()
    points += [x for x in site.features if low.mid() < x.mid() < high.mid()]
    centre = mode.mid()

    def integrand(x):
        value, first, _ = site.evaluate(x)
        d = x - m
        weight = (normaliser - d * d / (2 * v) + power * value - top).exp()
        u = x - centre
        wu = weight * u
        return weight, wu, wu * u, weight * first, wu * first

    def moments(integrals):
        z, a, b, c, e = integrals
        shift = a / z
        return top + z.log(), centre + shift, b / z - shift * shift, c / z, (e - shift * c) / z

    total, again, size = integrate(integrand, points)
    first, second = list(moments(total)), list(moments(again))
    if abs(first[0]).mid() < arb(10) ** -15:  # Z is almost one: integrate what it lacks
        deficit = integrate(
            lambda x: [(normaliser - (x - m) ** 2 / (2 * v)).exp() * (power * site.evaluate(x)[0]).expm1()],
            gaussian_points(site, m, v),
        )
        agree("logZ (deficit)", first[0], deficit[0][0].log1p(), ONE)
        first[0], second[0] = deficit[0][0].log1p(), deficit[1][0].log1p()
    spread = [x / total[0] for x in size]
    scales = (abs(first[0]), abs(centre) + spread[1], spread[2])
    names = ("logZ", "mean", "variance")
    result = [confirm(n, a, b, c) for n, a, b, c in zip(names, first, second, scales)]
    agree("mean (identity)", result[1], m + v * power * first[3], abs(m) + v * spread[3])
    agree("variance (identity)", result[2], v * (1 + power * first[4]), v + v * spread[4])
    return result


def closed_tilted(likelihood, y, parameters, m, v, power):
    """Closed forms kept as a further check: Gaussian at any power, probit's normaliser at power one."""
    if likelihood == "gaussian":
        variance = number(parameters.split("=")[1])
        d, broad = number(y) - m, variance / power
        log_z = -power * (2 * PI * variance).log() / 2 + (2 * PI * broad).log() / 2
        log_z -= (2 * PI * (broad + v)).log() / 2 + d * d / (2 * (broad + v))
        return log_z, m + v * d / (broad + v), v * broad / (broad + v)
    if likelihood == "bernoulli-probit" and power == 1:
        z = -number(y) * m / (1 + v).sqrt() / arb(2).sqrt()
        tail = z.erfc() / 2
        return ((-((-z).erfc() / 2)).log1p() if z.mid() < 0 else tail.log(),)
    return ()


def text(value):
    value = value.mid()
    if abs(value) > HUGE:
        return "inf" if value > 0 else "-inf"
    if abs(value) < TINY:
        return "0"
    return value.str(20, radius=False)


def grid(index, stride):
    """Thinned grid: all four corners, and a diagonal pattern that moves with the case so that cases complement."""
    for i, m in enumerate(MEANS):
        for j, v in enumerate(VARIANCES):
            corner = i in (0, len(MEANS) - 1) and j in (0, len(VARIANCES) - 1)
            if corner or (2 * i + j + index) % stride == 0:
                yield m, v


def main():
    print("likelihood,y,parameters,m,v,power,quantity,value")
    for index, (likelihood, y, parameters, stride) in enumerate(CASES):
        site = make_site(likelihood, y, parameters)
        for m_text, v_text in grid(index, stride):
            m, v = number(m_text), number(v_text)
            prefix = f"{likelihood},{y},{parameters},{m_text},{v_text}"
            try:
                values = expectations(site, likelihood, y, parameters, m, v)
                for quantity, value in zip(("E", "dE_dm", "dE_dv"), values):
                    print(f"{prefix},,{quantity},{text(value)}")
                for power_text in POWERS:
                    power = number(power_text)
                    values = tilted(site, m, v, power)
                    closed = closed_tilted(likelihood, y, parameters, m, v, power)
                    for quantity, value, other in zip(("logZ", "mean", "variance"), values, closed):
                        agree(quantity + " (closed form)", value, other, abs(value))
                    for quantity, value in zip(("logZ", "mean", "variance"), values):
                        print(f"{prefix},{power_text},{quantity},{text(value)}")
            except Failure as failure:
                sys.exit(f"site_oracle: {prefix}: {failure}")
        print(f"{likelihood} {y} {parameters}: verified", file=sys.stderr)


if __name__ == "__main__":
    main()
