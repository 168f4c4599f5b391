#include "sites/negative_binomial.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& negative_binomial_likelihood() { return entry_of<likelihoods::NegativeBinomial>(); }

}  // namespace gaussmith
