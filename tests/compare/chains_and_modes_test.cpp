// Chains on posteriors of several modes: right, or not converged.

#include "gaussmith/infer.hpp"
#include "gaussmith/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

/// Two weights under eight Cauchy rows, five modes. Chains that begin around the fit of one agree with one another on a
/// third of the second weight's standard deviation.
Model five_modes() {
  Matrix rows(8, 2);
  rows << -0.8046461065088295, -0.1957562084777642, -2.121825972601985, 0.7520805892207797, -0.23963819232902653,
      -0.25131929860688523, 0.948376210637088, 0.6679105062494222, -0.8046461065088295, -0.1957562084777642,
      -2.121825972601985, 0.7520805892207797, -0.23963819232902653, -0.25131929860688523, 0.948376210637088,
      0.6679105062494222;
  Vector y(8);
  y << 1.7432371371406392, 2.9329111349746912, -0.7622180623958458, -2.6281997244599338, -1.5907168291233122,
      2.9329111349746912, -0.8006461155974107, 2.6859393178275734;
  return {.prior = Isotropic{.mean = Vector::Zero(2), .variance = 2.6428369444702993},
          .design = Design(rows),
          .sites = {observe("cauchy", y, {{"scale", Vector::Constant(1, 0.07330132389448839)}})}};
}

/// By sums over 3201 x 3201 points.
constexpr double true_mean[] = {-0.2083, 3.2918}, true_sd[] = {0.3368, 0.9225};

class ChainsAndModes : public testing::TestWithParam<const char*> {};

TEST_P(ChainsAndModes, AreRightOrNotConverged) {
  const Model model = five_modes();
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    const Posterior q = infer(model, make_method(GetParam()), {.threads = 1, .seed = seed});
    if (!q.report().converged()) continue;
    for (Index j = 0; j < 2; ++j) {
      EXPECT_NEAR(q.weights().mean(j), true_mean[j], 0.5 * true_sd[j]) << "seed " << seed;
      EXPECT_NEAR(std::sqrt(q.weights().variance(j)) / true_sd[j], 1.0, 0.3) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samplers, ChainsAndModes, testing::Values("ess", "nuts"));

}  // namespace
}  // namespace gaussmith
