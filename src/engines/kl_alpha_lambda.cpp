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
/// Of the diagonal: W is singular to rounding where rows are close to one another.
constexpr double ridge = 1e-10;
constexpr double least_curvature = 1e-200;

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
    squares_ = v.cwiseAbs2();
    slope_ = precision_.cwiseProduct(squares_ * (d_variance_ + 0.5 * precision_));
    gradient.tail(rows_) = slope_;
    return -(value.sum() - 0.5 * u.squaredNorm() - half_log_determinant(factor_) + 0.5 * precision_.dot(variance_));
  }

  /// About the inverse of the second derivative: (I + G'LG)^-1 in u, and with W = V o V, L (W/2 - W diag(e_vv) W) L in
  /// log lambda, without the positive e_vv where these leave it indefinite, as far from the optimum they may. W of a
  /// smooth process is so far from its diagonal that L-BFGS on the diagonal alone comes to no end. The slopes added
  /// keep first steps of log lambda within one.
  [[nodiscard]] Vector inverse_times(const Vector& g) const {
    Vector moved;
    sites_.expectation(eta_, (1.0 + variance_step) * variance_, nullptr, nullptr, &moved);
    const Vector bend = (moved - d_variance_).cwiseQuotient(variance_step * variance_);
    Vector mean = g.head(rank_);
    solve_lower(factor_, mean);
    solve_lower_transposed(factor_, mean);
    Vector logarithm = g.tail(rows_);
    const auto bent = [&](double sign) -> Matrix {
      return (sign * bend).cwiseMax(0.0).cwiseSqrt().asDiagonal() * squares_;
    };
    Matrix convex = 0.5 * squares_;
    add_gram(1.0, bent(-1.0), 1.0, convex);
    Matrix second = convex;
    add_gram(-1.0, bent(1.0), 1.0, second);
    if (!solve_scaled(second, logarithm) && !solve_scaled(convex, logarithm))
      logarithm = logarithm.cwiseQuotient(curvature_of(convex));
    Vector out(rank_ + rows_);
    out << mean, logarithm;
    return out;
  }

  [[nodiscard]] Index rank() const { return rank_; }
  [[nodiscard]] const Vector& d_variance() const { return d_variance_; }

 private:
  /// The diagonal of L second L, with the slopes.
  [[nodiscard]] Vector curvature_of(const Matrix& second) const {
    return ((1.0 + ridge) * second.diagonal().cwiseProduct(precision_.cwiseAbs2()).cwiseMax(0.0) + slope_.cwiseAbs())
        .cwiseMax(least_curvature);
  }

  /// x := (L second L + slopes)^-1 x, of which the lower triangle is read; false where it is not positive definite.
  [[nodiscard]] bool solve_scaled(const Matrix& second, Vector& x) const {
    Matrix scaled = precision_.asDiagonal() * second * precision_.asDiagonal();
    scaled.diagonal() = curvature_of(second);
    if (!cholesky(scaled)) return false;
    solve_lower(scaled, x);
    solve_lower_transposed(scaled, x);
    return true;
  }

  const SiteRows& sites_;
  Vector prior_mean_;
  Matrix g_;  // G', rank x N.
  Index rank_, rows_;
  Matrix factor_, squares_;
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
