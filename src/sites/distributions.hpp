#pragma once
// Distribution functions of the response given eta, each in [0, 1] for any finite argument: to about 1e-13 for counts
// and shapes up to 1e6, and by asymptotic forms good to 1e-6 (mostly far better) beyond.

namespace gaussmith {

/// P(Y <= k) for Y ~ Poisson(mean), whole k >= 0.
[[nodiscard]] double poisson_cdf(double k, double mean);

/// P(Y <= k) for Y ~ Binomial(trials, sigmoid(eta)), whole 0 <= k <= trials.
[[nodiscard]] double binomial_cdf(double k, double trials, double eta);

/// P(Y <= k) for the negative binomial with mean shape e^eta: success probability sigmoid(-eta), whole k >= 0.
[[nodiscard]] double negative_binomial_cdf(double k, double shape, double eta);

/// P(T <= x) for Student's t with nu degrees of freedom.
[[nodiscard]] double student_t_cdf(double x, double nu);

/// P(G <= x) for the gamma distribution with scale one.
[[nodiscard]] double gamma_cdf(double x, double shape);

}  // namespace gaussmith
