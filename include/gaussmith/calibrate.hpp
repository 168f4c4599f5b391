#pragma once
// Simulation-based calibration (docs/compare.md): weights are drawn from the prior, responses from the model, and where
// inference is right, the true value is equally likely to have any rank among draws of its posterior.

#include "gaussmith/infer.hpp"

#include <string>
#include <vector>

namespace gaussmith {

struct CalibrationOptions {
  int simulations = 300;
  int draws = 99;                    ///< Of every posterior; ranks run from 0 to this.
  std::vector<Index> weights = {0};  ///< Weights that are ranked.
};

/// The ranks of one quantity.
struct CalibratedQuantity {
  std::string name;        ///< "weight 0", "log_likelihood".
  std::vector<int> ranks;  ///< One a simulation that came to an end.
  double p_value = 1.0;    ///< Of a chi-squared test that ranks are uniform.
};

struct Calibration {
  std::vector<CalibratedQuantity> quantities;  ///< The weights, then the log likelihood.
  int draws = 0;
  int failed = 0;        ///< Simulations whose fit failed or did not converge; failed ones have no rank.
  bool stopped = false;  ///< The caller wanted no more.
};

/// Runs a method on simulated responses of a model whose own responses are not looked at. Needs a Gaussian prior that
/// is a distribution. Single weights are blind to much: a fit may be wrong in all of them together, which the rank of
/// the log likelihood shows. Any number of threads gives the same ranks. Throws InvalidModel, InvalidOption.
[[nodiscard]] Calibration calibrate(const Model& model, const Method& method, const CalibrationOptions& options = {},
                                    const Run& run = {});

/// The p-value of a chi-squared test that ranks 0, ..., draws are equally likely, in bins that expect at least ten.
[[nodiscard]] double uniformity(const std::vector<int>& ranks, int draws);

}  // namespace gaussmith
