#pragma once
// Prior sites p(w | phi) of input weights, Var(w | phi) = e^phi, by one-dimensional integrals over phi.

#include "gaussmith/network.hpp"

namespace gaussmith {

/// N(mean, variance) of one number.
struct Normal {
  double mean = 0.0, variance = 1.0;
};

/// log of the normaliser and moments of N(w | weight) N(phi | scale) p(w | phi)^power.
struct TiltedWeight {
  double log_normaliser = 0.0;
  Normal weight, scale;
};

/// Normal or Laplace p(w | phi); a scale of variance 0 is known. Given phi all is in closed form; phi by the
/// trapezoidal rule, whose error falls with e^(-pi^2 / step) (the integrand is analytic for |Im phi| < pi/2): below
/// 1e-9.
[[nodiscard]] TiltedWeight tilted_weight(bool laplace, const Normal& weight, const Normal& scale, double power);

/// The same for the prior of an output weight, 2 t(v | 0, scale^2, degrees) on v >= 0: log normaliser and moments.
struct TiltedOutputWeight {
  double log_normaliser = 0.0;
  Normal weight;
};
[[nodiscard]] TiltedOutputWeight tilted_output_weight(const Normal& weight, double scale, double degrees, double power);

}  // namespace gaussmith
