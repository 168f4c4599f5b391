#include "numerics/averaged_log_sum_exp.hpp"

#include "numerics/batch.hpp"
#include "numerics/softmax_nodes.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Antithetic pairs of every randomisation.
constexpr Index antithetic_pairs = 256;
/// Beyond this, points are cheaper.
constexpr double most_nodes = 5e4;

/// A root of the covariance of f_c - f_0 that is smooth where it has full rank, C x (C - 1) with a row of zeros.
Matrix difference_root(const Eigen::Map<const Matrix>& v) {
  const Index rest = v.rows() - 1;
  Matrix root = Matrix::Zero(v.rows(), rest);
  for (Index j = 0; j < rest; ++j) {
    double spread = 0.0;
    for (Index i = j; i < rest; ++i) {
      double entry = (v(i + 1, j + 1) - v(i + 1, 0)) - (v(0, j + 1) - v(0, 0));
      if (i == j) spread = entry;
      entry -= root.row(i + 1).head(j).dot(root.row(j + 1).head(j));
      root(i + 1, j) = entry;
    }
    const double pivot = root(j + 1, j);
    // A pivot of rounding errors stands for a direction without variance.
    const double least = 8.0 * std::numeric_limits<double>::epsilon() * static_cast<double>(v.rows()) * spread;
    root.col(j).tail(rest - j) *= pivot > least ? 1.0 / std::sqrt(pivot) : 0.0;
  }
  return root;
}

/// Gives the points the second moments of what they stand for, so that quadratic functions have no error.
void whiten(Eigen::Ref<Matrix> points) {
  const Matrix moments = points.transpose() * points / static_cast<double>(points.rows());
  const Eigen::LLT<Matrix> factor(moments);
  if (factor.info() == Eigen::Success) factor.matrixL().transpose().solveInPlace<Eigen::OnTheRight>(points);
}

}  // namespace

AveragedLogSumExp::AveragedLogSumExp(Index classes, std::uint64_t seed) : classes_(classes), seed_(seed) {}

double AveragedLogSumExp::average(ConstSpan mean, ConstSpan covariance, const Out& out) {
  probability_ = Vector::Zero(classes_);
  curvature_ = Matrix::Zero(classes_, classes_);
  double value = 0.0;
  if (by_quadrature(mean, covariance, value))
    std::fill(out.replicates.begin(), out.replicates.end(), value);
  else
    value = by_points(mean, covariance, out.replicates);
  if (!out.probability.empty()) Eigen::Map<Vector>(out.probability.data(), classes_) = probability_;
  if (!out.curvature.empty()) {
    // sum_k E[p_i p_k] for the diagonal: rows add up to zero and the whole is positive semidefinite as computed.
    Eigen::Map<Matrix> t(out.curvature.data(), classes_, classes_);
    t = -curvature_;
    t.diagonal().setZero();
    t.diagonal() = -t.rowwise().sum();
  }
  return value;
}

bool AveragedLogSumExp::by_quadrature(ConstSpan mean, ConstSpan covariance, double& value) {
  if (classes_ > most_classes_by_quadrature) return false;
  const LatentDifferences differences(classes_, mean, covariance);
  double sum = 0.0;
  if (!visit_softmax_nodes(
          differences,
          [&](const Vector& f, double weight) {
            const double top = f.maxCoeff();
            Vector p = (f.array() - top).exp();
            const double total = p.sum();
            p /= total;
            sum += weight * (top + std::log(total));
            probability_ += weight * p;
            curvature_.noalias() += (weight * p) * p.transpose();
          },
          most_nodes))
    return false;
  value = differences.level + sum;
  return true;
}

double AveragedLogSumExp::by_points(ConstSpan mean, ConstSpan covariance, Span replicates) {
  const Index rest = classes_ - 1;
  if (!points_) {
    const NormalPoints normal(rest, shifts, seed_);
    points_.emplace(shifts * antithetic_pairs, rest);
    for (Index shift = 0; shift < shifts; ++shift) {
      auto own = points_->middleRows(shift * antithetic_pairs, antithetic_pairs);
      normal.fill(shift, 0, own);
      whiten(own);
    }
  }
  const Eigen::Map<const Vector> m(mean.data(), classes_);
  const Matrix root = difference_root({covariance.data(), classes_, classes_});
  const double weight = 1.0 / static_cast<double>(2 * antithetic_pairs * shifts);
  double sum = 0.0;
  for (Index shift = 0; shift < shifts; ++shift) {
    double own = 0.0;
    for (const double sign : {1.0, -1.0}) {
      f_.noalias() = (sign * points_->middleRows(shift * antithetic_pairs, antithetic_pairs)) * root.transpose();
      f_.rowwise() += m.transpose();
      top_ = f_.rowwise().maxCoeff();
      f_.colwise() -= top_;
      const std::span<double> terms(f_.data(), static_cast<std::size_t>(f_.size()));
      batch::exp(terms, terms);
      total_ = f_.rowwise().sum();
      f_.array().colwise() /= total_.array();
      probability_.noalias() += weight * f_.colwise().sum().transpose();
      curvature_.noalias() += weight * (f_.transpose() * f_);
      batch::log(view(total_), view(total_));
      own += top_.sum() + total_.sum();
    }
    own /= static_cast<double>(2 * antithetic_pairs);
    if (!replicates.empty()) replicates[static_cast<std::size_t>(shift)] = own;
    sum += own / static_cast<double>(shifts);
  }
  return sum;
}

}  // namespace gaussmith
