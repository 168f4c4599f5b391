#pragma once
// The data and the priors as the engine sees them: standardised inputs with a column of ones, and which weights share a
// log scale.

#include "gaussmith/network.hpp"

namespace gaussmith {

/// Log scales phi by name, and whose they are.
struct ScaleLayout {
  std::vector<std::string> names;
  /// By unit (0 is linear) and input; empty for a linear unit that sees no inputs.
  std::vector<std::vector<Index>> of_unit;
};

struct NetworkProblem {
  NetworkPrior prior;
  Matrix rows;                ///< n x (d + 1): the inputs that vary, standardised, and ones.
  std::vector<Index> inputs;  ///< Which columns of the model they are.
  Vector centre, scale;       ///< Of those.
  Sites sites;                ///< Of the standardised responses without the offset, where they are gaussian.
  bool gaussian = false;
  Vector offset;  ///< Empty: none, or taken off the responses already.
  double response_centre = 0.0, response_scale = 1.0;
  ScaleLayout scales;

  [[nodiscard]] Index input_count() const { return rows.cols() - 1; }
  [[nodiscard]] Index row_count() const { return rows.rows(); }
  [[nodiscard]] bool laplace() const {
    return prior.weights == WeightPrior::laplace || prior.weights == WeightPrior::laplace_ard;
  }
};

/// Of a valid model.
[[nodiscard]] NetworkProblem network_problem(const NetworkModel& model);

}  // namespace gaussmith
