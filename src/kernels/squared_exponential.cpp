// rho(r^2) = exp(-r^2/2): functions with all derivatives.
#include "kernels/stationary.hpp"
#include "kernels/strips.hpp"
#include "numerics/batch.hpp"

#include <utility>

namespace gaussmith {

namespace {

void correlation(double /*shape*/, ConstSpan squares, Span out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = -0.5 * squares[i];
  batch::exp(out, out);
}

void derivatives(double shape, ConstSpan squares, Span out, Span slope, Span /*shape_slope*/) {
  correlation(shape, squares, out);
  for (std::size_t i = 0; i < out.size(); ++i) slope[i] = -0.5 * out[i];
}

constexpr Profile profile{correlation, derivatives};

}  // namespace

const Family& squared_exponential_family() {
  static const Family family{
      {"se", "signal_sd^2 exp(-r^2/2)", "squared exponential: very smooth functions", stationary_arguments()},
      [](const Family& self, ArgumentValues values) { return make_stationary(self, profile, std::move(values)); }};
  return family;
}

}  // namespace gaussmith
