#pragma once
// How well predictions agree with responses.

#include "gaussmith/predict.hpp"

#include <optional>
#include <vector>

namespace gaussmith {

/// One bin of a reliability table: predicted probabilities in [lower, upper).
struct ReliabilityBin {
  double lower = 0.0;
  double upper = 0.0;
  Index count = 0;
  double mean_probability = 0.0;
  double frequency = 0.0;  ///< Of y = 1; of several classes, of the likeliest one.
};

/// Share of responses inside the central interval that should hold `level` of them.
struct Coverage {
  double level = 0.0;
  double share = 0.0;
};

/// Scores of predictions; what does not exist for the kind of response is empty.
struct Scores {
  Index rows = 0;
  Index censored = 0;  ///< Rows that count only for the log density.
  double mean_log_density = 0.0;
  Vector log_density = {};              ///< Of every row.
  std::optional<double> mean_variance;  ///< Predictive, where it exists.

  // Classes: two of them by the probability of y = 1, several by that of the likeliest class.
  std::optional<Index> errors;              ///< At the threshold 1/2, or where another class is the likeliest.
  std::optional<double> brier;              ///< Of several classes the sum over them.
  std::optional<double> calibration_error;  ///< Mean |frequency - probability| over bins, weighted by their rows.
  std::vector<ReliabilityBin> reliability;

  // Several classes.
  Matrix confusion = {};  ///< Rows by true class (row) and likeliest class (column); empty for other responses.
  std::optional<double> mean_log_density_lower = {};  ///< See add_class_bounds().
  std::optional<double> mean_log_probability_at_mean = {};

  // Other responses.
  std::optional<double> rmse;
  std::optional<double> mae;
  bool median_used = false;  ///< The mean does not exist (Cauchy); errors are those of the median.
  std::vector<Coverage> coverage;

  /// Share of wrong classes, where there are classes.
  [[nodiscard]] std::optional<double> error_rate() const;
};

/// A sum over rows, such as a total log predictive density, and how far it would vary with the rows drawn.
struct RowTotal {
  double total = 0.0;
  std::optional<double> standard_error;  ///< sqrt(N) times the standard deviation of the rows; nothing below two rows.
  Index rows = 0;                        ///< N, the rows that have a finite value.
};

/// The sum of the finite values, one a row.
[[nodiscard]] RowTotal row_total(const Vector& values);

/// Scores of predictions for these responses, one a row; the likelihood of the prediction says what they are and which
/// of them are censored. Errors use the predictive mean; coverage uses P(Y <= y), for discrete responses in its mid
/// form P(Y <= y) - P(Y = y) / 2. `goal` says how probabilities of several classes are found. Throws InvalidModel where
/// the prediction has latent quantities only.
[[nodiscard]] Scores score(const Prediction& prediction, const Vector& responses, const ProbabilityGoal& goal = {});

/// Adds what has a closed form under multinomial-logit: the means of the lower bounds on log probabilities and of the
/// log probabilities at the latent means, of the true classes.
void add_class_bounds(const Prediction& prediction, const Vector& responses, Scores& scores);

}  // namespace gaussmith
