#pragma once
// What `fit` tells people.

#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/integrate.hpp"
#include "gaussmith/learn.hpp"
#include "gaussmith/scores.hpp"
#include "gaussmith/table_model.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith::app {

struct FitSummary {
  std::string data_line;
  std::string model_line;
  std::vector<std::string> feature_names;  ///< Of a table's coded features, else empty.
  std::vector<Coefficient> coefficients;
  std::vector<GroupEffects> groups;
  std::vector<FieldEffects> fields;
  double level = 0.95;  ///< Of the coefficients' intervals.
  const Posterior* posterior = nullptr;
  bool one_likelihood = false;  ///< The rows of the data have one: sites[0], whatever sites the prior has.
  const LearnReport* learning = nullptr;
  const Integrated* integration = nullptr;
  std::optional<Scores> training;
  std::optional<Vector> leave_one_out;  ///< Log predictive density of each row given the others, where asked for.
  const TrustCard* card = nullptr;
  const MarginalContent* marginals = nullptr;
  Index data_rows = 0;  ///< Before those of the prior; 0: all.
  double seconds = 0.0;
  std::string saved;                  ///< Where the model was saved; empty: nowhere.
  std::string new_table = "new.csv";  ///< A table the model could predict, for the hint at the end.
};

/// "train.csv: 250 rows, 7 features (npreg, glu, ...), standardized; target type (132 x No, 68 x Yes)".
[[nodiscard]] std::string data_in_words(const std::string& data, const TableModelOptions& options,
                                        const TableModel& built);
/// "; 120 events, 30 censored"; empty where no site knows censoring.
[[nodiscard]] std::string events_in_words(const Model& model);
/// ", 3 latent functions related by full"; empty for one.
[[nodiscard]] std::string latents_in_words(const Latents& latents);
/// "poisson likelihood, Gaussian process with kernel se, mean 0.3".
[[nodiscard]] std::string model_in_words(const TableModelOptions& options, const TableModel& built);

[[nodiscard]] std::string summarise(const FitSummary& summary);

/// "error rate 8.0 % (20 of 250)" or "RMSE 0.31, MAE 0.25", with the mean log predictive density. Errors of times are
/// those of the rows that are not censored, and the line says so.
[[nodiscard]] std::string score_line(const Scores& scores);

/// "Brier score 0.12, expected calibration error 0.03", or the shares of rows in central intervals; empty where there
/// is nothing to say.
[[nodiscard]] std::string calibration_line(const Scores& scores);

}  // namespace gaussmith::app
