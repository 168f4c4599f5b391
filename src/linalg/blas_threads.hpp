#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Gives the dense algebra that this thread asks for, while it lives, up to `threads` threads (linalg/dense.hpp), and
/// restores the former number; without one the number is 1. Throws std::bad_alloc where memory allows not even one
/// thread its buffer; where it allows fewer than `threads`, fewer are used.
class BlasThreads {
 public:
  explicit BlasThreads(int threads);
  ~BlasThreads();
  /// How many it has been given: fewer where memory is short. Work of one's own threads that calls BLAS keeps to it
  /// too.
  [[nodiscard]] int threads() const { return given_; }
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int former_, given_ = 1;
};

/// The number of threads for an operation of so many flops: 1 where it is too short to share, or inside a parallel one.
[[nodiscard]] int threads_for(double flops);

}  // namespace gaussmith
