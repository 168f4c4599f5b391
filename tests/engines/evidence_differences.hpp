#pragma once
// Evidence gradients against central differences of whole inferences.

#include "gaussmith/infer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace gaussmith::testing {

/// Central difference of the evidence in one parameter on its scale, inference repeated from scratch.
inline double evidence_difference(const Model& model, const Method& method, const std::string& parameter,
                                  const gaussmith::Run& run) {
  double place = 0.0;
  ParameterScale scale = ParameterScale::logarithm;
  for (const Parameter& p : model.parameters())
    if (p.name == parameter) {
      place = p.on_scale();
      scale = p.scale;
    }
  constexpr double h = 1e-4;
  const auto at = [&](double step) {
    return infer(model.with_parameters({{parameter, value_on(scale, place + step)}}), method, run).log_evidence().value;
  };
  // Fourth order, so that the step can be wide enough for inference's own rounding.
  return (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h);
}

inline void expect_evidence_gradient(const Model& model, const Method& method, const gaussmith::Run& run = {}) {
  const Posterior posterior = infer(model, method, run);
  ASSERT_TRUE(posterior.report().converged()) << posterior.report().brief();
  const auto gradient = posterior.gradient();
  std::size_t learnable = 0;
  for (const Parameter& p : model.parameters()) learnable += p.learnable ? 1 : 0;
  EXPECT_EQ(gradient.size(), learnable);
  for (const auto& [name, value] : gradient) {
    const double difference = evidence_difference(model, method, name, run);
    EXPECT_NEAR(value, difference, 1e-5 * (1.0 + std::abs(difference))) << name;
  }
}

}  // namespace gaussmith::testing
