#pragma once

namespace gaussmith {

/// Gives BLAS a fixed number of threads while it lives and restores the former number. OpenBLAS keeps that number
/// process-wide, which is why it is set for a run and nowhere else.
class BlasThreads {
 public:
  explicit BlasThreads(int threads);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int former_;
};

}  // namespace gaussmith
