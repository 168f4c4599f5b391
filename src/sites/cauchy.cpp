#include "sites/cauchy.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& cauchy_likelihood() { return entry_of<likelihoods::Cauchy>(); }

}  // namespace gaussmith
