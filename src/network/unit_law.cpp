#include "network/unit_law.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/covariance_factor.hpp"
#include "linalg/dense.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index row_block = 512;
/// Into how many sums rows are parted at most.
constexpr Index most_parts = 8;
/// Precisions of weights below this share of the mean one are lifted.
constexpr double smallest_of_usual = 1e-8;

/// Adds X'diag(weights) X of a block of rows. DSYRK knows one sign a call: all rows go in with the sign of most, and
/// those of the other sign twice with theirs.
class SignedSquares {
 public:
  explicit SignedSquares(Index columns) : scaled_(row_block, columns), others_(row_block, columns), root_(row_block) {
    for (std::vector<Index>& rows : chosen_) rows.resize(row_block + 1);
  }

  void add(ConstMatrixView rows, const Eigen::Ref<const Vector>& weights, Matrix& sum) {
    const Index count = rows.rows();
    std::array<std::size_t, 2> found{};
    // Without branches: signs come as they like. What is written last need not count.
    for (Index i = 0; i < count; ++i) {
      chosen_[0][found[0]] = chosen_[1][found[1]] = i;
      found[0] += weights(i) > 0.0 ? 1 : 0;
      found[1] += weights(i) < 0.0 ? 1 : 0;
    }
    const std::size_t other = found[0] < found[1] ? 0 : 1;
    const double sign = other == 1 ? 1.0 : -1.0;
    root_.head(count) = weights.cwiseAbs().cwiseSqrt();
    for (Index j = 0; j < rows.cols(); ++j) scaled_.col(j).head(count) = rows.col(j).cwiseProduct(root_.head(count));
    serial::add_square(sign, scaled_.topRows(count), As::transposed, 1.0, sum);
    if (found[other] == 0) return;
    const auto few = static_cast<Index>(found[other]);
    for (Index j = 0; j < rows.cols(); ++j) {
      const double* from = scaled_.col(j).data();
      double* to = others_.col(j).data();
      for (Index i = 0; i < few; ++i) to[i] = from[chosen_[other][static_cast<std::size_t>(i)]];
    }
    serial::add_square(-2.0 * sign, others_.topRows(few), As::transposed, 1.0, sum);
  }

 private:
  Matrix scaled_, others_;
  Vector root_;
  std::array<std::vector<Index>, 2> chosen_;  // Rows of positive and of negative weight.
};

/// Whether the factors cannot be a distribution: every weight without a positive precision needs a row of its own that
/// holds it.
bool too_few_rows(const GaussianFactors& weights, const GaussianFactors& activations) {
  return (weights.precision.array() <= 0.0).count() > (activations.precision.array() > 0.0).count();
}

/// Weights whose precisions the covariance form lifts.
std::vector<Index> weights_to_lift(const Vector& precision, double usual) {
  std::vector<Index> lifted;
  lifted.reserve(static_cast<std::size_t>(precision.size()));
  for (Index j = 0; j < precision.size(); ++j)
    if (precision(j) <= smallest_of_usual * usual) lifted.push_back(j);
  return lifted;
}

/// The factorisation of the covariance form, over the rows h = X w with K = X P X', P the variances that the factors of
/// w give alone. A weight whose factor has no positive precision gets one, and a row of its own that takes the excess
/// away again: the same q.
struct RowsFactor {
  Matrix rows;
  Vector precision, shift;  ///< Of the factors of these rows.
  Vector prior_variance;
  Matrix covariance;
  CovarianceFactor factor;

  RowsFactor(const Matrix& x, const GaussianFactors& weights, const GaussianFactors& activations) {
    const Index n = x.rows(), d = x.cols();
    const double usual = weights.precision.cwiseMax(0.0).sum() / static_cast<double>(d);
    const std::vector<Index> lifted = weights_to_lift(weights.precision, usual);
    const auto extra = static_cast<Index>(lifted.size());
    rows.setZero(n + extra, d);
    rows.topRows(n) = x;
    precision.resize(n + extra);
    precision.head(n) = activations.precision;
    shift = Vector::Zero(n + extra);
    shift.head(n) = activations.shift;
    prior_variance = weights.precision.cwiseInverse();
    for (Index i = 0; i < extra; ++i) {
      const Index j = lifted[static_cast<std::size_t>(i)];
      const double lift = std::max(usual, std::abs(weights.precision(j)));
      prior_variance(j) = 1.0 / lift;
      rows(n + i, j) = 1.0;
      precision(n + i) = weights.precision(j) - lift;
    }
  }

  [[nodiscard]] bool factorise() {
    if (!prior_variance.allFinite()) return false;
    const Matrix scaled = rows * prior_variance.cwiseSqrt().asDiagonal();
    covariance.setZero(rows.rows(), rows.rows());
    add_outer(1.0, scaled, 0.0, covariance);
    mirror_lower(covariance);
    return factor.factorise(covariance, precision);
  }

  /// S = P - positive'positive + negative'negative.
  [[nodiscard]] CovarianceFactor::Reduction reduction() const {
    return factor.reduce(rows * prior_variance.asDiagonal());
  }
};

}  // namespace

