#include "linalg/blas_threads.hpp"

#include "base/worker_pool.hpp"
#include "linalg/blas_memory.hpp"

namespace gaussmith {

namespace {

/// About half a millisecond. Waking a worker takes a tenth of that on an idle machine, and a worker that loses its
/// processor to another process holds the rest up for milliseconds.
constexpr double flops_worth_sharing = 2e7;

thread_local int budget = 1;

}  // namespace

BlasThreads::BlasThreads(int threads) : former_(budget) {
  prepare_blas();
  budget = given_ = threads > 1 ? reserve_blas_buffers(threads_at_hand(threads)) : 1;
}

BlasThreads::~BlasThreads() { budget = former_; }

int threads_for(double flops) { return flops < flops_worth_sharing ? 1 : threads_at_hand(budget); }

}  // namespace gaussmith
