#include "sampling/site_totals.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Rows of one call, so that its cost vanishes and its values stay in the cache.
constexpr std::size_t rows_per_call = 1024;

}  // namespace

SiteTotals::SiteTotals(const Model& model) : model_(&model), width_(model.latents.count) {
  for (const Sites& block : model.sites) any_thread_ = any_thread_ && block->traits().any_thread;
}

double SiteTotals::total(ConstSpan eta) const { return total(eta, {}); }

double SiteTotals::total(ConstSpan eta, Span gradient) const {
  std::array<double, rows_per_call> values;
  const auto width = static_cast<std::size_t>(width_);
  double sum = 0.0;
  std::size_t row = 0;
  for (const Sites& block : model_->sites) {
    const auto size = static_cast<std::size_t>(block->size());
    for (std::size_t first = 0; first < size; first += rows_per_call) {
      const std::size_t count = std::min(rows_per_call, size - first);
      LogDensityOut out{Span(values.data(), count), {}, {}, {}};
      if (!gradient.empty()) out.first = gradient.subspan(row * width, count * width);
      block->log_density(static_cast<Index>(first), eta.subspan(row * width, count * width), out);
      if (model_->weights.size() == 0) {
        for (std::size_t i = 0; i < count; ++i) sum += values[i];
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          const double weight = model_->weights(static_cast<Index>(row + i));
          sum += weight * values[i];
          for (std::size_t c = 0; c < width && !gradient.empty(); ++c) out.first[i * width + c] *= weight;
        }
      }
      row += count;
    }
  }
  return std::isnan(sum) ? -std::numeric_limits<double>::infinity() : sum;
}

void SiteTotals::totals(const Matrix& eta, Span out) const {
  for (Index j = 0; j < eta.cols(); ++j)
    out[static_cast<std::size_t>(j)] = total({eta.col(j).data(), static_cast<std::size_t>(eta.rows())});
}

}  // namespace gaussmith
