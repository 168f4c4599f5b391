#pragma once
// Where the variances of vb come from, as its option says.

#include "gaussian/core.hpp"

#include <string>

namespace gaussmith {

enum class VbVariances { automatic, exact, selected, estimated };

struct VbVarianceChoice {
  VbVariances kind = VbVariances::automatic;
  VarianceMethod method = ExactVariances{};  ///< Of estimates, also where `automatic` turns to them.
};

/// What stands for variances where there are many rows and weights.
[[nodiscard]] VarianceMethod default_estimate(bool has_entries);

/// auto | exact | selected | lanczos:K | probing:K | sampling:K for a design with or without entries. Throws
/// InvalidOption.
[[nodiscard]] VbVarianceChoice parse_vb_variances(const std::string& text, bool has_entries);

}  // namespace gaussmith
