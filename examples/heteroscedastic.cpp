// A likelihood with two latent functions: the mean of the response and the logarithm of its variance, y ~ N(f, e^g).
// Both are Gaussian processes of one input; Laplace's method learns them together.
#include <gaussmith/gaussmith.hpp>

#include <cmath>
#include <cstdio>
#include <exception>

namespace gs = gaussmith;

/// log t and its derivatives in (f, g); second derivatives column by column.
static gs::CustomJointLikelihood heteroscedastic() {
  return {.name = "heteroscedastic",
          .latents = 2,
          .log_density =
              [](gs::ConstSpan eta, double y) {
                const double r = y - eta[0];
                return -0.5 * (std::log(2.0 * 3.14159265358979324) + eta[1] + r * r * std::exp(-eta[1]));
              },
          .derivatives =
              [](gs::ConstSpan eta, double y, gs::Span first, gs::Span second) {
                const double w = std::exp(-eta[1]);
                const double r = y - eta[0];
                first[0] = r * w;
                first[1] = 0.5 * (r * r * w - 1.0);
                second[0] = -w;
                second[1] = second[2] = -r * w;
                second[3] = -0.5 * r * r * w;
              }};
}

static void run() {
  // Noise of standard deviation 0.1 on the left, 0.8 on the right of a sine.
  gs::Random random(3);
  constexpr gs::Index rows = 120;
  gs::Matrix x(rows, 1);
  gs::Vector y(rows);
  for (gs::Index n = 0; n < rows; ++n) {
    x(n, 0) = 6.0 * (static_cast<double>(n) + 0.5) / static_cast<double>(rows);
    y(n) = std::sin(x(n, 0)) + (x(n, 0) < 3.0 ? 0.1 : 0.8) * random.normal();
  }
  const gs::Model model{
      .prior = gs::GaussianProcess{x, gs::make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {1.0}}})},
      .sites = {gs::observe(heteroscedastic(), y)},
      .latents = {.count = 2}};
  const gs::Learned learned = gs::learn(model, gs::Laplace{});
  std::printf("%s\n", learned.posterior.report().brief().c_str());
  const gs::Marginals& q = learned.posterior.latent();  // Row by row: f, then g.
  for (const gs::Index n : {rows / 4, 3 * rows / 4})
    std::printf("x = %.2f: mean %.2f, noise %.2f\n", x(n, 0), q.mean(2 * n), std::exp(0.5 * q.mean(2 * n + 1)));
}

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heteroscedastic: %s\n", error.what());
    return 1;
  }
}
