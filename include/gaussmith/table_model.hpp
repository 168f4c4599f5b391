#pragma once
// From a table to a model, and from a saved model and a new table to predictions.
//
// read_table, build_table_model, infer or learn, saved_model, save_model; later load_model, read_table, predict_table.
// Networks and sparse linear models go the same way by build_table_network.

#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/integrate.hpp"
#include "gaussmith/learn.hpp"
#include "gaussmith/model.hpp"
#include "gaussmith/network.hpp"
#include "gaussmith/predict.hpp"
#include "gaussmith/tables.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

// --- Models from tables ---

/// Finite numbers separated by commas; `name` stands for the option in messages. Throws InvalidOption.
[[nodiscard]] std::vector<double> parse_numbers(std::string_view text, std::string_view name);

/// A value for one parameter of a model: one number, or one a feature where the kernel takes that.
struct ParameterSetting {
  std::string name;                 ///< kernel.lengthscale, kernel.terms[0].signal_sd, likelihood.scale, prior.variance
  std::vector<double> values = {};  ///< Empty: those of `text`.
  std::string text = {};            ///< The same as parse_numbers() reads it, looked at once the name is known.
};

/// The prior of one coefficient, on the scale of its column; the intercept, "(intercept)", is taken at the means of the
/// columns.
struct CoefficientPrior {
  std::string name;  ///< "age", "sex=male", "sex=male:age".
  double mean = 0.0;
  double sd = 1.0;
};

/// What to make of a table. Every field but the likelihood (and, for a table with named columns, the target) may stay.
struct TableModelOptions {
  std::string target = {};                 ///< Column of the responses; empty for LIBSVM text, whose labels they are.
  std::vector<std::string> features = {};  ///< Columns of the features; empty: all others.
  std::string likelihood = {};             ///< Of likelihood_catalogue().
  std::vector<std::string> classes = {};   ///< Of labels: all of them, in this order; empty: those of the table.
  /// Of labels: how the functions of the classes are related, the name of a LatentModel but `given`; empty: identity.
  std::string latent_covariance = {};
  /// "gp": a Gaussian process; "isotropic" or "linear": a linear model, its coefficients with priors on the scale of
  /// the data, or w ~ N(0, prior.variance I) where that is set; "laplace": the same with Laplace densities of these
  /// variances, for sparse coefficients; "network": two layers with every scale integrated, "sparse-linear": the same
  /// without hidden units (both for build_table_network). Empty: gp, but linear for groups without a kernel.
  std::string prior = {};
  std::optional<Index> units = {};  ///< Hidden units of a network; empty: 10.
  /// Of a network or a sparse linear model: a WeightPrior by its name. Empty: ard, laplace.
  std::string weight_prior = {};
  /// Of the process, as parse_kernel() reads it; empty: se. Features that no kernel names are fixed effects where every
  /// kernel names its own.
  std::string kernel = {};
  std::vector<std::string> random = {};  ///< Groups with effects of their own: "1|patient", "week|patient".
  /// Markov fields beside them: "besag(district)", "rw1(year)", "rw2(day, cyclic)", "rw2(year, 1990, 2030)". They are
  /// scaled(), so that precision 1 means a standard deviation of about 1.
  std::vector<std::string> field = {};
  /// Who is whose neighbour, by the column of a besag field; "" for that of the only one.
  std::map<std::string, Graph, std::less<>> graphs = {};
  /// All of target, features, kernel, random, field and intercept in lme4's notation:
  /// "y ~ age + (1|patient) + gp(time)", "cases ~ smoking + besag(district) + (1|district)".
  std::string formula = {};
  std::vector<CoefficientPrior> coefficient_priors = {};  ///< Instead of those from the scale of the data.
  std::optional<double> mean = 0.0;  ///< Of the process; empty: the level of the data, or 0 beside an intercept.
  bool intercept = true;             ///< The linear model has a leading column of ones.
  bool standardize = false;          ///< Numeric features to mean 0 and sd 1; sparse ones only divided by the sd.
  bool drop_missing = false;         ///< Leave rows with missing cells out instead of refusing them.
  /// Columns with row-wise arguments of the likelihood, e.g. {"exposure", "expected"}; column_arguments() has them all.
  std::map<std::string, std::string, std::less<>> argument_columns = {};
  /// Column with 1 for events and 0 for censored rows, the complement of a censoring argument; empty: none.
  std::string event_column = {};
  std::string offset_column = {};                 ///< Column added to eta; empty: none.
  std::string weights_column = {};                ///< Column with the weights of rows; empty: all one. No networks.
  std::vector<std::string> keep = {};             ///< Columns that predictions copy; no features unless listed there.
  std::vector<ParameterSetting> parameters = {};  ///< In this order, later ones replace earlier ones.
  /// Parameters that nothing sets start from the scale of the data, for learn(), instead of the documented defaults.
  bool learning = false;
  Spelling spelling = Spelling::fields;  ///< How messages call these options.

