#pragma once
// A catalogued likelihood: what users read about it, and how responses and arguments become a block of sites.

#include "gaussmith/sites.hpp"

namespace gaussmith {

/// One entry of the catalogue; lives as long as the program.
struct LikelihoodEntry {
  LikelihoodInfo info;
  Sites (*make)(const Vector& responses, const SiteArguments& arguments);
};

const LikelihoodEntry& gaussian_likelihood();
const LikelihoodEntry& bernoulli_logit_likelihood();
const LikelihoodEntry& bernoulli_probit_likelihood();
const LikelihoodEntry& binomial_logit_likelihood();
const LikelihoodEntry& poisson_likelihood();
const LikelihoodEntry& negative_binomial_likelihood();
const LikelihoodEntry& student_t_likelihood();
const LikelihoodEntry& laplace_likelihood();
const LikelihoodEntry& cauchy_likelihood();
const LikelihoodEntry& weibull_likelihood();
const LikelihoodEntry& exponential_likelihood();
const LikelihoodEntry& gamma_likelihood();
const LikelihoodEntry& multinomial_logit_likelihood();
const LikelihoodEntry& multinomial_probit_likelihood();

}  // namespace gaussmith
