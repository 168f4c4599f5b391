#include "sites/laplace.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& laplace_likelihood() { return entry_of<likelihoods::Laplace>(); }

}  // namespace gaussmith
