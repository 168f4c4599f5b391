#include "sites/exponential.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& exponential_likelihood() { return entry_of<likelihoods::Exponential>(); }

}  // namespace gaussmith
