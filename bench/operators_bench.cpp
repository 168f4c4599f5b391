// What products cost by their size: sparse designs by the number of entries, operators by what their formulas promise.
// The counter `ns_each` is the claim: it stays the same where time is linear in what is counted, but for a step where
// numbers no longer fit into the caches. It is of processor time, which a busy machine disturbs least.

#include "gaussmith/design.hpp"
#include "gaussmith/operators.hpp"
#include "gaussmith/random.hpp"
#include "paired.hpp"
#include "text_rows.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

namespace gaussmith::bench {
namespace {

constexpr Index sparse_columns = 20000;

/// Rows of `entries` numbers each, one in each of as many parts of the columns; 12 bytes an entry.
SparseMatrix sparse_rows(Index rows, Index entries) {
  SparseMatrix h(rows, sparse_columns);
  h.resizeNonZeros(rows * entries);
  Random random(1);
  const Index part = sparse_columns / entries;
  for (Index n = 0; n < rows; ++n) {
    h.outerIndexPtr()[n] = static_cast<int>(n * entries);
    for (Index k = 0; k < entries; ++k) {
      const std::uint64_t bits = random.bits();
      h.innerIndexPtr()[n * entries + k] = static_cast<int>(k * part + static_cast<Index>((bits >> 32) % part));
      h.valuePtr()[n * entries + k] = static_cast<double>(bits & 0xffffU) / 65536.0 - 0.5;
    }
  }
  h.outerIndexPtr()[rows] = static_cast<int>(rows * entries);
  return h;
}

void measure(benchmark::State& state, double things, const auto& work) {
  double best = std::numeric_limits<double>::infinity();
  for (auto _ : state) {
    const std::clock_t begin = std::clock();
    state.SetIterationTime(seconds_of(work));
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  state.counters["ns_each"] = 1e9 * best / things;
}

enum class Product { forward, transposed, gram };

/// Arguments: entries in all, entries a row.
void sparse_product(benchmark::State& state, Product product) {
  const Index rows = state.range(0) / state.range(1);
  const Design h(sparse_rows(rows, state.range(1)));
  const Vector x = Vector::Ones(h.cols());
  const Vector y = Vector::Ones(h.rows());
  Vector hx(h.rows());
  measure(state, h.nonzeros(), [&] {
    if (product == Product::forward) benchmark::DoNotOptimize(h.times(x).data());
    if (product == Product::transposed) benchmark::DoNotOptimize(h.transposed_times(y).data());
    if (product == Product::gram) benchmark::DoNotOptimize(h.gram_times(y, x, hx).data());
  });
}
void sparse_sizes(benchmark::internal::Benchmark* b) {
  for (const int entries : {10, 75})
    for (const int all : {1000000, 10000000, 100000000}) b->Args({all, entries});
  b->ArgNames({"entries", "row"})->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.3);
}
BENCHMARK_CAPTURE(sparse_product, times, Product::forward)->Apply(sparse_sizes);
BENCHMARK_CAPTURE(sparse_product, transposed_times, Product::transposed)->Apply(sparse_sizes);
BENCHMARK_CAPTURE(sparse_product, gram_times, Product::gram)->Apply(sparse_sizes);

/// Rows of documents (text_rows.hpp) in double or single precision; argument: about how many entries in all.
void text_product(benchmark::State& state, bool single, Product product) {
  const TextShape shape = text_shape_of(static_cast<double>(state.range(0)));
  const Design h = single ? Design(text_matrix<float>(shape).first) : Design(text_matrix<double>(shape).first);
  const Vector x = Vector::Ones(h.cols());
  const Vector y = Vector::Ones(h.rows());
  measure(state, h.nonzeros(), [&] {
    if (product == Product::forward) benchmark::DoNotOptimize(h.times(x).data());
    if (product == Product::transposed) benchmark::DoNotOptimize(h.transposed_times(y).data());
  });
  state.counters["bytes_each"] = h.bytes() / h.nonzeros();
}
void text_sizes(benchmark::internal::Benchmark* b) {
  for (const int all : {1000000, 10000000, 100000000}) b->Arg(all);
  b->ArgName("entries")->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.3);
}
BENCHMARK_CAPTURE(text_product, times, false, Product::forward)->Apply(text_sizes);
BENCHMARK_CAPTURE(text_product, transposed_times, false, Product::transposed)->Apply(text_sizes);
BENCHMARK_CAPTURE(text_product, times_single, true, Product::forward)->Apply(text_sizes);
BENCHMARK_CAPTURE(text_product, transposed_times_single, true, Product::transposed)->Apply(text_sizes);

/// H x and H'x of an operator on a square image; argument: its side. `things` counts what time should follow.
void operator_products(benchmark::State& state, const LinearOperator& h, double things) {
  const Matrix x = Matrix::Ones(h.cols(), 1);
  Matrix hx(h.rows(), 1);
  Matrix back(h.cols(), 1);
  measure(state, things, [&] {
    h.apply(x, hx);
    h.apply_transposed(hx, back);
  });
}

double pixels(const benchmark::State& state) { return static_cast<double>(state.range(0) * state.range(0)); }

void differences(benchmark::State& state) {
  operator_products(state, *finite_differences({state.range(0), state.range(0)}), pixels(state));
}
void wavelet_transform(benchmark::State& state) {
  operator_products(state, *wavelets({state.range(0), state.range(0)}, 5), pixels(state));
}
void convolve(benchmark::State& state) {
  const OperatorHandle h = convolution(Matrix::Ones(9, 9), {state.range(0), state.range(0)}, Boundary::zero);
  operator_products(state, *h, pixels(state) * std::log2(pixels(state)));
}
void fourier_lines(benchmark::State& state) {
  const Grid grid{state.range(0), state.range(0)};
  std::vector<Index> lines;
  for (Index u = 0; u < grid.height; u += 3) lines.push_back(u);
  operator_products(state, *subsampled_fourier(grid, frequency_lines(grid, lines)),
                    pixels(state) * std::log2(pixels(state)));
}
void image_sides(benchmark::internal::Benchmark* b) {
  for (const int side : {256, 1024, 4096}) b->Arg(side);
  b->ArgName("side")->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.3);
}
BENCHMARK(differences)->Apply(image_sides);
BENCHMARK(wavelet_transform)->Apply(image_sides);
BENCHMARK(convolve)->Apply(image_sides);
BENCHMARK(fourier_lines)->Apply(image_sides);

}  // namespace
}  // namespace gaussmith::bench
