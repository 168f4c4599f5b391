#include "linalg/blas_threads.hpp"

extern "C" {
void openblas_set_num_threads(int);
int openblas_get_num_threads();
}

namespace gaussmith {

BlasThreads::BlasThreads(int threads) : former_(openblas_get_num_threads()) {
  if (threads != former_) openblas_set_num_threads(threads);
}

BlasThreads::~BlasThreads() {
  if (openblas_get_num_threads() != former_) openblas_set_num_threads(former_);
}

}  // namespace gaussmith
