#include "sites/poisson.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& poisson_likelihood() { return entry_of<likelihoods::Poisson>(); }

}  // namespace gaussmith
