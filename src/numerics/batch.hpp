#pragma once
// Elementary functions over whole spans, vectorised for the machine the program runs on (AVX-512, AVX2 or baseline; the
// choice is made by the loader, the build stays portable). out may be the input itself; both have the same size.

#include <span>

namespace gaussmith::batch {

/// e^x, at most 2 ulp where the result is a normal number; 0 below -708.39, +inf above 709.78.
void exp(std::span<const double> x, std::span<double> out);

/// log x for x > 0 (normal numbers), at most 2 ulp; log 0 = -inf, log inf = inf, NaN for x < 0.
void log(std::span<const double> x, std::span<double> out);

/// log(1 + x) for x > -1, at most 3 ulp.
void log1p(std::span<const double> x, std::span<double> out);

/// log(1 + e^x), at most 4 ulp for x > -708.
void softplus(std::span<const double> x, std::span<double> out);

/// 1/(1 + e^-x), at most 4 ulp for x > -708.
void sigmoid(std::span<const double> x, std::span<double> out);

/// Phi(x), absolutely accurate to 1e-16, relatively to 1e-13 in the left tail.
void ndtr(std::span<const double> x, std::span<double> out);

}  // namespace gaussmith::batch
