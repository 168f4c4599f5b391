#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

Marginals marginals(std::initializer_list<double> mean, std::initializer_list<double> variance) {
  Marginals out{Vector(static_cast<Index>(mean.size())), Vector(static_cast<Index>(mean.size()))};
  std::copy(mean.begin(), mean.end(), out.mean.begin());
  std::copy(variance.begin(), variance.end(), out.variance.begin());
  return out;
}

Prediction gaussian_part(const Marginals& latent, double variance) {
  return {latent, observe("gaussian", Vector::Zero(latent.mean.size()), {{"variance", one(variance)}})};
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double normal_density(double x, double sd) { return std::exp(-0.5 * x * x / (sd * sd)) / (sd * std::sqrt(2.0 * M_PI)); }

TEST(PredictionMixture, OfGaussiansHasTheClosedFormsOfAMixture) {
  const Prediction p = Prediction::mixture(
      {gaussian_part(marginals({0.0, 5.0}, {1.0, 0.2}), 0.5), gaussian_part(marginals({3.0, 4.0}, {0.3, 2.0}), 0.1)},
      (Vector(2) << 1.0, 3.0).finished());
  EXPECT_NEAR(p.latent_mean()(0), 0.75 * 3.0, 1e-14);
  EXPECT_NEAR(p.latent_variance()(0), 0.25 * 1.0 + 0.75 * 0.3 + 0.25 * 0.75 * 9.0, 1e-14);
  EXPECT_NEAR(p.response_mean()(1), 0.25 * 5.0 + 0.75 * 4.0, 1e-14);
  EXPECT_NEAR(p.response_variance()(1), 0.25 * 0.7 + 0.75 * 2.1 + 0.25 * 0.75, 1e-14);
  const double sd[2] = {std::sqrt(1.5), std::sqrt(0.4)};
  const auto cdf = [&](double y) { return 0.25 * normal_cdf(y / sd[0]) + 0.75 * normal_cdf((y - 3.0) / sd[1]); };
  for (const double y : {-2.0, 1.0, 2.9}) {
    const Vector at = Vector::Constant(2, y);
    EXPECT_NEAR(p.response_cdf(at)(0), cdf(y), 1e-13);
    EXPECT_NEAR(p.log_density(at)(0), std::log(0.25 * normal_density(y, sd[0]) + 0.75 * normal_density(y - 3.0, sd[1])),
                1e-9);
  }
  for (const double level : {0.01, 0.2, 0.5, 0.99}) EXPECT_NEAR(cdf(p.response_quantile(level)(0)), level, 1e-10);
  EXPECT_EQ(p.response_probability().size(), 0);
}

TEST(PredictionMixture, QuantilesInvertTheDistributionOfEveryKindOfResponse) {
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    if (!info.traits.methods.empty()) continue;  // Several latents.
    const Sites sites = random_sites(info.traits.name, 4, 3);
    const Marginals a{random_vector(4, 1), random_vector(4, 2).cwiseAbs2()};
    const Marginals b{random_vector(4, 3), random_vector(4, 4).cwiseAbs2()};
    const Prediction p = Prediction::mixture({Prediction(a, sites), Prediction(b, sites)}, Vector::Ones(2));
    for (const double level : {0.1, 0.6}) {
      const Vector y = p.response_quantile(level);
      const Vector reached = p.response_cdf(y);
      const ResponseKind kind = info.traits.response;
      for (Index i = 0; i < 4; ++i) {
        if (kind == ResponseKind::real || kind == ResponseKind::positive) {
          EXPECT_NEAR(reached(i), level, 1e-7) << info.traits.name;
          continue;
        }
        // Discrete: the smallest response that reaches the level.
        EXPECT_GE(reached(i), level - 1e-12) << info.traits.name;
        const double before = kind == ResponseKind::sign ? -3.0 : y(i) - 1.0;
        if (y(i) > (kind == ResponseKind::sign ? -1.0 : 0.0)) {
          Vector lower = y;
          lower(i) = kind == ResponseKind::sign ? -1.0 : before;
          EXPECT_LT(p.response_cdf(lower)(i), level) << info.traits.name;
        }
      }
    }
  }
}

TEST(PredictionMixture, OfEqualPartsIsThePart) {
  const Posterior q = infer(process_model("poisson", 12, 3), Laplace{});
  const Matrix inputs = random_matrix(5, 2, 8);
  const Prediction part = q.predict(inputs);
  const Prediction p = Prediction::mixture({part, part, part}, (Vector(3) << 0.2, 5.0, 1.0).finished());
  const Vector y = Vector::LinSpaced(5, 0.0, 4.0);
  EXPECT_LT((p.response_mean() - part.response_mean()).norm(), 1e-12);
  EXPECT_LT((p.response_variance() - part.response_variance()).norm(), 1e-12);
  EXPECT_LT((p.log_density(y) - part.log_density(y)).norm(), 1e-12);
  EXPECT_EQ(p.response_quantile(0.7), part.response_quantile(0.7));
  EXPECT_NEAR(p.part_weights().sum(), 1.0, 1e-15);
  const std::vector<WeightedGaussian> mixture{{.weight = 2.0, .fitted = q.fitted()},
                                              {.weight = 1.0, .fitted = q.fitted()}};
  EXPECT_LT((predict_mixture(mixture, {.inputs = inputs}).response_mean() - part.response_mean()).norm(), 1e-10);
}

TEST(PredictionMixture, SamplesHaveItsMoments) {
  const Prediction p =
      Prediction::mixture({gaussian_part(marginals({-1.0}, {0.4}), 0.2), gaussian_part(marginals({2.0}, {0.1}), 0.3)},
                          (Vector(2) << 0.3, 0.7).finished());
  constexpr int draws = 40000;
  const Matrix y = p.response_samples(draws, 5);
  const double variance = p.response_variance()(0);
  EXPECT_NEAR(y.mean(), p.response_mean()(0), 5.0 * std::sqrt(variance / draws));
  EXPECT_NEAR((y.array() - y.mean()).square().mean(), variance, 0.03 * variance);
  EXPECT_NEAR((y.array() <= 0.5).cast<double>().mean(), p.response_cdf(Vector::Constant(1, 0.5))(0), 0.01);
  EXPECT_EQ(y, p.response_samples(draws, 5));
}

TEST(PredictionMixture, RefusesPartsThatDoNotSuit) {
  const Prediction part = gaussian_part(marginals({0.0}, {1.0}), 0.5);
  const Prediction two = gaussian_part(marginals({0.0, 1.0}, {1.0, 1.0}), 0.5);
  const Prediction other(marginals({0.0}, {1.0}), observe("laplace", one(0.0), {{"scale", one(1.0)}}));
  EXPECT_THROW((void)Prediction::mixture({}, Vector()), InvalidModel);
  EXPECT_THROW((void)Prediction::mixture({part}, Vector::Ones(2)), InvalidModel);
  EXPECT_THROW((void)Prediction::mixture({part, part}, (Vector(2) << 1.0, 0.0).finished()), InvalidModel);
  EXPECT_THROW((void)Prediction::mixture({part, two}, Vector::Ones(2)), InvalidModel);
  EXPECT_THROW((void)Prediction::mixture({part, other}, Vector::Ones(2)), InvalidModel);
  const Prediction latent(marginals({0.0}, {1.0}), nullptr, "no trials");
  const Prediction both = Prediction::mixture({latent, latent}, Vector::Ones(2));
  EXPECT_EQ(both.latent_mean()(0), 0.0);
  EXPECT_THROW((void)both.response_samples(2, 1), InvalidModel);
  EXPECT_THROW((void)both.response_quantile(0.5), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
