#pragma once

#include "command.hpp"
#include "saved_prediction.hpp"

#include <string>
#include <vector>

namespace gaussmith::app {

struct EvaluateArguments {
  std::vector<std::string> models;
  SavedArguments saved;  ///< Without the model.

  /// The arguments for one of the models.
  [[nodiscard]] SavedArguments with(const std::string& model) const {
    SavedArguments one = saved;
    one.model = model;
    one.compared = models.size() > 1;
    return one;
  }
};

/// The scores of several models on the same rows, and how their total log predictive densities differ.
Outcome evaluate_several(const EvaluateArguments& arguments, const CommonOptions& common);

}  // namespace gaussmith::app
