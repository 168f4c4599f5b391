#include "sites/probit_classes.hpp"

#include "numerics/other_class.hpp"
#include "numerics/probit_differences.hpp"

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
  const Eigen::Map<const Vector> m(mean.data(), classes_);
  const Eigen::Map<const Matrix> v(covariance.data(), classes_, classes_);
  const ProbitDifferences d(classes_, label, mean, covariance);
  if (NdtrProduct::node_count(d.loadings) > most_nodes) return {std::numeric_limits<double>::quiet_NaN(), false};
  const double value = product_.log_integral(d.offset, d.loadings, view(slope_), {hessian_.data(), entries(hessian_)});
  Eigen::Map<Vector>(tilted_mean.data(), classes_) = m + d.reach * slope_ / d.scale;
  Eigen::Map<Matrix>(tilted_covariance.data(), classes_, classes_) =
      v + d.reach * (hessian_ / (d.scale * d.scale)) * d.reach.transpose();
  return {value, true};
}

}  // namespace gaussmith
