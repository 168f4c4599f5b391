#pragma once
// Gaussian expectations over many rows at once: x_i ~ N(mean_i, variance_i), variance_i >= 0, any finite mean_i.
// Every function writes E[f], d E[f]/d mean = E[f'] and d E[f]/d variance = E[f'']/2, each to 1e-9 (1 + |E[f]|) or
// better; zero variance gives back f, f' and f''/2. All spans have the same size, and an empty output span is not
// computed. Rows are independent: the result of a row depends neither on its neighbours nor on its place.

#include <span>

namespace gaussmith {

/// Where an expectation writes; an empty span is not wanted.
struct ExpectationSpans {
  std::span<double> value, d_mean, d_variance;
};

/// f(x) = log(1 + e^x), f' = sigmoid(x), f'' = f'(1 - f').
void softplus_expectation(std::span<const double> mean, std::span<const double> variance, const ExpectationSpans& out);

/// f(x) = log Phi(x), f' = phi/Phi, f'' = -f'(x + f').
void log_ndtr_expectation(std::span<const double> mean, std::span<const double> variance, const ExpectationSpans& out);

/// f(x) = log(1 + x^2), f' = 2x/(1 + x^2), f'' = 2(1 - x^2)/(1 + x^2)^2.
void log1p_square_expectation(std::span<const double> mean, std::span<const double> variance,
                              const ExpectationSpans& out);

/// Evaluations of the function (exp and log1p each) that softplus_expectation spends on a row with variance <= 1. Wider
/// rows cost less: they sum 103 tabulated nodes whose Gaussian weights come from a recurrence, without exp or log1p.
extern const int softplus_expectation_nodes;

}  // namespace gaussmith
