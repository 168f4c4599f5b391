#pragma once
// What `fit` tells people of a network or a sparse linear model.

#include "gaussmith/files.hpp"
#include "gaussmith/network.hpp"
#include "gaussmith/scores.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith::app {

struct NetworkFitSummary {
  std::string data_line;
  std::string model_line;
  const NetworkPosterior* posterior = nullptr;
  std::vector<Coefficient> coefficients = {};
  double level = 0.95;  ///< Of their intervals.
  std::optional<Scores> training = {};
  bool leave_one_out = false;
  double seconds = 0.0;
  std::string saved = {};             ///< Where the model was saved; empty: nowhere.
  std::string new_table = "new.csv";  ///< A table that the model could predict, for the hint at the end.
};

/// "gaussian likelihood, network of 10 hidden units beside a linear one, weights ard".
[[nodiscard]] std::string network_in_words(const NetworkModel& model);

[[nodiscard]] std::string summarise(const NetworkFitSummary& summary);

}  // namespace gaussmith::app
