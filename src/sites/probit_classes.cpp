#include "sites/probit_classes.hpp"

#include "sites/other_class.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Half a second of work for one row.
constexpr double most_nodes = 4e6;

std::size_t entries(const Matrix& a) { return static_cast<std::size_t>(a.size()); }

}  // namespace

ProbitClasses::ProbitClasses(Index classes)
    : classes_(classes),
      product_(classes - 1),
      offset_(classes - 1),
      slope_(classes - 1),
      loadings_(Matrix::Ones(classes - 1, 1)),
      hessian_(classes - 1, classes - 1) {
  assert(classes >= 2);
}

double ProbitClasses::log_density(Index label, ConstSpan eta, Span first, Span second) {
  assert(static_cast<Index>(eta.size()) == classes_ && (second.empty() || !first.empty()));
  for (Index j = 0; j < classes_ - 1; ++j)
    offset_(j) = eta[static_cast<std::size_t>(label)] - eta[static_cast<std::size_t>(other_class(j, label))];
  const bool with_first = !first.empty();
  const bool with_second = !second.empty();
  const double value = product_.log_integral(offset_, loadings_, with_first ? view(slope_) : Span{},
                                             with_second ? Span{hessian_.data(), entries(hessian_)} : Span{});
  // d_j = f_y - f_j: the derivatives in f are those in d, and in f_y minus their sum.
  if (with_first) {
    Eigen::Map<Vector> out(first.data(), classes_);
    for (Index j = 0; j < classes_ - 1; ++j) out(other_class(j, label)) = -slope_(j);
    out(label) = slope_.sum();
  }
  if (with_second) {
    Eigen::Map<Matrix> out(second.data(), classes_, classes_);
    for (Index j = 0; j < classes_ - 1; ++j) {
      for (Index k = 0; k < classes_ - 1; ++k) out(other_class(j, label), other_class(k, label)) = hessian_(j, k);
      const double sum = hessian_.col(j).sum();
      out(other_class(j, label), label) = out(label, other_class(j, label)) = -sum;
    }
    out(label, label) = hessian_.sum();
  }
  return value;
}

ProbitClasses::Tilted ProbitClasses::tilted(Index label, ConstSpan mean, ConstSpan covariance, Span tilted_mean,
                                            Span tilted_covariance) {
  assert(classes_ <= most_classes_by_quadrature);
  const Index size = classes_ - 1;
  const Eigen::Map<const Vector> m(mean.data(), classes_);
  const Eigen::Map<const Matrix> v(covariance.data(), classes_, classes_);
  Matrix reach(classes_, size);  // V D': covariance of f with the differences.
  for (Index j = 0; j < size; ++j) {
    offset_(j) = m(label) - m(other_class(j, label));
    reach.col(j) = v.col(label) - v.col(other_class(j, label));
  }
  Matrix omega(size, size);
  for (Index j = 0; j < size; ++j)
    for (Index k = 0; k < size; ++k)
      omega(j, k) = (reach(label, k) - reach(other_class(j, label), k)) + 1.0 + (j == k ? 1.0 : 0.0);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(omega);
  const double kappa = std::max(1.0, eigen.eigenvalues()(0));  // Omega is at least I.
  Matrix loadings(size, size - 1);
  for (Index i = 1; i < size; ++i)
    loadings.col(i - 1) =
        std::sqrt(std::max(0.0, eigen.eigenvalues()(i) - kappa) / kappa) * eigen.eigenvectors().col(i);
  if (NdtrProduct::node_count(loadings) > most_nodes) return {std::numeric_limits<double>::quiet_NaN(), false};
  const double scale = std::sqrt(kappa);
  offset_ /= scale;
  const double value = product_.log_integral(offset_, loadings, view(slope_), {hessian_.data(), entries(hessian_)});
  Eigen::Map<Vector>(tilted_mean.data(), classes_) = m + reach * slope_ / scale;
  Eigen::Map<Matrix>(tilted_covariance.data(), classes_, classes_) = v + reach * (hessian_ / kappa) * reach.transpose();
  return {value, true};
}

}  // namespace gaussmith
