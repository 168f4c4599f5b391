#include "sites/student_t.hpp"

#include "sites/adaptor.hpp"

namespace gaussmith {

const LikelihoodEntry& student_t_likelihood() { return entry_of<likelihoods::StudentT>(); }

}  // namespace gaussmith
