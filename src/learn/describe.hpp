#pragma once
// What a report of learning says about its end.

#include "learn/curvature.hpp"
#include "learn/free_parameters.hpp"
#include "learn/learning_objective.hpp"

namespace gaussmith {

/// Every parameter of the model with its value at the best point, its standard error where there is a curvature.
void describe_parameters(const Model& model, const LearningObjective& objective, const std::vector<FreeParameter>& free,
                         const std::optional<Curvature>& curvature, LearnReport& report);

/// How well estimated variances tell the maximum, if they are estimates.
void warn_of_estimates(const Posterior& best, const Evaluation& there, double tolerance, LearnReport& report);

/// That the best point is that of a milder method than asked for, if it is.
void warn_of_milder(const LearningObjective& objective, const Method& asked_for, LearnReport& report);

}  // namespace gaussmith
