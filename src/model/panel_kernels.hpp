#pragma once
// Rows of compressed sparse storage times eight vectors at a time, which stand side by side in memory: number k of
// vector j is x[panel_width * k + j]. Compiled for every instruction set of base/vectorised.hpp.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Vectors side by side: one register of AVX-512, two of AVX2.
constexpr Index panel_width = 8;

/// What kernels read of a compressed sparse matrix; entries of row n are those from starts[n] to starts[n + 1].
template <class Value>
struct SparseRowsView {
  const Value* values;
  const int* columns;
  const int* starts;
};

template <class Value>
SparseRowsView<Value> rows_view(const Eigen::SparseMatrix<Value, Eigen::RowMajor>& h) {
  return {h.valuePtr(), h.innerIndexPtr(), h.outerIndexPtr()};
}

/// out(n - begin) = h_n'X for rows n from begin to end.
void panel_rows_times(const SparseRowsView<double>& h, Index begin, Index end, const double* x, double* out);
void panel_rows_times(const SparseRowsView<float>& h, Index begin, Index end, const double* x, double* out);

/// sum += h_n x(n - begin) over rows n from begin to end.
void add_panel_transposed(const SparseRowsView<double>& h, Index begin, Index end, const double* x, double* sum);
void add_panel_transposed(const SparseRowsView<float>& h, Index begin, Index end, const double* x, double* sum);

}  // namespace gaussmith
