#pragma once
// A saved model applied to a new table.

#include "gaussmith/files.hpp"
#include "gaussmith/predict.hpp"

#include <string>
#include <vector>

namespace gaussmith::app {

struct SavedArguments {
  std::string model;
  std::string data;
  bool drop_missing = false;
};

struct SavedPrediction {
  SavedModel model;
  Table table;              ///< The rows predicted.
  std::vector<Index> rows;  ///< Where they stood in the file, from 0.
  Prediction prediction;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Loads, reads, codes and predicts. With `observed` the table must have the target, and rows censored in it count as
/// censored; otherwise new responses are taken as fully observed.
[[nodiscard]] SavedPrediction predict_saved(const SavedArguments& arguments, bool observed, int threads);

}  // namespace gaussmith::app
