#pragma once
// Posterior modes of measured sparse signals, by methods that share nothing with the library: the point estimate that
// random rows were published with.

#include <gaussmith/gaussmith.hpp>

namespace reproduce {

namespace gs = gaussmith;

/// Rows M (one a measurement), their values, and the variance of the noise.
struct Measured {
  gs::Matrix rows;
  gs::Vector values;
  double variance;
};

/// argmin |y - M w|^2 / (2 variance) + sum |b_n w| / scale_n, by alternating directions with B'B known.
[[nodiscard]] gs::Vector laplace_mode(const Measured& measured, const gs::Design& b, const gs::Matrix& gram,
                                      const gs::Vector& scale);

/// argmin |y - M w|^2 / (2 variance) + (nu + 1)/2 sum log(1 + w_j^2 / (nu scale^2)), by reweighted least squares from
/// w = 0's ridge: a local minimum.
[[nodiscard]] gs::Vector student_mode(const Measured& measured, double nu, double scale);

}  // namespace reproduce