  /// Whether the model has a process, formulas aside.
  [[nodiscard]] bool is_process() const;
  /// Whether the prior is a network or a sparse linear model.
  [[nodiscard]] bool is_network() const;
  /// Throws InvalidOption for names that do not exist and options that exclude one another; needs no table.
  void check() const;
};

/// A model made from a table, and what is needed to code new tables in the same way.
struct TableModel {
  Model model;
  TableCoding coding;
  std::vector<std::string> notes;     ///< What was done to the data, and which parameters took their defaults.
  std::vector<std::string> warnings;  ///< Constant columns, columns that look like identifiers.
  /// Numbers of the prior's sites that are data: for LearnOptions::fixed. A laplace prior stands as sites below the
  /// rows of the data, which are the first coding.training_rows, and sites.front() is the likelihood.
  std::vector<std::string> kept_parameters = {};
};

/// Chooses and checks rows, codes features and target, makes prior, kernel and sites. Throws InvalidOption and
/// InvalidFile. Cost O(cells log levels); the table is used up.
[[nodiscard]] TableModel build_table_model(Table table, const TableModelOptions& options);

/// A network or a sparse linear model made from a table.
struct TableNetwork {
  NetworkModel model;
  TableCoding coding;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// The same for `network` and `sparse-linear`. Parameters are network.linear, .scale_prior, .noise_prior, .bias_sd,
/// .intercept_sd, .output_scale, .output_degrees and network.group.NAME, whose text names columns. Under ard and
/// laplace-ard the 0/1 columns of a column of texts share a scale unless a group says otherwise.
[[nodiscard]] TableNetwork build_table_network(Table table, const TableModelOptions& options);

/// The coding of a model that came from no table: columns x1, x2, ... in the order of its inputs or of its design, the
/// target y, row-wise arguments and the offset under their own names. Throws InvalidOption where a table cannot say
/// enough: several blocks of sites, a process under a design, a noise scale that varies by row.
[[nodiscard]] TableCoding plain_coding(const Model& model, Spelling spelling = Spelling::fields);
[[nodiscard]] TableCoding plain_coding(const NetworkModel& model, Spelling spelling = Spelling::fields);

/// What save_model() keeps of a fit.
[[nodiscard]] SavedModel saved_model(const Posterior& posterior, TableCoding coding);
[[nodiscard]] SavedModel saved_model(const Learned& learned, TableCoding coding);
[[nodiscard]] SavedModel saved_model(const NetworkPosterior& posterior, TableCoding coding);
/// The learned model with the points of the integration around it.
[[nodiscard]] SavedModel saved_model(const Learned& learned, const Integrated& integrated, TableCoding coding);

// --- Coefficients ---

/// The coefficients of a model: the intercept, its value where all columns are 0, then the columns in order. Empty for
/// a model that has none. `level` is the mass of the intervals.
[[nodiscard]] std::vector<Coefficient> coefficients(const Posterior& posterior, const TableCoding& coding,
                                                    double level = 0.95);
/// The same averaged over the parameters.
[[nodiscard]] std::vector<Coefficient> coefficients(const Integrated& integrated, const TableCoding& coding,
                                                    double level = 0.95);
/// Those of a sparse linear model, whose start is one Gaussian; empty for a network with hidden units.
[[nodiscard]] std::vector<Coefficient> coefficients(const NetworkPosterior& posterior, double level = 0.95);

/// The values of every field at its nodes.
[[nodiscard]] std::vector<FieldEffects> field_effects(const Posterior& posterior, const TableCoding& coding);
[[nodiscard]] std::vector<FieldEffects> field_effects(const Integrated& integrated, const TableCoding& coding);

/// The effects of the levels of every group.
[[nodiscard]] std::vector<GroupEffects> group_effects(const Posterior& posterior, const TableCoding& coding);
[[nodiscard]] std::vector<GroupEffects> group_effects(const Integrated& integrated, const TableCoding& coding);

// --- Predictions for tables ---

/// How to read a new table for this coding: text columns stay text, a LIBSVM table has the features of the old one.
/// Columns that are only copied (the coding's, and `keep`) stay as they are written.
[[nodiscard]] TableOptions reading_options(const TableCoding& coding, const std::vector<std::string>& keep = {});

struct TablePredictionOptions {
  /// The table has the target, and rows censored in it count as censored; otherwise new responses are taken as fully
  /// observed.
  bool observed = false;
  bool drop_missing = false;  ///< Leave rows with missing cells out instead of refusing them.
  bool population = false;    ///< Leave the effects of groups and fields out for all rows.
  /// Refuse rows whose group was never seen. Else they have the effect 0 and its variance.
  bool refuse_new_levels = false;
  std::vector<std::string> keep = {};  ///< Columns to copy, besides those that the model remembers.
  int threads = 1;                     ///< As Run::threads.
};

/// Which columns of predictions to make besides the latent and response moments.
struct PredictionColumns {
  bool rows = false;                   ///< A first column `row`: the number of the row in the table, from 1.
  std::vector<double> quantiles = {};  ///< Levels in (0, 1): columns quantile_LEVEL.
  int samples = 0;                     ///< Draws of the response: columns sample_1, sample_2, ...
  std::uint64_t seed = 0;              ///< Of the draws.
  /// Level in (0, 1) of central intervals of what eta stands for (see interval_columns); none without.
  std::optional<double> interval = std::nullopt;
  ProbabilityGoal probability = {};  ///< Of class probabilities.
};

/// Predictions for the rows of a table.
struct TablePrediction {
  Prediction prediction;
  std::vector<Index> rows;  ///< Where the rows predicted stood in the table, from 0.
  TargetCoding target;      ///< Gives labels back.
  Vector responses;         ///< Coded, for an observed table; else empty.
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  std::vector<Column> kept = {};  ///< Copied from the table, in the order asked for.

  /// The columns kept; latent_mean, latent_variance, mean, variance; probability and label for two classes; what
  /// `wanted` adds. Several classes: latent_mean_LABEL, latent_variance_LABEL, probability_LABEL of each, label. NaN
  /// where a moment does not exist. Throws InvalidOption for two columns of one name.
  [[nodiscard]] std::vector<Column> columns(const PredictionColumns& wanted = {}) const;
};

/// The central interval that holds `level` of what eta stands for, from quantiles of eta through the inverse link:
/// probability_lower and _upper (two classes, successes of trials), rate_ (counts by unit of exposure, Weibull times),
/// mean_ (the mean of other positive responses), latent_ (responses around eta). It holds no noise of a new response.
/// Where predictions have no column for it already, its expectation comes first: rate, or the probability of a success.
[[nodiscard]] std::vector<Column> interval_columns(const Prediction& prediction, double level);

/// Codes the table as at training and predicts. Throws InvalidFile for a table that does not suit the coding, before
/// anything is factorised, and InvalidModel for a model whose parts do not suit each other.
[[nodiscard]] TablePrediction predict_table(const SavedModel& model, Table table,
                                            const TablePredictionOptions& options = {});

}  // namespace gaussmith
