#pragma once
// What options of learning call parameters, and where learning starts.

#include "gaussmith/learn.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// The full names that a name stands for: itself, a short form (likelihood.scale), or all entries of a vector
/// (kernel.lengthscale for kernel.lengthscale[0], kernel.lengthscale[1], ...). Throws InvalidOption with the names
/// there are.
[[nodiscard]] std::vector<std::string> full_names(const Model& model, const std::string& name);

/// The model with parameters outside `options.bounds` moved to the nearest bound, but for those that `given` names,
/// which somebody has set: learn() refuses these. Names in `given` that are no parameters of the model are ignored.
[[nodiscard]] Model started_inside(const Model& model, const LearnOptions& options,
                                   const std::vector<std::string>& given);

}  // namespace gaussmith
