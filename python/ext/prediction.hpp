#pragma once
#include "arrays.hpp"
#include "gaussmith/predict.hpp"

#include <map>
#include <string>

namespace gaussmith::python {

/// Where to predict, from the arguments of predict().
[[nodiscard]] PredictionPoints to_points(nb::handle inputs, nb::handle design, nb::handle offset, nb::handle variance,
                                         int block, nb::handle arguments);

[[nodiscard]] ProbabilityGoal to_goal(const std::string& rule, double tolerance, std::uint64_t seed, int threads);

}  // namespace gaussmith::python
