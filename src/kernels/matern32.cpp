// rho(r^2) = (1 + a) exp(-a), a = sqrt(3) r: functions with one derivative.
#include "kernels/stationary.hpp"
#include "kernels/strips.hpp"
#include "numerics/batch.hpp"

#include <array>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

// out = a and decay = exp(-a); out may be squares.
void decay_terms(ConstSpan squares, Span out, Span decay) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = std::sqrt(3.0 * squares[i]);
    decay[i] = -out[i];
  }
  batch::exp(decay, decay);
}

void correlation(double /*shape*/, ConstSpan squares, Span out) {
  std::array<double, strip_rows> buffer;
  const Span decay(buffer.data(), out.size());
  decay_terms(squares, out, decay);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = (1.0 + out[i]) * decay[i];
}

void derivatives(double /*shape*/, ConstSpan squares, Span out, Span slope, Span /*shape_slope*/) {
  decay_terms(squares, out, slope);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = (1.0 + out[i]) * slope[i];
    slope[i] *= -1.5;
  }
}

constexpr Profile profile{correlation, derivatives};

}  // namespace

const Family& matern32_family() {
  static const Family family{
      {"matern32", "signal_sd^2 (1 + a) exp(-a), a = sqrt(3) r", "Matern 3/2: functions with one derivative",
       stationary_arguments()},
      [](const Family& self, ArgumentValues values) { return make_stationary(self, profile, std::move(values)); }};
  return family;
}

}  // namespace gaussmith
