#pragma once
// What `predict` and `evaluate` share: a saved model applied to a new table.

#include "gaussmith/table_model.hpp"

#include <string>

namespace gaussmith::app {

struct SavedArguments {
  std::string model;
  std::string data;
  bool drop_missing = false;
};

struct SavedPrediction {
  SavedModel model;
  TablePrediction predicted;
};

/// Loads, reads and predicts; with `observed` the table must have the target.
[[nodiscard]] SavedPrediction predict_saved(const SavedArguments& arguments, bool observed, int threads);

}  // namespace gaussmith::app
