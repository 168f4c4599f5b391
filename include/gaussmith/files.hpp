#pragma once
// Files that programs exchange: problems in, results out, and saved models. docs/formats.md states every field.

#include "gaussmith/inducing.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/integrate.hpp"
#include "gaussmith/learn.hpp"
#include "gaussmith/model.hpp"
#include "gaussmith/network.hpp"
#include "gaussmith/predict.hpp"
#include "gaussmith/scores.hpp"
#include "gaussmith/tables.hpp"
#include "gaussmith/trust.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

// --- Problems: gaussmith-problem/1 ---

/// What a problem asks to predict.
struct PredictionRequest {
  PredictionPoints points;
  std::optional<Vector> responses;  ///< Responses whose log predictive densities are asked for.
  /// Several blocks of sites and none chosen: only latent quantities are meant.
  bool latent_only = false;
};

struct Problem {
  Model model;
  std::optional<NetworkModel> network = {};  ///< Instead of `model`: a network or a sparse linear model.
  std::optional<PredictionRequest> prediction;
  /// Inducing sites that are still to be chosen; the model itself has none then.
  std::optional<InducingSelection> selection = {};
};

/// Reads a problem from JSON text; `name` stands for the file in messages. Throws InvalidFile naming the path to the
/// offending value, e.g. "problem.json: sites[1].y[3]: expected a number, found null".
[[nodiscard]] Problem parse_problem(std::string_view text, std::string_view name);
[[nodiscard]] Problem read_problem(const std::filesystem::path& path);

// --- Results: gaussmith-result/1 ---

/// A coefficient of a linear model or a fixed effect, on the original scale of its column.
struct Coefficient {
  std::string name;  ///< "(intercept)", "age", "sex=male".
  double mean = 0.0;
  double sd = 0.0;
  double lower = 0.0, upper = 0.0;   ///< The central interval.
  std::optional<double> ratio = {};  ///< exp(mean): of odds, rates, hazards or mean times, where it is one.
};

/// The effects of one group.
struct GroupEffects {
  std::string term;   ///< "week|patient"
  std::string group;  ///< "patient"
  std::vector<std::string> levels;
  struct Effect {
    std::string name;       ///< "(intercept)" or the column of the slope.
    double sd = 0.0;        ///< Of the prior.
    Marginals levels = {};  ///< One a level.
  };
  std::vector<Effect> effects = {};
};

/// Corrected marginals and where they are of.
struct MarginalContent {
  MarginalOptions options;
  CorrectedMarginals found;
};

/// The values of one Markov field.
struct FieldEffects {
  std::string term;    ///< "besag(district)"
  std::string column;  ///< "district"
  std::vector<std::string> nodes;
  double precision = 1.0;  ///< Of the prior.
  Marginals values = {};   ///< One a node.
};

struct ResultContent {
  const PredictionRequest* prediction = nullptr;
  const LearnReport* learning = nullptr;
  const Integrated* integration = nullptr;  ///< Its averages stand in for those of the posterior.
  bool leave_one_out = false;               ///< Add leave-one-out predictions, averaged where the integration has them.
  std::optional<double> seconds = {};       ///< Whole run; the report's own by default.
  std::vector<std::string> warnings = {};   ///< Besides those of the report.
  std::vector<std::string> notes = {};      ///< What was done to the data: codings, defaults.
  std::vector<Coefficient> coefficients = {};
  std::vector<GroupEffects> groups = {};
  std::vector<FieldEffects> fields = {};
  const Scores* training = nullptr;  ///< Of the rows of the fit.
  /// How many rows are data: `latent` and leave-one-out are theirs, and sites[0] is the likelihood. 0: all of them.
  Index data_rows = 0;
  const ChosenInducing* inducing = nullptr;  ///< Inducing variables that were chosen.
  const TrustCard* trust = nullptr;          ///< Add the card.
  /// The log evidence as it truly is, where it is known better than by the card.
  std::optional<double> true_log_evidence = {};
  const MarginalContent* marginals = nullptr;
  const Vector* probability_of_one = nullptr;  ///< In place of the method's own P(y = 1) at the points predicted.
  // Of several latents a row.
  bool covariances = false;               ///< Add those of the latents of a row with one another.
  std::vector<std::string> classes = {};  ///< Their names; empty: 0 to C - 1.
  ProbabilityGoal probability = {};       ///< Of class probabilities.
};

/// The result as JSON text with a final newline: full double precision, null for what does not exist.
[[nodiscard]] std::string result_json(const Posterior& posterior, const ResultContent& content = {});
/// That of a network; of the content predictions, leave-one-out, coefficients, scores, seconds, warnings and notes.
[[nodiscard]] std::string result_json(const NetworkPosterior& posterior, const ResultContent& content = {});

// --- Saved models: gaussmith-model/1 ---

/// What a saved model keeps of its card.
struct SavedTrust {
  Verdict verdict = Verdict::caution;
  std::vector<std::string> reasons = {};
  std::string advice = {};
};

/// Everything that prediction from a new table needs, without the training table.
struct SavedModel {
  FittedGaussian fitted;
  std::optional<FittedNetwork> network = {};  ///< Instead of `fitted`.
  /// The fits of an integration over the parameters; predictions are averaged over them. Empty: `fitted` predicts.
  std::vector<WeightedGaussian> integration = {};
  std::string library_version = {};  ///< Of the library that wrote it.
  std::string method;
  Evidence log_evidence = {};
  bool converged = true;
  std::optional<SavedTrust> trust = {};  ///< Where the fit was diagnosed.

  TableCoding coding;
};

/// "gaussmith-model/1 CHECKSUM BYTES\n" and a JSON payload of that many bytes. Throws InvalidModel for what could not
/// be read again: sites or a kernel that are not of the catalogues, a coding that does not suit the prior, numbers not
/// finite.
[[nodiscard]] std::string format_saved_model(const SavedModel& model);
/// Throws InvalidFile for another format or version, truncation, a wrong checksum, or values that do not fit together.
[[nodiscard]] SavedModel parse_saved_model(std::string_view text, std::string_view name);

/// The file gets its name when it is complete, and a process that is killed before leaves none. Throws MachineError.
void write_file(const std::filesystem::path& path, std::string_view content);
void save_model(const std::filesystem::path& path, const SavedModel& model);
[[nodiscard]] SavedModel load_model(const std::filesystem::path& path);

}  // namespace gaussmith
