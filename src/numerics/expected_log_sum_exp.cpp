#include "numerics/expected_log_sum_exp.hpp"

#include "numerics/largest_averages.hpp"
#include "numerics/softmax_nodes.hpp"

#include <cmath>

namespace gaussmith {

void expected_log_sum_exp(Index classes, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal, Span value,
                          Span error) {
  constexpr double quadrature_error = 1e-10;
  const bool exactly = goal.rule != ProbabilityRule::qmc && classes <= most_classes_by_quadrature;
  const auto by_quadrature = [&](Index row, const LatentDifferences& differences) {
    double sum = 0.0;
    if (!exactly || !visit_softmax_nodes(differences, [&](const Vector& f, double weight) {
          const double top = f.maxCoeff();
          sum += weight * (top + std::log((f.array() - top).exp().sum()));
        }))
      return false;
    const auto n = static_cast<std::size_t>(row);
    value[n] = differences.level + sum;
    error[n] = quadrature_error * (1.0 + std::abs(value[n]) + std::sqrt(differences.variance(0)));
    return true;
  };
  average_largest(LargestAverage::log_sum_exp, ClassLink::logit, classes, mean, covariance, goal, by_quadrature, value,
                  error);
}

}  // namespace gaussmith
