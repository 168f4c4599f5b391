// rho(r^2) = exp(-r): continuous functions without derivatives.
#include "kernels/stationary.hpp"
#include "kernels/strips.hpp"
#include "numerics/batch.hpp"

#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

void correlation(double /*shape*/, ConstSpan squares, Span out) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = -std::sqrt(squares[i]);
  batch::exp(out, out);
}

void derivatives(double /*shape*/, ConstSpan squares, Span out, Span slope, Span /*shape_slope*/) {
  for (std::size_t i = 0; i < out.size(); ++i) slope[i] = out[i] = -std::sqrt(squares[i]);
  batch::exp(out, out);
  // d rho/d(r^2) = -rho/(2 r); it meets r^2 = 0 only as a factor of 0, hence the 0 there.
  for (std::size_t i = 0; i < out.size(); ++i) slope[i] = slope[i] < 0.0 ? out[i] / (2.0 * slope[i]) : 0.0;
}

constexpr Profile profile{correlation, derivatives, false};

}  // namespace

const Family& matern12_family() {
  static const Family family{
      {"matern12", "signal_sd^2 exp(-r)", "Matern 1/2: continuous, nowhere smooth functions", stationary_arguments()},
      [](const Family& self, ArgumentValues values) { return make_stationary(self, profile, std::move(values)); }};
  return family;
}

}  // namespace gaussmith
