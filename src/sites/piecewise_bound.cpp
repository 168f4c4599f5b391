// Upper bounds of log(1 + e^x) in pieces with equal errors (Marlin, Khan and Murphy 2011). The outer pieces are the
// constant e on x <= log(e^e - 1) and x + e on the mirrored side; between them stand chords, or minimax quadratics
// found by Remez's exchange and raised by their error. All lie between the function and it plus e.

#include "gaussmith/errors.hpp"
#include "gaussmith/sites.hpp"
#include "numerics/special.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace gaussmith {

namespace {

constexpr int fewest_pieces = 3;
constexpr int most_pieces = 20;
constexpr int exchanges = 30;
constexpr int grid = 48;
constexpr int bisections = 100;

/// constant + slope x + square x^2 above the function on an interval, and by how much at most.
struct Raised {
  PiecewiseQuadratic::Piece piece;
  double error;
};

/// The chord: its error is largest where the slopes agree.
Raised chord(double a, double b) {
  const double fa = softplus(a);
  const double slope = (softplus(b) - fa) / (b - a);
  const double touch = std::log(slope / (1.0 - slope));
  const double constant = fa - slope * a;
  return {{constant, slope, 0.0}, constant + slope * touch - softplus(touch)};
}

/// The quadratic in x - centre with errors of alternating sign and one size at four points.
struct Alternating {
  double centre, c0, c1, c2, level;
  [[nodiscard]] double error(double x) const {
    const double s = x - centre;
    return softplus(x) - (c0 + s * (c1 + s * c2));
  }
};

Alternating alternate(const std::array<double, 4>& at) {
  // Divided differences of f and of the signs +, -, +, -: the third one of f - level signs vanishes.
  std::array<double, 4> f{};
  std::array<double, 4> sign{1.0, -1.0, 1.0, -1.0};
  for (std::size_t i = 0; i < 4; ++i) f[i] = softplus(at[i]);
  for (std::size_t order = 1; order < 4; ++order)
    for (std::size_t i = 3; i >= order; --i) {
      f[i] = (f[i] - f[i - 1]) / (at[i] - at[i - order]);
      sign[i] = (sign[i] - sign[i - 1]) / (at[i] - at[i - order]);
    }
  const double level = f[3] / sign[3];
  const double d0 = f[0] - level * sign[0];
  const double d1 = f[1] - level * sign[1];
  const double d2 = f[2] - level * sign[2];
  // Newton's form at the first three points, moved to their middle.
  const double centre = 0.5 * (at[0] + at[3]);
  const double s0 = centre - at[0];
  const double s1 = centre - at[1];
  return {centre, d0 + s0 * (d1 + s1 * d2), d1 + (s0 + s1) * d2, d2, level};
}

/// The extremum of the error next to a point of the grid, by a parabola through three values, twice.
double refined(const Alternating& q, double a, double b, double x, double h) {
  for (int k = 0; k < 3; ++k) {
    const double left = q.error(x - h);
    const double here = q.error(x);
    const double right = q.error(x + h);
    const double bend = left - 2.0 * here + right;
    if (bend != 0.0) x = std::clamp(x + 0.5 * h * (left - right) / bend, a, b);
    h *= 0.1;
  }
  return x;
}

/// On [-b, b] the function less x/2 is even, and concave in x^2: the chord in x^2, raised.
Raised even_chord(double b) {
  const double middle = std::log(2.0);
  const double square = (softplus(b) - 0.5 * b - middle) / (b * b);
  // The slopes agree where tanh(x/2)/2 = 2 square x.
  double low = 0.0;
  double high = b;
  for (int k = 0; k < bisections; ++k) {
    const double x = 0.5 * (low + high);
    (0.5 * std::tanh(0.5 * x) > 2.0 * square * x ? low : high) = x;
  }
  const double error = softplus(low) - 0.5 * low - middle - square * low * low;
  return {{middle + error, 0.5, square}, error};
}

/// Remez's exchange on [a, b] to one side of 0, where the third derivative has one sign, so that the ends are always
/// among the four points.
Raised minimax(double a, double b) {
  if (a == -b) return even_chord(b);
  const double middle = 0.5 * (a + b);
  const double half = 0.5 * (b - a);
  std::array<double, 4> at{a, middle - 0.5 * half, middle + 0.5 * half, b};
  Alternating q = alternate(at);
  double largest = 0.0;
  for (int k = 0; k < exchanges; ++k) {
    // Where the error has its extremes: the ends and the turns between.
    std::vector<double> turns{a};
    const double h = (b - a) / grid;
    double before = q.error(a);
    double here = q.error(a + h);
    for (int i = 1; i < grid; ++i) {
      const double x = a + i * h;
      const double after = q.error(x + h);
      if ((here - before) * (after - here) <= 0.0) turns.push_back(refined(q, a, b, x, h));
      before = here;
      here = after;
    }
    turns.push_back(b);
    // Of turns with one sign in a row the largest; of more than four those without the smaller end.
    std::vector<double> kept;
    for (const double x : turns) {
      if (kept.empty() || q.error(kept.back()) * q.error(x) < 0.0)
        kept.push_back(x);
      else if (std::abs(q.error(x)) > std::abs(q.error(kept.back())))
        kept.back() = x;
    }
    while (kept.size() > 4)
      if (std::abs(q.error(kept.front())) < std::abs(q.error(kept.back())))
        kept.erase(kept.begin());
      else
        kept.pop_back();
    largest = 0.0;
    for (const double x : turns) largest = std::max(largest, std::abs(q.error(x)));
    if (kept.size() < 4 || largest - std::abs(q.level) <= 1e-13 * largest) break;
    std::copy(kept.begin(), kept.end(), at.begin());
    q = alternate(at);
  }
  const double c0 = q.c0 + largest;
  return {{c0 - q.centre * (q.c1 - q.centre * q.c2), q.c1 - 2.0 * q.centre * q.c2, q.c2}, 2.0 * largest};
}

/// A kind of pieces, and the power of its length that the error grows with.
struct Fit {
  Raised (*raise)(double a, double b);
  double power;
};

/// The end of a piece from a with this error, no further than 0: regula falsi (Illinois) on the root of the error,
/// which is nearly linear in the length.
double piece_end(const Fit& fit, double a, double error) {
  const double wanted = std::pow(error, 1.0 / fit.power);
  const auto excess = [&](double x) { return std::pow(fit.raise(a, x).error, 1.0 / fit.power) - wanted; };
  if (!(a < 0.0)) return 0.0;
  double low = a;
  double high = 0.0;
  double at_low = -wanted;
  double at_high = excess(high);
  if (at_high <= 0.0) return 0.0;
  int same = 0;
  for (int k = 0; k < bisections && high - low > 1e-14; ++k) {
    const double x = (low * at_high - high * at_low) / (at_high - at_low);
    if (!(x > low && x < high)) break;
    const double here = excess(x);
    if (std::abs(here) <= 1e-14 * wanted) return x;
    if (here > 0.0) {
      high = x;
      at_high = here;
      if (same > 0) at_low *= 0.5;
      same = 1;
    } else {
      low = x;
      at_low = here;
      if (same < 0) at_high *= 0.5;
      same = -1;
    }
  }
  return low;
}

struct Pieces {
  std::vector<double> knots;  ///< From the left outer piece to zero or to the middle piece.
  bool enough;                ///< Whether this error can be had with so many pieces.
};

/// Pieces of that error from the left to the middle, which by symmetry is all.
Pieces lay(const Fit& fit, int inner, double error) {
  Pieces out{{std::log(std::expm1(error))}, false};
  for (int k = 0; k < inner / 2; ++k) out.knots.push_back(piece_end(fit, out.knots.back(), error));
  const double end = out.knots.back();
  out.enough = inner % 2 == 0 ? end >= 0.0 : end >= 0.0 || fit.raise(end, -end).error <= error;
  return out;
}

Fit fit_of(const PiecewiseBound& bound) { return bound.quadratic ? Fit{minimax, 3.0} : Fit{chord, 2.0}; }

}  // namespace

