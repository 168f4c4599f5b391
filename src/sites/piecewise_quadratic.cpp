// Sites with a piecewise quadratic log t: exact Gaussian expectations, jumps and kinks included.

#include "gaussmith/errors.hpp"
#include "gaussmith/sites.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "numerics/special.hpp"
#include "sites/latent_only.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

using Piece = PiecewiseQuadratic::Piece;

/// A jump or a change of slope is rounding below this share of the values on both sides.
constexpr double continuity = 1e-12;

struct Quadratic {
  double value, slope, square;
};

/// The piece as value and slope at s, and the square.
Quadratic expand(const Piece& p, double s) {
  return {p.constant + s * (p.slope + s * p.square), p.slope + 2.0 * s * p.square, p.square};
}

/// Adds E[d(x)] and its derivatives for d(x) = (value + slope x + square x^2) [x > 0], x ~ N(m, v).
void add_tail(const Quadratic& d, double m, double v, GaussianExpectation& sum) {
  const double sd = std::sqrt(v);
  const double z = m / sd;
  const double above = ndtr(z);
  const double density = std::exp(-0.5 * z * z - log_sqrt_two_pi);
  const double first = m * above + sd * density;  // E[x; x > 0].
  sum.value += d.value * above + d.slope * first + d.square * (m * first + v * above);
  sum.d_mean += d.value * density / sd + d.slope * above + 2.0 * d.square * first;
  sum.d_variance += 0.5 * (-d.value * z * density / v + d.slope * density / sd + 2.0 * d.square * above);
}

bool is_log_concave(const PiecewiseQuadratic& f) {
  for (const Piece& p : f.pieces)
    if (p.square > 0.0) return false;
  for (std::size_t k = 0; k < f.breaks.size(); ++k) {
    const Quadratic left = expand(f.pieces[k], f.breaks[k]);
    const Quadratic right = expand(f.pieces[k + 1], f.breaks[k]);
    if (std::abs(right.value - left.value) > continuity * (1.0 + std::abs(left.value) + std::abs(right.value)))
      return false;
    if (right.slope - left.slope > continuity * (1.0 + std::abs(left.slope) + std::abs(right.slope))) return false;
  }
  return true;
}

PiecewiseQuadratic checked(PiecewiseQuadratic f) {
  const auto fail = [&](const std::string& message) { throw InvalidModel(fmt::format("{}: {}", f.name, message)); };
  if (f.pieces.size() != f.breaks.size() + 1)
    fail(fmt::format("{} breaks need {} pieces, found {}", f.breaks.size(), f.breaks.size() + 1, f.pieces.size()));
  for (std::size_t k = 0; k < f.breaks.size(); ++k) {
    if (!std::isfinite(f.breaks[k])) fail(fmt::format("breaks[{}] is {}; expected a finite number", k, f.breaks[k]));
    if (k > 0 && !(f.breaks[k] > f.breaks[k - 1]))
      fail(fmt::format("breaks[{}] is {} after {}; expected increasing breaks", k, f.breaks[k], f.breaks[k - 1]));
  }
  for (std::size_t k = 0; k < f.pieces.size(); ++k) {
    const Piece& p = f.pieces[k];
    if (!std::isfinite(p.constant) || !std::isfinite(p.slope) || !std::isfinite(p.square))
      fail(fmt::format("pieces[{}] has a coefficient that is not finite", k));
  }
  for (const std::size_t k : {std::size_t{0}, f.pieces.size() - 1})
    if (f.pieces[k].square > 0.0)
      fail(fmt::format("pieces[{}] has square {}; expected 0 or less in the outer pieces, or t grows without end", k,
                       f.pieces[k].square));
  return f;
}

SiteTraits traits_of(const PiecewiseQuadratic& f) {
  SiteTraits traits;
  traits.name = f.name;
  traits.smooth = f.breaks.empty();
  traits.gaussian = f.breaks.empty();
  traits.log_concave = is_log_concave(f);
  return traits;
}

class PiecewiseQuadraticBlock final : public LatentOnlyBlock {
 public:
  PiecewiseQuadraticBlock(PiecewiseQuadratic f, Vector responses)
      : LatentOnlyBlock(traits_of(f), std::move(responses)), f_(std::move(f)) {}

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    refuse_arguments(arguments);
    return std::make_shared<const PiecewiseQuadraticBlock>(f_, responses);
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    for (std::size_t i = 0; i < eta.size(); ++i) {
      const double s = eta[i] - response_of(first + static_cast<Index>(i));
      const Quadratic q = expand(f_.pieces[piece_at(s)], s);
      put(out.value, i, q.value);
      put(out.first, i, q.slope);
      put(out.second, i, 2.0 * q.square);
      put(out.third, i, 0.0);
    }
  }

  void expectation(Index first, ConstSpan mean, ConstSpan variance, const ExpectationOut& out) const override {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const GaussianExpectation e = exact(mean[i] - response_of(first + static_cast<Index>(i)), variance[i]);
      put(out.value, i, e.value);
      put(out.d_mean, i, e.d_mean);
      put(out.d_variance, i, e.d_variance);
    }
  }

  void tilted(Index first, ConstSpan mean, ConstSpan variance, double power, const TiltedOut& out) const override {
    const auto log_site = [&](double s) { return expand(f_.pieces[piece_at(s)], s).value; };
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double y = response_of(first + static_cast<Index>(i));
      const TiltedMoments t = tilted_moments(log_site, mean[i] - y, variance[i], power, {}, f_.breaks);
      if (!t.converged && out.inaccurate != nullptr) ++*out.inaccurate;
      put(out.log_normaliser, i, t.log_normaliser);
      put(out.mean, i, y + t.mean);
      put(out.variance, i, t.variance);
    }
  }

 private:
  [[nodiscard]] std::size_t piece_at(double s) const {
    return static_cast<std::size_t>(std::upper_bound(f_.breaks.begin(), f_.breaks.end(), s) - f_.breaks.begin());
  }

  /// E[f(s)], s ~ N(m, v): the piece that holds at the mean, and for each break what the pieces beyond it add in the
  /// tail there. So nothing cancels, however far away a break is.
  [[nodiscard]] GaussianExpectation exact(double m, double v) const {
    const std::size_t home = piece_at(m);
    const Quadratic q = expand(f_.pieces[home], m);
    GaussianExpectation sum{q.value + q.square * v, q.slope, q.square, true};
    if (v == 0.0) return sum;
    for (std::size_t k = 0; k < f_.breaks.size(); ++k) {
      const double b = f_.breaks[k];
      const Quadratic left = expand(f_.pieces[k], b);
      const Quadratic right = expand(f_.pieces[k + 1], b);
      const Quadratic change{right.value - left.value, right.slope - left.slope, right.square - left.square};
      if (k >= home) {
        add_tail(change, m - b, v, sum);
      } else {
        // To the left of the break in mirrored coordinates x = b - s.
        GaussianExpectation mirrored{};
        add_tail({-change.value, change.slope, -change.square}, b - m, v, mirrored);
        sum.value += mirrored.value;
        sum.d_mean -= mirrored.d_mean;
        sum.d_variance += mirrored.d_variance;
      }
    }
    return sum;
  }

  PiecewiseQuadratic f_;
};

}  // namespace

Sites observe(PiecewiseQuadratic likelihood, const Vector& responses) {
  return std::make_shared<const PiecewiseQuadraticBlock>(checked(std::move(likelihood)), responses);
}

}  // namespace gaussmith
