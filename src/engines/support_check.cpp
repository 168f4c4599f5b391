#include "engines/support_check.hpp"

#include "numerics/special.hpp"
#include "sites/custom.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// Values of functions asked for in all, and for one row.
constexpr Index most_values = Index{1} << 20;
constexpr Index most_values_a_row = Index{1} << 16;
/// Fewer than one expectation by quadrature takes.
constexpr Index least_values_a_row = 128;

}  // namespace

void check_support(const Vector& prior_mean, const Vector& prior_variance, const SiteRows& sites) {
  // Beyond 50 from the centre e^(e^eta) and the like may overflow, which is not a lack of support.
  constexpr double widest = 50.0 / 8.0;
  const Vector width =
      prior_variance.unaryExpr([&](double v) { return std::isfinite(v) ? std::min(std::sqrt(v), widest) : widest; });
  Vector value;
  for (const double z : {0.0, -0.5, 0.5, -1.0, 1.0, -2.0, 2.0, -4.0, 4.0, -8.0, 8.0})
    sites.log_density(prior_mean + z * width, &value);
}

void check_support_under(const Vector& mean, const Vector& variance, const SiteRows& sites) {
  std::atomic<Index> rows = 0;
  sites.for_pieces([&](const SiteBlock& block, Index, Index, Index count) {
    if (is_custom(block)) rows += count;
  });
  if (rows == 0) return;
  const Index steps = std::clamp(most_values / rows, least_values_a_row, most_values_a_row);
  Vector z(steps);
  for (Index k = 0; k < steps; ++k) z(k) = normal_quantile((static_cast<double>(k) + 0.5) / static_cast<double>(steps));
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    if (!is_custom(block)) return;
    const Vector centre = mean.segment(row, count);
    const Vector deviation = variance.segment(row, count).cwiseMax(0.0).cwiseSqrt();
    Vector eta(count);
    Vector value(count);
    for (Index k = 0; k < steps; ++k) {
      eta = centre + z(k) * deviation;
      block.log_density(begin, view(std::as_const(eta)),
                        {.value = view(value), .first = {}, .second = {}, .third = {}});
    }
  });
}

}  // namespace gaussmith
