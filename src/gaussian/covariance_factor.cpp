#include "gaussian/covariance_factor.hpp"

#include "gaussian/weak_sites.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Steps of a power iteration, and what it may be short of the largest eigenvalue by.
constexpr int growth_steps = 8;
constexpr double growth_margin = 2.0;

}  // namespace

bool CovarianceFactor::factorise(const Matrix& k, const Vector& precision) {
  const Index n = precision.size();
  if (!precision.allFinite()) return false;
  precision_ = precision;
  root_ = precision.cwiseMax(0.0).cwiseSqrt();
  inverse_.resize(0, 0);
  lower_.resize(n, n);
  for (Index j = 0; j < n; ++j) {
    lower_.col(j).tail(n - j) = k.col(j).tail(n - j).cwiseProduct(root_.tail(n - j)) * root_(j);
    lower_(j, j) += 1.0;
  }
  if (!cholesky(lower_)) return false;

  negative_.clear();
  for (Index i = 0; i < n; ++i)
    if (precision(i) < 0.0) negative_.push_back(i);
  const Index count = static_cast<Index>(negative_.size());
  negative_root_.resize(count);
  if (count == 0) return true;

  // F = E - T+^1/2 B^-1 T+^1/2 K E and V+ E = K F.
  Matrix columns(n, count);
  for (Index j = 0; j < count; ++j) {
    const Index row = negative_[static_cast<std::size_t>(j)];
    columns.col(j) = root_.cwiseProduct(k.col(row));
    negative_root_(j) = std::sqrt(-precision(row));
  }
  solve_lower(lower_, columns);
  solve_lower_transposed(lower_, columns);
  negative_dual_ = -(root_.asDiagonal() * columns);
  for (Index j = 0; j < count; ++j) negative_dual_(negative_[static_cast<std::size_t>(j)], j) += 1.0;
  negative_cross_ = symmetric_times(k, negative_dual_);
  negative_lower_.resize(count, count);
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < count; ++i)
      negative_lower_(i, j) = (i == j ? 1.0 : 0.0) - negative_root_(i) * negative_root_(j) *
                                                         negative_cross_(negative_[static_cast<std::size_t>(i)], j);
  return cholesky(negative_lower_);
}

double CovarianceFactor::half_log_det() const {
  return half_log_determinant(lower_) + (negative_.empty() ? 0.0 : half_log_determinant(negative_lower_));
}

Vector CovarianceFactor::positive_dual(const Matrix& k, const Vector& r) const {
  // (I + T+ K)^-1 r = T^1/2 B^-1 T^-1/2 r without cancellation where tau > 0, and r - T^1/2 B^-1 T^1/2 K r elsewhere.
  // Both are linear in r, so each row takes the route that suits it.
  Vector scaled = Vector::Zero(r.size());
  Vector weak = Vector::Zero(r.size());
  bool any_weak = false;
  for (Index i = 0; i < r.size(); ++i) {
    if (root_(i) > smallest_root) {
      scaled(i) = r(i) / root_(i);
    } else {
      weak(i) = r(i);
      any_weak = any_weak || r(i) != 0.0;
    }
  }
  if (any_weak) scaled -= root_.cwiseProduct(symmetric_times(k, weak));
  solve_lower(lower_, scaled);
  solve_lower_transposed(lower_, scaled);
  return weak + root_.cwiseProduct(scaled);
}

Vector CovarianceFactor::dual(const Matrix& k, const Vector& r) const {
  Vector a = positive_dual(k, r);
  if (negative_.empty()) return a;
  // Woodbury on the negative rows: a + F S^1/2 C^-1 S^1/2 (K a)_J, and (K a)_J = (V+ E)'r.
  Vector correction = negative_root_.cwiseProduct(Vector(negative_cross_.transpose() * r));
  solve_lower(negative_lower_, correction);
  solve_lower_transposed(negative_lower_, correction);
  a += negative_dual_ * negative_root_.cwiseProduct(correction);
  return a;
}

