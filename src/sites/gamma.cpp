#include "sites/gamma.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& gamma_likelihood() { return entry_of<likelihoods::Gamma>(); }

}  // namespace gaussmith
