#pragma once
// The protocol of E. Challis and D. Barber, Gaussian Kullback-Leibler approximate inference, JMLR 14 (2013), section
// 6.1.3: the covariance is learned by the evidence of the method, the scale of the noise is chosen on validation rows.

#include "robust_data.hpp"

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace reproduce {

struct Protocol {
  std::uint64_t seed = 1;  ///< Of the data and of random restarts.
  int restarts = 0;
  double start = 0.0;  ///< First length-scale, in standard deviations of the input; 0 takes √(number of inputs).
  /// Candidates for the scale of the noise, in standard deviations of the training responses.
  std::vector<double> scales;
  int threads = 1;
};

enum class Noise { gaussian, student_t, laplace };

constexpr double degrees_of_freedom = 3.0;

/// A length-scale for every input plus white noise in the latent function. `scale` is the standard deviation of
/// Gaussian noise, σ of Student-t noise with three degrees of freedom, τ of Laplace noise exp(-|y - η|/τ)/(2τ).
[[nodiscard]] gs::Model robust_model(Noise noise, const Part& train, double scale, double start);

/// Gaussian noise whose variance is learned with the covariance; without white noise, which would only double it.
[[nodiscard]] gs::Model gaussian_by_evidence(const Part& train, double start);

/// How inference and learning fared over all fits of a method.
struct Conduct {
  int fits = 0;
  int evaluations = 0;
  int failed_evaluations = 0;
  int learning_not_converged = 0;
  int cold_not_converged = 0;
  int escalated = 0;       ///< Cold starts that needed more than parallel sweeps.
  int lowered_power = 0;   ///< Cold starts that ended with a lower power.
  int another_answer = 0;  ///< Cold starts whose log evidence differs by more than 1e-4 from that of learning.
  int negative = 0;        ///< Fits with negative site precisions.
  std::vector<int> sweeps;
  double seconds = 0.0;
  std::map<std::string, int> last_notes;  ///< The last switch of a cold start that was more than parallel.
  std::map<std::string, int> troubles;    ///< What learning or a cold start said that did not converge.
};

enum class Learn { covariance, everything };

/// Learns by evidence, then infers once more without a warm start to see whether the answer is the same.
[[nodiscard]] gs::Learned learn(const gs::Model& model, const gs::Method& method, Learn what, const Protocol& protocol,
                                Conduct& conduct);

/// A fit at one scale of the noise.
struct Candidate {
  gs::Posterior posterior;
  double scale = 0.0;
  double validation = 0.0;  ///< Mean log predictive density of the validation part.
};

/// One fit at each of the protocol's scales, all from the same start.
[[nodiscard]] std::vector<Candidate> fit_scales(const Split& split, Noise noise, const gs::Method& method,
                                                const Protocol& protocol, Conduct& conduct);

/// The candidate that predicts the validation part best; of equal ones the first.
[[nodiscard]] const Candidate& best(const std::vector<Candidate>& candidates);

/// How well test values are predicted.
struct Score {
  double log_density = NAN;    ///< Mean log predictive density.
  double squared_error = NAN;  ///< Mean.
};

[[nodiscard]] Score predictive_score(const gs::Prediction& prediction, const gs::Vector& y);

}  // namespace reproduce
