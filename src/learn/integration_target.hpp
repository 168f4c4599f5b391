#pragma once
// The posterior density of a model's free parameters, on their scales, and the fits that belong to it.

#include "gaussmith/learn.hpp"
#include "learn/evaluation.hpp"
#include "learn/free_parameters.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// Log evidence plus normalised log hyperpriors, with the fit. A density up to the evidence of the whole; flat in a
/// parameter that has no hyperprior.
struct IntegrationFit {
  double log_density;
  Posterior posterior;
};

class IntegrationTarget {
 public:
  /// Keeps to the method that learned. Throws InvalidOption as learn() does for options that do not suit the model.
  IntegrationTarget(const Learned& learned, const LearnOptions& options, const Run& run);

  [[nodiscard]] const std::vector<FreeParameter>& free() const { return free_; }
  [[nodiscard]] const Vector& lower() const { return lower_; }
  [[nodiscard]] const Vector& upper() const { return upper_; }
  [[nodiscard]] const Vector& mode() const { return mode_; }
  /// The learned fit; needs no other.
  [[nodiscard]] IntegrationFit at_mode() const { return {log_density(mode_fit_, mode_), mode_fit_}; }

  /// Empty where the model cannot be fitted or the fit does not converge. Starts from the nearer one of the mode and
  /// the last fit: posteriors are large, so that no others are kept.
  [[nodiscard]] std::optional<IntegrationFit> fit(const Vector& place);
  /// The log density alone, where a failure means nothing.
  [[nodiscard]] std::optional<double> probe(const Vector& place);
  /// The same as a function with its gradient.
  [[nodiscard]] std::optional<Evaluation> evaluate(const Vector& place);
  /// The gradient of the log density in the places.
  [[nodiscard]] Vector gradient(const IntegrationFit& fit, const Vector& place) const;

  [[nodiscard]] std::map<std::string, double, std::less<>> values(const Vector& place) const;
  [[nodiscard]] double value(Index parameter, double place) const;

  /// Whether all free parameters have hyperpriors.
  [[nodiscard]] bool proper() const;
  [[nodiscard]] int fits() const { return fits_; }
  [[nodiscard]] int failures() const { return failures_; }
  /// Fits that were ended at most_iterations(), probes included.
  [[nodiscard]] int cut_off() const { return cut_off_; }
  [[nodiscard]] int most_iterations() const { return most_iterations_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  [[nodiscard]] double log_density(const Posterior& posterior, const Vector& place) const;
  [[nodiscard]] double hyperprior_z(std::size_t parameter, double place) const;
  std::nullopt_t fail(std::string why);

  Posterior mode_fit_;
  Run run_;
  int most_iterations_;
  std::vector<FreeParameter> free_;
  std::vector<ParameterScale> scales_;
  Vector lower_, upper_, mode_;
  std::optional<Posterior> last_;
  Vector last_place_;
  std::string failure_;
  int fits_ = 0, failures_ = 0, cut_off_ = 0;
};

}  // namespace gaussmith
