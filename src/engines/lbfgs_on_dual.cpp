#include "engines/linearised_dual.hpp"
#include "engines/quasi_newton.hpp"
#include "engines/solver_steps.hpp"
#include "model/site_conjugates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr double highest_logarithm = 300.0;

/// The dual (11) of a subproblem in (alpha, log lambda), with the maximisers of every row kept for the next evaluation.
class Subdual {
 public:
  Subdual(GaussianCore& core, const SiteRows& sites, const LinearisedProblem& problem)
      : core_(core),
        sites_(sites),
        linear_(problem.linear),
        best_{Vector(core.rows()), problem.from.mean.at.eta, problem.linear.deviation},
        terms_(static_cast<std::size_t>(core.rows())) {
    for (Index n = 0; n < core.rows(); ++n) {
      ConjugateTerms& t = terms_[static_cast<std::size_t>(n)];
      t.quadratic = linear_.penalty(n);
      t.quartic = linear_.quartic;
      t.centre = linear_.deviation(n);
    }
  }

  double operator()(const Vector& x, Vector& gradient) {
    const Index rows = core_.rows();
    const Vector alpha = x.head(rows);
    if (!(x.tail(rows).array() < highest_logarithm).all()) return std::numeric_limits<double>::infinity();
    const Vector precision = x.tail(rows).array().exp();
    Conjugates best = best_;
    find_conjugates(sites_, alpha, precision.cwiseProduct(linear_.deviation), {}, terms_, best);
    if (!best.value.allFinite()) return std::numeric_limits<double>::infinity();
    if (!core_.set({precision, Vector::Zero(rows)})) return std::numeric_limits<double>::infinity();
    best_ = std::move(best);
    const LatentPoint at = core_.point(-alpha);
    const Vector& sigma = linear_.deviation;
    gradient.resize(2 * rows);
    gradient.head(rows) = best_.mean - at.eta;
    gradient.tail(rows) =
        0.5 * precision.cwiseProduct(2.0 * sigma.cwiseProduct(best_.deviation) - sigma.cwiseAbs2() - core_.variances());
    return 0.5 * core_.inner(at, at) - core_.prior_mean().dot(alpha) - core_.half_log_det().value -
           0.5 * precision.dot(sigma.cwiseAbs2()) + best_.value.sum();
  }

  /// (K + L^-1)^-1 in alpha, and lambda sigma_k^2 + ½ (lambda v)^2 in log lambda.
  [[nodiscard]] Vector inverse_times(const Vector& g) {
    const Index rows = core_.rows();
    const Vector& precision = core_.sites().precision;
    const Vector scaled = precision.cwiseProduct(g.head(rows));
    Vector out(2 * rows);
    out.head(rows) = scaled - precision.cwiseProduct(core_.covariance_times(scaled));
    const auto own = precision.array() * core_.variances().array();
    out.tail(rows) = g.tail(rows).array() /
                     (precision.array() * linear_.deviation.array().square() + 0.5 * own.square()).max(1e-200);
    return out;
  }

  /// What a gradient says of the mismatch of means and variances, in posterior standard deviations.
  [[nodiscard]] double mismatch(const Vector& x, const Vector& gradient) const {
    const Index rows = core_.rows();
    const Vector& sigma = linear_.deviation;
    const double mean = gradient.head(rows).cwiseQuotient(sigma).lpNorm<Eigen::Infinity>();
    const Vector by_precision = 2.0 * gradient.tail(rows).array() * (-x.tail(rows).array()).exp();
    return std::max(mean, by_precision.cwiseQuotient(sigma.cwiseAbs2()).lpNorm<Eigen::Infinity>());
  }

 private:
  GaussianCore& core_;
  const SiteRows& sites_;
  const Linearised& linear_;
  Conjugates best_;
  std::vector<ConjugateTerms> terms_;
};

}  // namespace

LinearisedEnd lbfgs_on_dual(GaussianCore& core, const SiteRows& sites, const LinearisedProblem& problem) {
  const Index rows = core.rows();
  const KlPoint& from = problem.from;
  Subdual dual(core, sites, problem);
  // Where the sites' slopes are, so that f* is finite.
  Vector x(2 * rows);
  x << -from.mean.d_mean, (-2.0 * from.mean.d_variance).cwiseMax(least_precision).array().log().matrix();
  QuasiNewton search([&](const Vector& at, Vector& gradient) { return dual(at, gradient); },
                     [&](const Vector& g) { return dual.inverse_times(g); });
  LinearisedEnd out;
  const QuasiNewtonEnd end = search.minimise(std::move(x), problem.most_evaluations, [&](const Vector& at, double) {
    return dual.mismatch(at, search.gradient()) <= problem.goal;
  });
  out.solved = end == QuasiNewtonEnd::told;
  out.alpha = search.point().head(rows);
  out.precision = search.point().tail(rows).array().exp();
  out.factorisations = search.evaluations();
  return out;
}

}  // namespace gaussmith
