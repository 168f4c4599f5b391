// rho(r^2) = (1 + s)^-alpha, s = r^2/(2 alpha): a mixture of squared exponentials over length-scales.
#include "kernels/stationary.hpp"
#include "kernels/strips.hpp"
#include "numerics/batch.hpp"

#include <array>
#include <utility>

namespace gaussmith {

namespace {

void correlation(double alpha, ConstSpan squares, Span out) {
  const double factor = 0.5 / alpha;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = factor * squares[i];
  batch::log1p(out, out);
  for (double& value : out) value *= -alpha;
  batch::exp(out, out);
}

void derivatives(double alpha, ConstSpan squares, Span out, Span slope, Span shape_slope) {
  std::array<double, strip_rows> buffer;
  const Span log_base(buffer.data(), out.size());
  const double factor = 0.5 / alpha;
  for (std::size_t i = 0; i < out.size(); ++i) slope[i] = factor * squares[i];
  batch::log1p(slope, log_base);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = -alpha * log_base[i];
  batch::exp(out, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double s = slope[i];
    shape_slope[i] = alpha * out[i] * (s / (1.0 + s) - log_base[i]);
    slope[i] = -0.5 * out[i] / (1.0 + s);
  }
}

constexpr Profile profile{correlation, derivatives};

}  // namespace

const Family& rational_quadratic_family() {
  static const Family family{
      {"rq", "signal_sd^2 (1 + r^2/(2 alpha))^-alpha", "rational quadratic: smooth functions of many length-scales",
       stationary_arguments({"alpha", 1.0, false, "spread of the length-scales; large values approach se"})},
      [](const Family& self, ArgumentValues values) { return make_stationary(self, profile, std::move(values)); }};
  return family;
}

}  // namespace gaussmith
