// Deblurring with operators: a signal of steps, seen through a blur and noise. What was seen is Gaussian around the
// blurred signal, what is expected of the signal are sparse differences of neighbours: two blocks of rows, of which no
// matrix is ever written down.
#include <gaussmith/gaussmith.hpp>

#include <cmath>
#include <cstdio>
#include <exception>

namespace gs = gaussmith;

static double root_mean_square(const gs::Vector& x) {
  return std::sqrt(x.squaredNorm() / static_cast<double>(x.size()));
}

static void deblur() {
  const gs::Grid line{.height = 1, .width = 60};
  const gs::Matrix kernel = gs::Vector::Constant(7, 1.0 / 7.0).transpose();
  const gs::OperatorHandle blur = gs::convolution(kernel, line, gs::Boundary::circular);
  const gs::OperatorHandle differences = gs::finite_differences(line);

  gs::Vector signal(line.size());
  for (gs::Index i = 0; i < line.size(); ++i) signal(i) = i < 20 ? 0.0 : i < 35 ? 2.0 : 1.0;
  gs::Matrix seen(line.size(), 1);
  blur->apply(signal, seen);
  gs::Random random(1);
  for (double& value : seen.reshaped()) value += 0.05 * random.normal();

  const gs::Vector none = gs::Vector::Zero(differences->rows());
  const gs::Model model{.prior = gs::Isotropic{.mean = gs::Vector::Zero(line.size()), .variance = 100.0},
                        .design = gs::stacked({blur, differences}),
                        .sites = {gs::observe("gaussian", seen.col(0), {{"variance", gs::one(0.0025)}}),
                                  gs::observe("laplace", none, {{"scale", gs::one(0.05)}})}};
  const gs::Posterior posterior = gs::infer(model, gs::Kl{});

  const gs::Marginals w = posterior.weights();
  std::printf("%s\n", posterior.report().brief().c_str());
  std::printf("root-mean-square error: seen %.3f, deblurred %.3f; posterior sd %.3f\n",
              root_mean_square(seen.col(0) - signal), root_mean_square(w.mean - signal),
              root_mean_square(w.variance.cwiseSqrt()));
}

int main() {
  try {
    deblur();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "deblurring: %s\n", error.what());
    return 1;
  }
}
