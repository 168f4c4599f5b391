#pragma once
// Which parameters of a model learning may change, each on its own scale, and where it may go.

#include "gaussmith/learn.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

struct FreeParameter {
  std::string name;
  ParameterScale scale;
  double initial, lower, upper;  ///< Places on the scale.
  std::optional<LogNormal> hyperprior;
  bool bounded = false;  ///< The caller gave its bounds.

  /// How far a place is from the hyperprior's median, in its standard deviations; there must be one.
  [[nodiscard]] double z_of(double place) const;
  [[nodiscard]] bool at_lower(double value) const;
  [[nodiscard]] bool at_upper(double value) const;
};

/// Whether a number is a value that a parameter on this scale may have.
[[nodiscard]] bool is_inside(ParameterScale scale, double value);

/// All learnable parameters that are not held fixed. Throws InvalidOption for unknown names and empty ranges.
[[nodiscard]] std::vector<FreeParameter> free_parameters(const Model& model, const LearnOptions& options);

/// One member of all of them as a vector.
[[nodiscard]] Vector collect(const std::vector<FreeParameter>& free, double FreeParameter::*member);

/// The gradient without entries that point out of the box.
[[nodiscard]] Vector projected_gradient(const Vector& gradient, const Vector& point,
                                        const std::vector<FreeParameter>& free);

}  // namespace gaussmith
