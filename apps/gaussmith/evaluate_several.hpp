#pragma once

#include "command.hpp"

#include <string>
#include <vector>

namespace gaussmith::app {

struct EvaluateArguments {
  std::vector<std::string> models;
  std::string data;
  bool drop_missing = false;
};

/// The scores of several models on the same rows, and how their total log predictive densities differ.
Outcome evaluate_several(const EvaluateArguments& arguments, const CommonOptions& common);

}  // namespace gaussmith::app
