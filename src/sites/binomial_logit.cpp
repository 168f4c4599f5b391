#include "sites/binomial_logit.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& binomial_logit_likelihood() { return entry_of<likelihoods::BinomialLogit>(); }

}  // namespace gaussmith
