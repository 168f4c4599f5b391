#include "sites/bernoulli_logit.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& bernoulli_logit_likelihood() { return entry_of<likelihoods::BernoulliLogit>(); }

}  // namespace gaussmith
