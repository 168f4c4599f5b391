#pragma once
// What `predict` and `evaluate` share: a saved model applied to a new table.

#include "assignments.hpp"
#include "command.hpp"
#include "gaussmith/table_model.hpp"

#include <CLI/App.hpp>

#include <string>
#include <vector>

namespace gaussmith::app {

struct SavedArguments {
  std::string model;
  std::string data;
  bool drop_missing = false;
  bool population = false;
  bool compared = false;  ///< One of several models, of which another may have groups.
  std::string new_levels = "population";
  std::vector<std::string> keep = {};  ///< Columns to copy, besides those of the model.
  std::vector<std::string> set = {};   ///< NAME=VALUE: predict.probability, predict.tolerance.
};

/// --population, --new-levels and --set.
void add_saved_options(CLI::App& app, SavedArguments& arguments);

struct SavedPrediction {
  SavedModel model;
  TablePrediction predicted;
  ProbabilityGoal goal = {};  ///< Of class probabilities.
};

/// Loads, reads and predicts; with `observed` the table must have the target.
[[nodiscard]] SavedPrediction predict_saved(const SavedArguments& arguments, bool observed,
                                            const CommonOptions& common);

}  // namespace gaussmith::app
