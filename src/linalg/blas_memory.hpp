#pragma once

namespace gaussmith {

/// Makes sure that OpenBLAS has a buffer for this thread beside those of all other threads that called this. To be
/// called before any call of BLAS or LAPACK; costs nothing after a thread's first time. OpenBLAS asks for a buffer
/// again and again, for ever, when the machine refuses it; this throws std::bad_alloc instead.
void prepare_blas();

/// Maps buffers for `threads` threads ahead of time. Returns for how many there are some.
[[nodiscard]] int reserve_blas_buffers(int threads);

}  // namespace gaussmith
