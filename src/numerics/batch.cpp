#include "numerics/batch.hpp"

#include "numerics/elementary.hpp"

#include <cstddef>

namespace gaussmith::batch {

namespace {

// In-place calls are allowed, so the loops read a chunk before they write it; a fixed chunk also gives every element
// the same instructions wherever it stands.
constexpr std::size_t chunk = 32;

// One clone per function: the loop must stand inside the function that is compiled for each instruction set.
#define GAUSSMITH_BATCH(name)                                                                \
  GAUSSMITH_VECTORISED void name##_chunk(const double* __restrict x, double* __restrict y) { \
    for (std::size_t i = 0; i < chunk; ++i) y[i] = elementary::name(x[i]);                   \
  }
GAUSSMITH_BATCH(exp)
GAUSSMITH_BATCH(log)
GAUSSMITH_BATCH(log1p)
GAUSSMITH_BATCH(softplus)
GAUSSMITH_BATCH(sigmoid)
GAUSSMITH_BATCH(ndtr)
#undef GAUSSMITH_BATCH

void by_chunks(void (*function)(const double*, double*), std::span<const double> x, std::span<double> out) {
  alignas(64) double from[chunk] = {};
  alignas(64) double to[chunk];
  for (std::size_t first = 0; first < x.size(); first += chunk) {
    const std::size_t count = x.size() - first < chunk ? x.size() - first : chunk;
    for (std::size_t i = 0; i < count; ++i) from[i] = x[first + i];
    function(from, to);
    for (std::size_t i = 0; i < count; ++i) out[first + i] = to[i];
  }
}

}  // namespace

void exp(std::span<const double> x, std::span<double> out) { by_chunks(exp_chunk, x, out); }
void log(std::span<const double> x, std::span<double> out) { by_chunks(log_chunk, x, out); }
void log1p(std::span<const double> x, std::span<double> out) { by_chunks(log1p_chunk, x, out); }
void softplus(std::span<const double> x, std::span<double> out) { by_chunks(softplus_chunk, x, out); }
void sigmoid(std::span<const double> x, std::span<double> out) { by_chunks(sigmoid_chunk, x, out); }
void ndtr(std::span<const double> x, std::span<double> out) { by_chunks(ndtr_chunk, x, out); }

}  // namespace gaussmith::batch
