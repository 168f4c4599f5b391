// rho(r^2) = (1 + a + a^2/3) exp(-a), a = sqrt(5) r: functions with two derivatives.
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
    out[i] = std::sqrt(5.0 * squares[i]);
    decay[i] = -out[i];
  }
  batch::exp(decay, decay);
}

double polynomial(double a) { return 1.0 + a * (1.0 + a * (1.0 / 3.0)); }

void correlation(double /*shape*/, ConstSpan squares, Span out) {
  std::array<double, strip_rows> buffer;
  const Span decay(buffer.data(), out.size());
  decay_terms(squares, out, decay);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = polynomial(out[i]) * decay[i];
}

void derivatives(double /*shape*/, ConstSpan squares, Span out, Span slope, Span /*shape_slope*/) {
  decay_terms(squares, out, slope);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double a = out[i];
    out[i] = polynomial(a) * slope[i];
    slope[i] *= (-5.0 / 6.0) * (1.0 + a);
  }
}

constexpr Profile profile{correlation, derivatives};

}  // namespace

const Family& matern52_family() {
  static const Family family{
      {"matern52", "signal_sd^2 (1 + a + a^2/3) exp(-a), a = sqrt(5) r", "Matern 5/2: functions with two derivatives",
       stationary_arguments()},
      [](const Family& self, ArgumentValues values) { return make_stationary(self, profile, std::move(values)); }};
  return family;
}

}  // namespace gaussmith
