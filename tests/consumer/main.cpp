// Uses the installed library as any program would; exits with 0 when the numbers are right.
#include <gaussmith/kernels.hpp>
#include <gaussmith/types.hpp>

#include <cmath>
#include <cstdio>

int main() {
  const auto kernel = gaussmith::make_kernel("se", {{"signal_sd", {2.0}}, {"lengthscale", {1.0}}});
  gaussmith::Matrix x(5, 1);
  x << 0.0, 0.5, 1.0, 1.5, 2.0;
  gaussmith::Matrix gram;
  kernel->gram(x, gram);
  // signal_sd^2 exp(-r^2 / 2) at r = 2.
  const double expected = 4.0 * std::exp(-2.0);
  std::printf("k(0, 2) = %.15g, expected %.15g\n", gram(0, 4), expected);
  return std::abs(gram(0, 4) - expected) < 1e-14 ? 0 : 1;
}
