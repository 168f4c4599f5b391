#pragma once
// One Gaussian factor in and out of one marginal: what every site of a network shares.

#include "network/scale_prior.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

/// A cavity keeps at least this share of the precision of its marginal.
inline constexpr double least_share = 1e-8;

/// The marginal without a factor exp(shift x - precision x^2 / 2); false, and the marginal itself, where that is no
/// distribution.
inline bool without(const Normal& marginal, double precision, double shift, Normal& cavity) {
  const double left = 1.0 - precision * marginal.variance;
  const bool proper = left > least_share;
  cavity = proper ? Normal{(marginal.mean - marginal.variance * shift) / left, marginal.variance / left} : marginal;
  return proper;
}

/// Psi(cavity) - Psi(marginal), Psi = log(v) / 2 + m^2 / (2 v): minus the log of the cavity's expectation of the factor
/// that was taken out.
inline double psi_difference(const Normal& cavity, const Normal& marginal) {
  return 0.5 * std::log(cavity.variance / marginal.variance) +
         0.5 * (cavity.mean * cavity.mean / cavity.variance - marginal.mean * marginal.mean / marginal.variance);
}

/// What takes a site to where the marginal has the tilted moments, for sites that count `power` times; and how far they
/// are apart.
struct FactorChange {
  double precision, shift, mismatch;

  FactorChange(const Normal& marginal, const Normal& tilted, double power)
      : precision((1.0 / tilted.variance - 1.0 / marginal.variance) / power),
        shift((tilted.mean / tilted.variance - marginal.mean / marginal.variance) / power),
        mismatch(std::max(std::abs(tilted.mean - marginal.mean) / std::sqrt(marginal.variance),
                          std::abs(tilted.variance / marginal.variance - 1.0)) /
                 power) {}
};

/// N(mean, sd^2) of a log variance times factors.
struct PriorTimesFactors {
  double precision, mean;

  PriorTimesFactors(const LogVariancePrior& prior, double factor_precision, double factor_shift)
      : precision(1.0 / (prior.sd * prior.sd) + factor_precision),
        mean((prior.mean / (prior.sd * prior.sd) + factor_shift) / precision) {}

  /// log of the integral.
  [[nodiscard]] double log_integral(const LogVariancePrior& prior) const {
    return -0.5 * std::log(prior.sd * prior.sd * precision) +
           0.5 * (mean * mean * precision - prior.mean * prior.mean / (prior.sd * prior.sd));
  }
};

}  // namespace gaussmith
