#pragma once
// Several methods on one model, side by side, and the truth beside them where it can be had (docs/compare.md).

#include "gaussmith/infer.hpp"
#include "gaussmith/trust.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// The best reference for a model: exact, by quadrature, or by sampling.
struct Truth {
  std::string method;                   ///< "exact", "quadrature", "is" or "nuts" (its evidence then from ais).
  double log_evidence = 0.0;            ///< NaN where there is none.
  double standard_error = 0.0;          ///< Of it: of sampling, or the error of quadrature.
  Marginals latent, weights;            ///< Means and variances.
  double moment_error = 0.0;            ///< The largest standard error of a mean, in sds, or of a log sd.
  Matrix draws = {};                    ///< Of the latents, a column each; empty where the truth has none.
  std::vector<std::string> notes = {};  ///< What to know about it: chains that disagree, a short tail of weights.
  double seconds = 0.0;
};

/// How long the truth is looked for: never longer than these draws, whatever error they leave.
struct TruthOptions {
  int draws = 40000;          ///< Of importance sampling; chains make a tenth of it each.
  double good_enough = 0.02;  ///< Standard error of the log evidence from which on no other way is tried.
};

/// The truth by the first way that works: closed form, quadrature in few dimensions, importance sampling around a fit,
/// chains with annealed importance sampling. Nothing where the model is too large or none of them says anything. Throws
/// InvalidModel.
[[nodiscard]] std::optional<Truth> find_truth(const Model& model, const TruthOptions& options = {},
                                              const Run& run = {});

/// New rows with their responses, to compare predictions on.
struct HeldOut {
  PredictionPoints points;
  Vector responses;
};

struct CompareOptions {
  std::vector<Method> methods = {};  ///< None: all that take the model, samplers where that costs little.
  bool truth = true;                 ///< Look for the truth and compare with it.
  TruthOptions truth_options = {};
  bool verdicts = true;                  ///< Ask diagnose() about every fit that is no sampler's, without its advice.
  std::optional<HeldOut> held_out = {};  ///< None: leave-one-out predictions.
  Index data_rows = 0;                   ///< Leave-one-out predictions of the first rows alone; 0: of all.
};

/// How far a method is from the truth.
struct MethodError {
  double log_evidence = 0.0;  ///< Its value less the truth's; NaN where either has none.
  double mean = 0.0;          ///< The largest error of a mean of a weight or latent, in true sds.
  double mean_average = 0.0;
  double sd_ratio = 1.0;    ///< The sd over the true one, the furthest from 1 of all.
  double sd_average = 0.0;  ///< The average of |log(sd ratio)|.
  Index worst_latent = 0;   ///< Where one of these is largest among the latents.
};

/// One method's line.
struct ComparedMethod {
  std::string name;
  Posterior posterior;
  std::optional<double> below_best_bound = {};  ///< The best lower bound less the evidence.
  std::optional<MethodError> error = {};
  std::optional<TrustCard> card = {};
  std::optional<double> log_density = {};  ///< Mean log predictive density of rows held out, or left out one by one.
  Vector loo_pit = {};  ///< As TrustCard::loo_pit, of CompareOptions::data_rows, also without a card; or empty.
  double seconds = 0.0;
};

struct Comparison {
  std::vector<ComparedMethod> methods;
  std::optional<Truth> truth;
  std::optional<double> best_bound;     ///< The largest of the lower bounds.
  bool held_out = false;                ///< Whether log_density is that of rows held out.
  std::vector<std::string> notes = {};  ///< Methods that were left out, and why.
};

/// The names of the methods that take a model.
[[nodiscard]] std::vector<std::string> methods_for(const Model& model);

/// Runs the methods one after another. Throws InvalidModel, and InvalidOption for a method that was asked for and does
/// not take the model, before any work.
[[nodiscard]] Comparison compare(const Model& model, const CompareOptions& options = {}, const Run& run = {});

}  // namespace gaussmith
