#include "model/panel_kernels.hpp"

#include "base/vectorised.hpp"

namespace gaussmith {

namespace {

/// Eight numbers, wherever numbers may lie.
using PanelRow = double __attribute__((vector_size(panel_width * sizeof(double)), aligned(alignof(double)), may_alias));

}  // namespace

// Whole kernels for each type of entries: operations on such rows are made for the instruction set of the function that
// they are written in, before anything is inlined. Sums go two at a time, as an addition waits for the one before.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): see above.
#define GAUSSMITH_PANEL_KERNELS(Value)                                                                                \
  GAUSSMITH_VECTORISED void panel_rows_times(const SparseRowsView<Value>& h, Index begin, Index end, const double* x, \
                                             double* out) {                                                           \
    const auto* const in = reinterpret_cast<const PanelRow*>(x);                                                      \
    for (Index n = begin; n < end; ++n) {                                                                             \
      PanelRow even{};                                                                                                \
      PanelRow odd{};                                                                                                 \
      int at = h.starts[n];                                                                                           \
      const int last = h.starts[n + 1];                                                                               \
      for (; at + 1 < last; at += 2) {                                                                                \
        even += static_cast<double>(h.values[at]) * in[h.columns[at]];                                                \
        odd += static_cast<double>(h.values[at + 1]) * in[h.columns[at + 1]];                                         \
      }                                                                                                               \
      if (at < last) even += static_cast<double>(h.values[at]) * in[h.columns[at]];                                   \
      reinterpret_cast<PanelRow*>(out)[n - begin] = even + odd;                                                       \
    }                                                                                                                 \
  }                                                                                                                   \
                                                                                                                      \
  GAUSSMITH_VECTORISED void add_panel_transposed(const SparseRowsView<Value>& h, Index begin, Index end,              \
                                                 const double* x, double* sum) {                                      \
    auto* const out = reinterpret_cast<PanelRow*>(sum);                                                               \
    for (Index n = begin; n < end; ++n) {                                                                             \
      const PanelRow factors = reinterpret_cast<const PanelRow*>(x)[n - begin];                                       \
      for (int at = h.starts[n]; at < h.starts[n + 1]; ++at)                                                          \
        out[h.columns[at]] += static_cast<double>(h.values[at]) * factors;                                            \
    }                                                                                                                 \
  }

GAUSSMITH_PANEL_KERNELS(double)
GAUSSMITH_PANEL_KERNELS(float)
#undef GAUSSMITH_PANEL_KERNELS
// NOLINTEND(cppcoreguidelines-macro-usage)

}  // namespace gaussmith