Matrix weighted_gram(ConstMatrixView rows, const Vector& weights, int threads) {
  const Index part = std::max(row_block, (rows.rows() + most_parts - 1) / most_parts);
  const Index parts = (rows.rows() + part - 1) / part;
  std::vector<Matrix> sums(static_cast<std::size_t>(parts), Matrix::Zero(rows.cols(), rows.cols()));
  parallel_blocks(rows.rows(), part, threads, [&](Index begin, Index end) {
    Matrix& sum = sums[static_cast<std::size_t>(begin / part)];
    SignedSquares squares(rows.cols());
    for (Index first = begin; first < end; first += row_block) {
      const Index count = std::min(row_block, end - first);
      squares.add(rows.middleRows(first, count), weights.segment(first, count), sum);
    }
  });
  for (std::size_t i = 1; i < sums.size(); ++i) sums.front() += sums[i];
  return std::move(sums.front());
}

bool UnitLaw::refresh(const GaussianFactors& weights, const GaussianFactors& activations, int threads) {
  return covariance_form_ ? refresh_covariance(weights, activations) : refresh_precision(weights, activations, threads);
}

bool UnitLaw::refresh_precision(const GaussianFactors& weights, const GaussianFactors& activations, int threads) {
  const Matrix& x = *rows_;
  const Index n = x.rows(), d = x.cols();
  Matrix lower = weighted_gram(x, activations.precision, threads);
  lower.diagonal() += weights.precision;
  if (!lower.allFinite() || !cholesky(lower)) return false;
  const double half_log_det = half_log_determinant(lower);
  Vector whitened = weights.shift;
  add_transposed_times(x, activations.shift, whitened);
  solve_lower(lower, whitened);
  mean_ = whitened;
  solve_lower_transposed(lower, mean_);
  invert_lower(lower);
  variance_.resize(d);
  for (Index j = 0; j < d; ++j) variance_(j) = lower.col(j).tail(d - j).squaredNorm();
  log_integral_ = static_cast<double>(d) * log_sqrt_two_pi - half_log_det + 0.5 * whitened.squaredNorm();

  activations_.mean.setZero(n);
  activations_.variance.resize(n);
  parallel_blocks(n, row_block, threads, [&](Index begin, Index end) {
    const Index count = end - begin;
    add_times(x.middleRows(begin, count), mean_, activations_.mean.segment(begin, count));
    Matrix block = x.middleRows(begin, count);
    serial::multiply_right(1.0, lower, As::transposed, block);
    activations_.variance.segment(begin, count) = block.rowwise().squaredNorm();
  });
  return true;
}

bool UnitLaw::refresh_covariance(const GaussianFactors& weights, const GaussianFactors& activations) {
  if (too_few_rows(weights, activations)) return false;
  RowsFactor q(*rows_, weights, activations);
  if (!q.factorise()) return false;
  const Vector prior_mean = q.prior_variance.cwiseProduct(weights.shift);
  const Vector prior_row = q.rows * prior_mean;
  const Vector right = q.shift - q.precision.cwiseProduct(prior_row);
  const Vector dual = q.factor.dual(q.covariance, right);
  const Vector moved = symmetric_times(q.covariance, dual);
  const CovarianceFactor::Reduction reduction = q.reduction();
  Vector variance = q.prior_variance - reduction.positive.colwise().squaredNorm().transpose();
  if (reduction.negative.size() > 0) variance += reduction.negative.colwise().squaredNorm().transpose();
  if (!moved.allFinite() || !(variance.array() > 0.0).all()) return false;
  const Index n = rows_->rows();
  Vector share;
  variance_ = std::move(variance);
  mean_ = prior_mean + q.prior_variance.cwiseProduct(q.rows.transpose() * dual);
  activations_ = {(prior_row + moved).head(n), q.factor.variances(q.covariance, share).head(n)};
  // Of w from its own factors, then of the rows given them.
  log_integral_ = static_cast<double>(rows_->cols()) * log_sqrt_two_pi +
                  0.5 * (q.prior_variance.array().log() + prior_mean.array() * weights.shift.array()).sum() +
                  prior_row.dot(q.shift - 0.5 * q.precision.cwiseProduct(prior_row)) + 0.5 * right.dot(moved) -
                  q.factor.half_log_det();
  return true;
}

UnitWeights UnitLaw::weights(const GaussianFactors& weights, const GaussianFactors& activations) const {
  UnitWeights out;
  out.mean = mean_;
  if (covariance_form_) {
    RowsFactor q(*rows_, weights, activations);
    if (!q.factorise()) return out;
    const CovarianceFactor::Reduction reduction = q.reduction();
    const Index positive = reduction.positive.rows(), negative = reduction.negative.rows();
    out.diagonal = q.prior_variance;
    out.basis.resize(rows_->cols(), positive + negative);
    // What is empty has no columns either.
    if (positive > 0) out.basis.leftCols(positive) = reduction.positive.transpose();
    if (negative > 0) out.basis.rightCols(negative) = reduction.negative.transpose();
    out.sign.resize(positive + negative);
    out.sign.head(positive).setOnes();
    out.sign.tail(negative).setConstant(-1.0);
    return out;
  }
  Matrix lower = weighted_gram(*rows_, activations.precision, 1);
  lower.diagonal() += weights.precision;
  if (!cholesky(lower)) return out;
  invert_lower(lower);
  lower_transposed_times_lower(lower);
  mirror_lower(lower);
  out.covariance = std::move(lower);
  return out;
}

}  // namespace gaussmith
