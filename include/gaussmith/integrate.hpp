#pragma once
// Integration over the parameters of a model: fits at points around the learned ones, averaged with their posterior
// weights. docs/integration.md has the designs and their accuracy.

#include "gaussmith/learn.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// How the points are laid around the mode, in the axes of the curvature there.
enum class IntegrationDesign {
  automatic,  ///< A grid for up to four parameters, else a central composite design.
  grid,       ///< Equal steps as far as the posterior of the parameters is not negligible: accurate, costly above four.
  composite   ///< Centre, axes and corners with the weights of a rule of degree five: few points, coarser.
};

struct IntegrateOptions {
  /// Those that learn() was called with: which parameters are free, their bounds and hyperpriors.
  LearnOptions learning = {};
  IntegrationDesign design = IntegrationDesign::automatic;
  double fineness = 1.0;  ///< Divides the step of the grid: 2 takes 2^d times the fits, to see what is left to gain.
  int max_fits = 4000;    ///< The grid stops here with a warning, the most likely points first.
  bool leave_one_out = false;  ///< Also what every row is given the others; costs what Posterior::leave_one_out does.
};

/// One point: its fit and its share.
struct IntegrationPoint {
  WeightedGaussian gaussian;
  double log_density = 0.0;  ///< log evidence plus log hyperpriors, in the parameters on their scales.
  Marginals latent;          ///< Of eta at the model's rows.
};

/// The posterior of one parameter.
struct IntegratedParameter {
  std::string name;
  double mean = 0.0;                ///< On its scale, nearly always the logarithm.
  double sd = 0.0;                  ///< On its scale.
  double lower = 0.0, upper = 0.0;  ///< Values between which it lies with probability 0.95.
  bool identified = true;           ///< False where the evidence does not fall off towards a bound, which then decides.
};

struct IntegrationReport {
  Status status = Status::converged;
  std::string message;  ///< "grid over 2 parameters: 71 fits"
  std::vector<std::string> warnings;
  int fits = 0;            ///< All of them, those that found the axes included.
  int failed = 0;          ///< Fits that did not converge; their points are left out.
  int cut_off = 0;         ///< Fits ended at a limit of iterations before they converged, looks at bounds included.
  int negligible = 0;      ///< Points left out because all of them together have next to no weight.
  double effective = 0.0;  ///< 1 / sum of squared weights.
  /// Every parameter has a hyperprior, so that log_evidence is one. Otherwise it is the log of the integral of the
  /// evidence over the parameters on their scales, which depends on the unit of nothing but has no meaning by itself.
  bool proper = false;
};

/// The average over the parameters.
struct Integrated {
  Model model;                           ///< At the mode.
  std::vector<IntegrationPoint> points;  ///< The heaviest first; weights sum to one.
  double log_evidence = 0.0;             ///< log of the integral of evidence times hyperpriors; see `proper`.
  std::vector<IntegratedParameter> parameters;
  Marginals latent;   ///< Moments of eta at the model's rows, by the law of total variance.
  Marginals weights;  ///< The same of w.
  /// Every row seen from the others, where asked for. A row's own response has weighed the points too, so that without
  /// it point k weighs w_k / p_k(y_n | others): 1 / p(y_n | others) = sum w_k / p_k(y_n | others). NaN for a row that
  /// is no distribution at some point.
  std::optional<LeaveOneOut> left_out = {};
  IntegrationReport report;

  [[nodiscard]] Prediction predict(const PredictionPoints& points, int threads = 1) const;
  /// At the model's own rows; for models with one block of sites.
  [[nodiscard]] Prediction predict_rows() const;
  /// What saved models hold.
  [[nodiscard]] std::vector<WeightedGaussian> mixture() const;
};

/// About how many fits integrate() will make around what learn() finds for this model: known before any work. A grid
/// over three parameters or more takes a quarter of them where their posterior turns out to be near normal. Throws
/// InvalidOption for options that do not suit.
[[nodiscard]] int integration_fits(const Model& model, const IntegrateOptions& options = {});

/// Integrates around the learned parameters with the method that learned them. Throws InvalidOption for options that
/// do not suit; numerical trouble is in the report.
[[nodiscard]] Integrated integrate(const Learned& learned, const IntegrateOptions& options = {}, const Run& run = {});

}  // namespace gaussmith