PiecewiseBound PiecewiseBound::parse(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view number = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  PiecewiseBound out;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), out.pieces);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if ((kind != "linear" && kind != "quadratic") || !whole || out.pieces < fewest_pieces || out.pieces > most_pieces)
    throw InvalidModel(fmt::format("bound is \"{}\"; expected linear:R or quadratic:R with {} to {} pieces", text,
                                   fewest_pieces, most_pieces));
  out.quadratic = kind == "quadratic";
  return out;
}

PiecewiseBound PiecewiseBound::from_code(double code) {
  const double pieces = std::abs(code);
  if (!(pieces >= fewest_pieces && pieces <= most_pieces) || pieces != std::floor(pieces))
    throw InvalidModel(
        fmt::format("bound is {}; expected R or -R for quadratic or linear pieces, R from {} to {}, or 0", code,
                    fewest_pieces, most_pieces));
  return {code > 0.0, static_cast<int>(pieces)};
}

std::string PiecewiseBound::text() const { return fmt::format("{}:{}", quadratic ? "quadratic" : "linear", pieces); }

double PiecewiseBound::error() const {
  const Fit fit = fit_of(*this);
  double low = std::log(1e-6);
  double high = std::log(0.69);
  for (int k = 0; k < bisections && high - low > 1e-13; ++k) {
    const double middle = 0.5 * (low + high);
    (lay(fit, pieces - 2, std::exp(middle)).enough ? high : low) = middle;
  }
  return std::exp(high);
}

PiecewiseQuadratic PiecewiseBound::sites() const {
  const Fit fit = fit_of(*this);
  const double most = error();
  std::vector<double> left = lay(fit, pieces - 2, most).knots;
  if (pieces % 2 == 0) left.back() = 0.0;
  std::vector<double> knots = left;
  for (std::size_t k = left.size(); k-- > 0;)
    if (left[k] < 0.0) knots.push_back(-left[k]);
  // log t(s) = -(the bound at -s): from the right to the left, mirrored.
  PiecewiseQuadratic out;
  out.name = "bernoulli-logit";
  std::vector<PiecewiseQuadratic::Piece> bound{{most, 0.0, 0.0}};
  for (std::size_t k = 0; k + 1 < knots.size(); ++k) bound.push_back(fit.raise(knots[k], knots[k + 1]).piece);
  bound.push_back({most, 1.0, 0.0});
  for (std::size_t k = knots.size(); k-- > 0;) out.breaks.push_back(-knots[k]);
  for (std::size_t k = bound.size(); k-- > 0;)
    out.pieces.push_back({-bound[k].constant, bound[k].slope, -bound[k].square});
  return out;
}

}  // namespace gaussmith
