#include "numerics/class_probabilities.hpp"

#include "numerics/largest_averages.hpp"
#include "numerics/probit_differences.hpp"
#include "numerics/softmax_nodes.hpp"

#include <cassert>
#include <cmath>

namespace gaussmith {

namespace {

constexpr double quadrature_error = 1e-10;

bool softmax_by_quadrature(const LatentDifferences& differences, Span probability) {
  Eigen::Map<Vector> sum(probability.data(), differences.mean.size());
  sum.setZero();
  return visit_softmax_nodes(differences, [&](const Vector& f, double weight) {
    const Vector terms = (f.array() - f.maxCoeff()).exp();
    sum += (weight / terms.sum()) * terms;
  });
}

bool probit_by_quadrature(Index classes, ConstSpan mean, ConstSpan covariance, Span probability) {
  NdtrProduct product(classes - 1);
  for (Index label = 0; label < classes; ++label) {
    const ProbitDifferences d(classes, label, mean, covariance);
    if (NdtrProduct::node_count(d.loadings) > most_quadrature_nodes) return false;
    probability[static_cast<std::size_t>(label)] = std::exp(product.log_integral(d.offset, d.loadings, {}, {}));
  }
  return true;
}

}  // namespace

void class_probabilities(ClassLink link, Index classes, ConstSpan mean, ConstSpan covariance,
                         const ProbabilityGoal& options, Span probability, Span error) {
  const auto c = static_cast<std::size_t>(classes);
  assert(probability.size() == mean.size());
  const bool exactly = options.rule != ProbabilityRule::qmc && classes <= most_classes_by_quadrature;
  const auto by_quadrature = [&](Index row, const LatentDifferences& differences) {
    const auto n = static_cast<std::size_t>(row);
    const Span out = probability.subspan(n * c, c);
    if (!exactly || !(link == ClassLink::logit ? softmax_by_quadrature(differences, out)
                                               : probit_by_quadrature(classes, mean.subspan(n * c, c),
                                                                      covariance.subspan(n * c * c, c * c), out)))
      return false;
    error[n] = quadrature_error;
    return true;
  };
  average_largest(LargestAverage::probabilities, link, classes, mean, covariance, options, by_quadrature, probability,
                  error);
}

}  // namespace gaussmith
