#include "engines/linearised_dual.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr double sufficient_decrease = 1e-4;
/// Values of the dual are known to this share of their parts; within it a step has to shrink the mismatch.
constexpr double rounding = 1e-12;
constexpr double shortest_step = 1e-6;
/// A step leaves at least this share of a variance.
constexpr double most_shrinking = 0.1;
/// Second derivatives of f in the variance are differences to both sides over this share of it.
constexpr double difference_step = 1e-4;

/// Moments (m, v) of the rows as coordinates of the dual, alpha = f_m and lambda = 2 f_v there.
struct Moments {
  Vector mean, variance;
  Vector alpha, precision;
  Vector by_mean, by_variance;  ///< dD / d alpha and 2 dD / d lambda: what they differ by from the moments of q.
  Vector own_variance;          ///< Of q.
  double value = std::numeric_limits<double>::infinity();
  double size = 0.0;  ///< Of the parts of the value.

  [[nodiscard]] bool finite() const { return std::isfinite(value); }
  [[nodiscard]] double mismatch() const {
    return std::max(by_mean.cwiseQuotient(own_variance.cwiseSqrt()).lpNorm<Eigen::Infinity>(),
                    by_variance.cwiseQuotient(own_variance).lpNorm<Eigen::Infinity>());
  }
};

class DualNewton {
 public:
  DualNewton(GaussianCore& core, SiteRows sites) : core_(core), sites_(std::move(sites)) {}

  LinearisedEnd run(const LinearisedProblem& problem) {
    Moments now = evaluate(problem.from.mean.at.eta, problem.linear.deviation.cwiseAbs2());
    LinearisedEnd out;
    while (now.finite() && !(out.solved = now.mismatch() <= problem.goal)) {
      if (factorisations_ >= problem.most_evaluations || !advance(now)) break;
    }
    out.alpha = std::move(now.alpha);
    out.precision = std::move(now.precision);
    out.factorisations = factorisations_;
    return out;
  }

 private:
  Moments evaluate(Vector mean, Vector variance) {
    Moments at;
    at.mean = std::move(mean);
    at.variance = std::move(variance);
    Vector expected;
    sites_.expectation(at.mean, at.variance, &expected, &at.alpha, &at.precision);
    at.alpha *= -1.0;
    at.precision *= -2.0;
    ++factorisations_;
    if (!expected.allFinite() || !core_.set({at.precision, Vector::Zero(core_.rows())})) return at;
    const LatentPoint q = core_.point(-at.alpha);
    at.own_variance = core_.variances();
    at.by_mean = at.mean - q.eta;
    at.by_variance = at.variance - at.own_variance;
    const double prior = 0.5 * core_.inner(q, q) - core_.prior_mean().dot(at.alpha);
    const double determinant = core_.half_log_det().value;
    const double linear = at.alpha.dot(at.mean) + 0.5 * at.precision.dot(at.variance);
    at.value = prior - determinant + linear + expected.sum();
    at.size = 1.0 + std::abs(prior) + std::abs(determinant) + std::abs(linear) + expected.cwiseAbs().sum();
    return at;
  }

  /// The step of (m, v). With f'' = [a b; b c] of a row and w = 2 v^2 on the diagonal of the dual's second derivative
  /// in lambda/2, elimination leaves a system (K + T^-1) d = -r with T = a - b^2 w / (1 + c w), the mean of other
  /// sites.
  struct Step {
    Vector mean, variance;
    double slope = 0.0;
  };
  [[nodiscard]] bool find_step(const Moments& at, Step& step) {
    const Vector bend = sites_.curvature(at.mean, at.variance, -0.5 * at.precision);
    Vector mixed[2];
    Vector own[2];
    const Vector h = difference_step * at.variance;
    sites_.expectation(at.mean, at.variance + h, nullptr, &mixed[0], &own[0]);
    sites_.expectation(at.mean, at.variance - h, nullptr, &mixed[1], &own[1]);
    const Eigen::ArrayXd a = bend.array().max(0.0);
    const Eigen::ArrayXd b = (mixed[1] - mixed[0]).array() / (2.0 * h.array());
    const Eigen::ArrayXd c = ((own[1] - own[0]).array() / (2.0 * h.array())).max(0.0);
    const Eigen::ArrayXd w = 2.0 * at.own_variance.array().square();
    const Eigen::ArrayXd share = 1.0 + c * w;
    const Vector t = (a - b.square() * w / share).max(0.0);
    const Vector right = t.array() * at.by_mean.array() + b * at.by_variance.array() / share;
    ++factorisations_;
    const Vector shift = t.cwiseProduct(core_.prior_mean()) - right;
    if (!core_.set({t, shift})) return false;
    const LatentPoint d = core_.mean();
    step.mean = -at.by_mean - (d.eta - core_.prior_mean());
    step.variance = -(at.by_variance.array() + w * b * step.mean.array()) / share;
    const Vector by_half_precision = b * step.mean.array() + c * step.variance.array();
    step.slope = at.by_mean.dot(d.coordinates) + at.by_variance.dot(by_half_precision);
    return step.mean.allFinite() && step.variance.allFinite();
  }

  bool advance(Moments& now) {
    Step step;
    if (!find_step(now, step)) return false;
    double length = 1.0;
    for (Index n = 0; n < step.variance.size(); ++n)
      if (step.variance(n) < 0.0)
        length = std::min(length, (most_shrinking - 1.0) * now.variance(n) / step.variance(n));
    for (; length >= shortest_step; length *= 0.5) {
      Moments next = evaluate(now.mean + length * step.mean, now.variance + length * step.variance);
      if (!next.finite()) continue;
      const bool falls = next.value <= now.value + sufficient_decrease * length * std::min(0.0, step.slope);
      const bool settles = next.value <= now.value + rounding * now.size && next.mismatch() < now.mismatch();
      if (!falls && !settles) continue;
      now = std::move(next);
      return true;
    }
    return false;
  }

  GaussianCore& core_;
  SiteRows sites_;
  int factorisations_ = 0;
};

}  // namespace

LinearisedEnd newton_on_dual(GaussianCore& core, const SiteRows& sites, const LinearisedProblem& problem) {
  return DualNewton(core, sites.linearised(problem.linear)).run(problem);
}

}  // namespace gaussmith
