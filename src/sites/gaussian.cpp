#include "sites/gaussian.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& gaussian_likelihood() { return entry_of<likelihoods::Gaussian>(); }

}  // namespace gaussmith
