#include "numerics/latent_differences.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>

namespace gaussmith {

namespace {

/// Columns whose squared norms are `variance`, as far as they matter.
Matrix scaled(const Matrix& axes, const Vector& variance, double least_share) {
  const double least = least_share * (1.0 + std::max(0.0, variance(0)));
  Index count = 0;
  while (count < variance.size() && variance(count) > least) ++count;
  return axes.leftCols(count) * variance.head(count).cwiseSqrt().asDiagonal();
}

}  // namespace

LatentDifferences::LatentDifferences(Index classes, ConstSpan mean_of, ConstSpan covariance)
    : mean(Eigen::Map<const Vector>(mean_of.data(), classes)), level(mean.mean()) {
  mean.array() -= level;
  Matrix v = Eigen::Map<const Matrix>(covariance.data(), classes, classes);
  v.rowwise() -= v.colwise().mean().eval();
  v.colwise() -= v.rowwise().mean().eval();
  // The direction that all classes share goes to the end, whatever rounding left in it.
  const double below = 1.0 + 2.0 * v.trace();
  v.array() -= below / static_cast<double>(classes);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(v);
  variance = eigen.eigenvalues().tail(classes - 1).reverse().cwiseMax(0.0);
  axes = eigen.eigenvectors().rightCols(classes - 1).rowwise().reverse();
}

Matrix LatentDifferences::directions(double least_share) const { return scaled(axes, variance, least_share); }

Matrix LatentDifferences::directions_without(const Vector& noise, double least_share) const {
  Matrix left = -(axes.transpose() * noise.asDiagonal() * axes);
  left.diagonal() += variance;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(left);
  return scaled(axes * eigen.eigenvectors().rowwise().reverse(), eigen.eigenvalues().reverse(), least_share);
}

Vector independent_noise(const LatentDifferences& differences) {
  constexpr int most_steps = 80;
  constexpr double first_weight = 0.3, last_weight = 1e-8, shrink = 0.25;
  // Changes no probability that is stated to 1e-7, and gives singular covariances an interior.
  constexpr double widened = 1e-9;
  const Matrix& axes = differences.axes;
  const Vector variance = differences.variance.array() + widened * (1.0 + differences.variance(0));
  const auto left_with = [&](const Vector& noise) -> Matrix {
    Matrix left = -(axes.transpose() * noise.asDiagonal() * axes);
    left.diagonal() += variance;
    return left;
  };
  // Newton's method on sum noise + weight (log|left| + sum log noise), the weight falling.
  Vector noise = Vector::Constant(axes.rows(), 0.5 * variance.minCoeff());
  Eigen::LLT<Matrix> factor(left_with(noise));
  double weight = first_weight * variance.mean();
  const double last = last_weight * variance.mean();
  for (int step = 0; step < most_steps && weight > last; ++step) {
    const Matrix half = factor.matrixL().solve(axes.transpose());
    const Matrix inverse = half.transpose() * half;
    const Vector slope = (1.0 + weight * (noise.cwiseInverse() - inverse.diagonal()).array()).matrix();
    Matrix bend = weight * inverse.cwiseAbs2();
    bend.diagonal().array() += weight * noise.array().square().inverse();
    const Vector newton = bend.llt().solve(slope);
    double length = 1.0;
    Vector next = noise + newton;
    for (; length > 1e-6; length *= 0.5, next = noise + length * newton) {
      if (next.minCoeff() <= 0.0) continue;
      factor.compute(left_with(next));
      if (factor.info() == Eigen::Success) break;
    }
    if (length <= 1e-6) break;
    noise = next;
    if (length == 1.0) weight *= shrink;
  }
  return noise;
}

}  // namespace gaussmith
