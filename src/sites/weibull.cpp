#include "sites/weibull.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& weibull_likelihood() { return entry_of<likelihoods::Weibull>(); }

}  // namespace gaussmith
