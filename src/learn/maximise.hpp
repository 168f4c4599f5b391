#pragma once
// Bounded maximisation of a smooth function that may fail at some points (NLopt inside).

#include "gaussmith/report.hpp"
#include "gaussmith/types.hpp"
#include "learn/evaluation.hpp"

#include <functional>
#include <optional>
#include <string>

namespace gaussmith {

/// Where a search ended.
struct Maximum {
  double value;  ///< The best seen; -inf when every evaluation failed.
  Status status;
  std::string message;
};

/// Maximises f inside the box by L-BFGS, then by sequential quadratic programming from the best point when the
/// projected gradient is still above the tolerance. A failed evaluation (empty) makes the line search step back. `stop`
/// ends the search after the current evaluation.
[[nodiscard]] Maximum maximise(const std::function<std::optional<Evaluation>(const Vector&)>& f,
                               const std::function<bool()>& stop, const Vector& start, const Vector& lower,
                               const Vector& upper, int max_evaluations, double tolerance);

}  // namespace gaussmith
