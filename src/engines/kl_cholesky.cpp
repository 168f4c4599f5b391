// Challis and Barber: w = mean + R u, q(u) = N(mu, C'C) with C upper triangular; L-BFGS in (mu, C). For log-concave
// sites the bound is concave in these D (D + 3)/2 variables.

#include "engines/quasi_newton.hpp"
#include "engines/solver_record.hpp"
#include "engines/solver_steps.hpp"
#include "gaussian/prior_geometry.hpp"
#include "linalg/dense.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

class MeanAndFactor {
 public:
  MeanAndFactor(const GaussianCore& core, const SiteRows& sites)
      : sites_(sites),
        g_(core.geometry().whitened_rows(0, core.rows())),
        prior_mean_(core.prior_mean()),
        dimension_(g_.rows()),
        prior_(core.geometry().has_gaussian() ? 1.0 : 0.0) {}

  [[nodiscard]] Index variables() const { return dimension_ + dimension_ * (dimension_ + 1) / 2; }

  void unpack(const Vector& x, Vector& mean, Matrix& c) const {
    mean = x.head(dimension_);
    c = Matrix::Zero(dimension_, dimension_);
    Index at = dimension_;
    for (Index j = 0; j < dimension_; ++j) {
      c.col(j).head(j + 1) = x.segment(at, j + 1);
      at += j + 1;
    }
  }
  [[nodiscard]] Vector pack(const Vector& mean, const Matrix& c) const {
    Vector x(variables());
    x.head(dimension_) = mean;
    Index at = dimension_;
    for (Index j = 0; j < dimension_; ++j) {
      x.segment(at, j + 1) = c.col(j).head(j + 1);
      at += j + 1;
    }
    return x;
  }

  /// Minus the bound up to a constant, sum e(m, v) + log|C| - 1/2 |C|^2 - 1/2 |mu|^2; the last two are the prior's.
  double operator()(const Vector& x, Vector& gradient) {
    Vector mean;
    Matrix c;
    unpack(x, mean, c);
    if (!(c.diagonal().array() > 0.0).all()) return std::numeric_limits<double>::infinity();
    const Matrix projected = times(c, g_);  // D x N.
    eta_ = prior_mean_;
    add_transposed_times(g_, mean, eta_);
    const Vector variance = projected.colwise().squaredNorm();
    Vector value;
    Vector d_mean;
    sites_.expectation(eta_, variance, &value, &d_mean, &d_variance_);
    Vector by_mean = prior_ * mean;
    add_times(g_, -d_mean, by_mean);
    const Matrix weighted = projected * d_variance_.asDiagonal();
    Matrix by_c = prior_ * c - 2.0 * times_transposed(weighted, g_);
    by_c.diagonal() -= c.diagonal().cwiseInverse();
    gradient = pack(by_mean, by_c);
    return -(value.sum() + c.diagonal().array().log().sum() - 0.5 * prior_ * (c.squaredNorm() + mean.squaredNorm()));
  }

  [[nodiscard]] const Vector& d_variance() const { return d_variance_; }

 private:
  const SiteRows& sites_;
  Matrix g_;  // G', D x N.
  Vector prior_mean_;
  Index dimension_;
  double prior_;
  Vector eta_, d_variance_;
};

}  // namespace

void climb_cholesky(GaussianCore& core, const SiteRows& sites, const KlStart& start, SolverRecord& record) {
  MeanAndFactor bound(core, sites);
  // A = L L' at the first precisions gives V = L^-T L^-1 = M M', and C = M'.
  Matrix a = core.geometry().whitened_gram(start.precision.cwiseMax(0.0));
  if (core.geometry().has_gaussian()) a.diagonal().array() += 1.0;
  bool proper = cholesky(a);
  Matrix v;
  if (proper) {
    Matrix inverse = a.triangularView<Eigen::Lower>();
    invert_lower(inverse);
    v = transposed_times(inverse, inverse);
    proper = cholesky(v);
  }
  if (!proper) return record.end_with(Status::numerical_failure, "the first covariance could not be factorised");
  const Matrix c = Matrix(v.triangularView<Eigen::Lower>()).transpose();
  const Index dimension = a.rows();
  QuasiNewton search([&](const Vector& at, Vector& gradient) { return bound(at, gradient); }, {});
  climb_by(search, bound.pack(start.mean.coordinates, c), record, [&](const Vector& at, KlPoint& point) {
    // The sites of this mean and covariance; at the optimum their Gaussian is q itself.
    Vector unused;
    (void)bound(at, unused);
    return record.look(-2.0 * bound.d_variance(), core.point(at.head(dimension)), point);
  });
}

}  // namespace gaussmith
