#pragma once
// Seeded problems on which expectation propagation is known to fail: outliers and conflicting neighbours under heavy
// tails, nearly separable classes under wide priors, sparsity priors with fewer rows than weights, duplicate inputs,
// huge counts.

#include "gaussmith/model.hpp"

#include <string>

namespace gaussmith::testing {

struct HardProblem {
  std::string name;  ///< What makes it hard.
  Model model;
};

/// The kind is seed modulo the number of kinds; everything else is drawn from the seed.
HardProblem hard_problem(std::uint64_t seed);

}  // namespace gaussmith::testing
