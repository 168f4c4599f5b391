// One-site-at-a-time updates against a fresh factorisation of the changed sites.

#include "gaussian/sequential_gaussian.hpp"

#include "gaussian/core.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

class Sequential : public ::testing::TestWithParam<CoreForm> {};

TEST_P(Sequential, MarginalsAreThoseOfTheSitesChangedSoFar) {
  // More rows than a block holds, so that changes travel within blocks and between them.
  constexpr Index rows = 2 * SequentialGaussian::block_rows + 7;
  Model model = linear_model("gaussian", rows, 11, 3);
  model.offset = random_vector(rows, 4);
  SiteApproximation sites{random_vector(rows, 5).cwiseAbs(), random_vector(rows, 6)};
  sites.precision(3) = -0.05;
  const auto core = make_core(model, GetParam(), 1);
  const auto fresh = make_core(model, GetParam(), 1);
  ASSERT_TRUE(core->set(sites));
  const auto sweep = core->sweep(core->mean());
  SequentialGaussian& q = *sweep;
  const Vector precision_change = 0.5 * random_vector(rows, 7);
  const Vector shift_change = random_vector(rows, 8);
  for (Index begin = 0; begin < rows; begin += SequentialGaussian::block_rows) {
    const Index end = std::min(rows, begin + SequentialGaussian::block_rows);
    q.open_block(begin, end);
    for (Index i = begin; i < end; ++i) {
      if (i % 9 == 0 || i == rows - 1) {
        ASSERT_TRUE(fresh->set(sites));
        EXPECT_NEAR(q.mean(i), fresh->mean().eta(i), 1e-9);
        EXPECT_NEAR(q.variance(i), fresh->variances()(i), 1e-10);
      }
      if (i % 4 == 2) continue;  // Some sites stay as they are.
      // Both signs, as far as the Gaussian stays proper.
      const double change = std::max(precision_change(i), -0.5 / q.variance(i));
      q.change_site(i, change, shift_change(i));
      sites.precision(i) += change;
      sites.shift(i) += shift_change(i);
    }
    q.close_block();
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Sequential, ::testing::Values(CoreForm::covariance, CoreForm::precision),
                         [](const auto& tested) {
                           return std::string(tested.param == CoreForm::covariance ? "covariance" : "precision");
                         });

}  // namespace
}  // namespace gaussmith