Vector CovarianceFactor::variances(const Matrix& k, Vector& share) {
  const Index n = root_.size();
  inverse_ = lower_;
  invert_lower(inverse_);
  Vector v(n);
  share.resize(n);
  std::vector<Index> weak;
  for (Index i = 0; i < n; ++i) {
    const double strength = precision_(i) * k(i, i);
    if (strength >= weak_site) {
      share(i) = inverse_.col(i).tail(n - i).squaredNorm();
      v(i) = (1.0 - share(i)) / precision_(i);
    } else {
      weak.push_back(i);
    }
  }
  constexpr Index block = 256;
  for (std::size_t begin = 0; begin < weak.size(); begin += block) {
    const std::size_t end = std::min(weak.size(), begin + block);
    Matrix columns(n, static_cast<Index>(end - begin));
    for (std::size_t j = begin; j < end; ++j)
      columns.col(static_cast<Index>(j - begin)) = root_.cwiseProduct(k.col(weak[j]));
    solve_lower(lower_, columns);
    for (std::size_t j = begin; j < end; ++j)
      v(weak[j]) = k(weak[j], weak[j]) - columns.col(static_cast<Index>(j - begin)).squaredNorm();
  }
  for (const Index i : weak) share(i) = 1.0 - precision_(i) * v(i);
  if (!negative_.empty()) {
    Matrix update = negative_root_.asDiagonal() * negative_cross_.transpose();
    solve_lower(negative_lower_, update);
    const Vector increase = update.colwise().squaredNorm().transpose();
    v += increase;
    share -= precision_.cwiseProduct(increase);
  }
  // Rounding can leave -1e-17 where the data pin eta down completely; a variance is not negative.
  return v.cwiseMax(0.0);
}

Matrix CovarianceFactor::covariance(const Matrix& k) const {
  Matrix v = k;
  const Reduction reduction = reduce(k);
  add_gram(-1.0, reduction.positive, 1.0, v);
  if (reduction.negative.size() > 0) add_gram(1.0, reduction.negative, 1.0, v);
  return v;
}

Matrix CovarianceFactor::gradient_weights(const Vector& a, const Vector& b) const {
  Matrix m = inverse_.size() > 0 ? inverse_ : lower_;
  if (inverse_.size() == 0) invert_lower(m);
  lower_transposed_times_lower(m);
  const Index n = m.rows();
  for (Index j = 0; j < n; ++j) {
    const Index left = n - j;
    m.col(j).tail(left) = 0.5 * b(j) * a.tail(left) + 0.5 * a(j) * b.tail(left) -
                          0.5 * root_(j) * root_.tail(left).cwiseProduct(m.col(j).tail(left));
  }
  if (!negative_.empty()) {
    Matrix f = (negative_dual_ * negative_root_.asDiagonal()).transpose();
    solve_lower(negative_lower_, f);
    add_gram(0.5, f, 1.0, m);
  }
  return m;
}

double CovarianceFactor::growth(const Eigen::ArrayXd& d) const {
  // Power iteration. It approaches from below, quickly where one eigenvalue stands out, and within a small factor where
  // many are alike. Signs that alternate are rarely orthogonal to what smooth kernels have least of.
  const Vector weight = root_.cwiseProduct(d.sqrt().matrix());
  Vector x(root_.size());
  for (Index i = 0; i < x.size(); ++i) x(i) = (i % 2 == 0 ? 1.0 : -1.0) * (1.0 + 0.1 * static_cast<double>(i % 7));
  double value = 0.0;
  for (int step = 0; step < growth_steps; ++step) {
    const double length = x.norm();
    if (!(length > 0.0) || !std::isfinite(length)) break;
    x = weight.cwiseProduct(x / length);
    solve_lower(lower_, x);
    value = x.squaredNorm();
    solve_lower_transposed(lower_, x);
    x = weight.cwiseProduct(x);
  }
  return growth_margin * value;
}

CovarianceFactor::Reduction CovarianceFactor::reduce(Matrix cross) const {
  Reduction reduction;
  if (!negative_.empty()) {
    reduction.negative = transposed_times(negative_dual_, cross);
    reduction.negative = negative_root_.asDiagonal() * reduction.negative;
    solve_lower(negative_lower_, reduction.negative);
  }
  cross.array().colwise() *= root_.array();
  solve_lower(lower_, cross);
  reduction.positive = std::move(cross);
  return reduction;
}

}  // namespace gaussmith
