#include "sites/bernoulli_probit.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& bernoulli_probit_likelihood() { return entry_of<likelihoods::BernoulliProbit>(); }

}  // namespace gaussmith
