// A likelihood of your own: log t(eta; y) is all it takes. Here a smooth robust one, the logistic density
//   log t = -r - 2 log(1 + e^-r) - log scale, r = |y - eta| / scale,
// which is quadratic near zero and linear far out, so one wild row does not pull a regression line away.
#include <gaussmith/gaussmith.hpp>

#include <cmath>
#include <cstdio>
#include <exception>

namespace gs = gaussmith;

static void fit_line() {
  constexpr double scale = 0.1;
  gs::CustomLikelihood logistic;
  logistic.name = "logistic";
  logistic.log_density = [](double eta, double y) {
    const double r = std::abs(y - eta) / scale;
    return -r - 2.0 * std::log1p(std::exp(-r)) - std::log(scale);
  };
  logistic.log_concave = true;
  logistic.smooth = true;  // derivatives by central differences on the scale of `width`
  logistic.width = scale;

  // y = 1 + 2 x with small alternating errors, and one row that is off by 50.
  constexpr int rows = 21;
  gs::Matrix design(rows, 2);
  gs::Vector y(rows);
  for (int n = 0; n < rows; ++n) {
    const double x = 0.1 * n - 1.0;
    design.row(n) << 1.0, x;
    y(n) = 1.0 + 2.0 * x + (n % 2 == 0 ? 0.05 : -0.05);
  }
  y(rows - 1) += 50.0;

  const gs::Model model{.prior = gs::Isotropic{.mean = gs::Vector::Zero(2), .variance = 100.0},
                        .design = design,
                        .sites = {gs::observe(logistic, y)}};
  const gs::Posterior posterior = gs::infer(model, gs::Laplace{});

  const gs::Marginals w = posterior.weights();
  std::printf("%s\n", posterior.report().brief().c_str());
  std::printf("slope %.3f, intercept %.3f, posterior sd %.3f and %.3f\n", w.mean(1), w.mean(0),
              std::sqrt(w.variance(1)), std::sqrt(w.variance(0)));
}

int main() {
  try {
    fit_line();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "custom_likelihood: %s\n", error.what());
    return 1;
  }
}
