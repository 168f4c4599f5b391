// Opper and Archambeau (2009): m = m0 - K alpha and V = (K^-1 + diag lambda)^-1, L-BFGS in (alpha, log lambda). Not
// concave in these variables. With K = G G' and u = -G'alpha, m = m0 + G u, so that alpha's scale is that of the prior:
//   d bound / d u = G'e_m - u,  d bound / d lambda = -(V o V)(e_v + lambda/2),  V = G (I + G'LG)^-1 G'.

#include "engines/quasi_newton.hpp"
#include "engines/solver_record.hpp"
#include "engines/solver_steps.hpp"
#include "linalg/dense.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Differences of de/dv are over this share of the variance.
constexpr double variance_step = 1e-4;

class AlphaLambda {
 public:
  AlphaLambda(const GaussianCore& core, const SiteRows& sites)
      : sites_(sites),
        prior_mean_(core.prior_mean()),
        g_(core.geometry().whitened_rows(0, core.rows())),
        rank_(g_.rows()),
        rows_(g_.cols()) {}

  /// Minus the bound.
  double operator()(const Vector& x, Vector& gradient) {
    const Vector u = x.head(rank_);
    const Vector precision = x.tail(rows_).array().exp();
    if (!precision.allFinite()) return std::numeric_limits<double>::infinity();
    // V = X'X, X = L^-1 G', I + G'diag(lambda) G = L L'.
    Matrix factor = Matrix::Identity(rank_, rank_);
    Matrix x_rows = g_ * precision.cwiseSqrt().asDiagonal();
    add_outer(1.0, x_rows, 1.0, factor);
    if (!cholesky(factor)) return std::numeric_limits<double>::infinity();
    factor_ = std::move(factor);
    precision_ = precision;
    x_rows = g_;
    solve_lower(factor_, x_rows);
    Matrix v = Matrix::Zero(rows_, rows_);
    add_gram(1.0, x_rows, 0.0, v);
    mirror_lower(v);
    variance_ = v.diagonal().cwiseMax(1e-300);
    eta_ = prior_mean_;
    add_transposed_times(g_, u, eta_);
    Vector value;
    Vector d_mean;
    sites_.expectation(eta_, variance_, &value, &d_mean, &d_variance_);
    gradient.resize(rank_ + rows_);
    gradient.head(rank_) = u;
    add_times(g_, -d_mean, gradient.head(rank_));
    const Vector mismatch = d_variance_ + 0.5 * precision_;
    for (Index n = 0; n < rows_; ++n) gradient(rank_ + n) = precision_(n) * v.col(n).cwiseAbs2().dot(mismatch);
    slope_ = gradient.tail(rows_);
    return -(value.sum() - 0.5 * u.squaredNorm() - half_log_determinant(factor_) + 0.5 * precision_.dot(variance_));
  }

  /// About the inverse of the second derivative: (I + G'LG)^-1 in u, and of lambda^2 (V o V)(½ - e_vv V o V) the
  /// diagonal in log lambda. The slope added to it keeps first steps of log lambda within one.
  [[nodiscard]] Vector inverse_times(const Vector& g) const {
    Vector moved;
    sites_.expectation(eta_, (1.0 + variance_step) * variance_, nullptr, nullptr, &moved);
    const Eigen::ArrayXd bend =
        ((d_variance_ - moved).array() / (variance_step * variance_.array())).max(0.0) * variance_.array().square();
    const Eigen::ArrayXd scale = precision_.array() * variance_.array();
    Vector out(rank_ + rows_);
    Vector mean = g.head(rank_);
    solve_lower(factor_, mean);
    solve_lower_transposed(factor_, mean);
    out.head(rank_) = mean;
    out.tail(rows_) = g.tail(rows_).array() / (scale.square() * (0.5 + bend) + slope_.array().abs()).max(1e-200);
    return out;
  }

  [[nodiscard]] Index rank() const { return rank_; }
  [[nodiscard]] const Vector& d_variance() const { return d_variance_; }

 private:
  const SiteRows& sites_;
  Vector prior_mean_;
  Matrix g_;  // G', rank x N.
  Index rank_, rows_;
  Matrix factor_;
  Vector precision_, variance_, eta_, d_variance_, slope_;
};

}  // namespace

void climb_alpha_lambda(GaussianCore& core, const SiteRows& sites, const KlStart& start, SolverRecord& record) {
  AlphaLambda bound(core, sites);
  Vector x(bound.rank() + core.rows());
  x << start.mean.coordinates, start.precision.cwiseMax(least_precision).array().log().matrix();
  QuasiNewton search([&](const Vector& at, Vector& gradient) { return bound(at, gradient); },
                     [&](const Vector& g) { return bound.inverse_times(g); });
  climb_by(search, std::move(x), record, [&](const Vector& at, KlPoint& point) {
    // With more rows than weights many lambda give one V; the sites of that V are the ones that the equations name.
    Vector unused;
    (void)bound(at, unused);
    return record.look(-2.0 * bound.d_variance(), core.point(at.head(bound.rank())), point);
  });
}

}  // namespace gaussmith
