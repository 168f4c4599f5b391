// The four ways to the optimum over all covariances: site form, full Cholesky factor by truncated Newton, a chevron and
// a band as wide as the matrix.

#include "families/fit_family.hpp"
#include "gaussian/root_law.hpp"
#include "gaussmith/infer.hpp"
#include "support/models.hpp"
#include "support/truncated_newton.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

namespace gaussmith {
namespace {

Model full_optimum_problem(std::uint64_t seed) {
  constexpr std::array likelihoods{"bernoulli-logit", "poisson", "bernoulli-probit", "laplace", "gamma"};
  const char* likelihood = likelihoods[seed % likelihoods.size()];
  const auto rows = static_cast<Index>(4 + (7 * seed) % 23);
  const auto dimension = static_cast<Index>(2 + seed % 6);
  Model model = testing::linear_model(likelihood, rows, dimension, 1000 + seed);
  if (seed % 3 == 1)
    model.prior = Diagonal{testing::random_vector(dimension, seed), Vector::LinSpaced(dimension, 0.3, 4.0)};
  if (seed % 3 == 2)
    model.prior = DenseGaussian{testing::random_vector(dimension, seed),
                                testing::random_covariance(dimension, dimension + 2, seed)};
  if (seed % 4 == 3) model.design = SparseMatrix(model.design.entries().dense->sparseView(1.0, 0.4));
  return model;
}

TEST(KlFamilies, FourWaysToTheFullOptimumAgree) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    const Model model = full_optimum_problem(seed);
    const Posterior sites = infer(model, Kl{.covariance = "full"});
    ASSERT_TRUE(sites.report().converged()) << sites.report().message;
    const Marginals weights = sites.weights();
    const auto agree = [&](double bound, const Vector& mean, const Vector& variance, const Marginals& latent) {
      EXPECT_NEAR(bound, sites.log_evidence().value, 1e-7);
      EXPECT_LT((mean - weights.mean).cwiseAbs().maxCoeff(), 1e-6);
      EXPECT_LT((variance - weights.variance).cwiseAbs().maxCoeff(), 1e-6);
      EXPECT_LT((latent.mean - sites.latent().mean).cwiseAbs().maxCoeff(), 1e-6);
      EXPECT_LT((latent.variance - sites.latent().variance).cwiseAbs().maxCoeff(), 1e-6);
    };
    const std::string size = std::to_string(model.dimension());
    for (const char* family : {"chevron:", "banded:"}) {
      const Posterior other = infer(model, Kl{.covariance = family + size});
      EXPECT_TRUE(other.report().converged()) << family << other.report().message;
      EXPECT_EQ(other.log_evidence().kind, EvidenceKind::lower_bound);
      agree(other.log_evidence().value, other.weights().mean, other.weights().variance, other.latent());
    }
    FamilyOptions newton;
    newton.ascent = testing::truncated_newton;
    const FamilyFit cholesky = fit_family(model, {FamilyKind::full}, newton, 1);
    EXPECT_TRUE(cholesky.report.converged()) << cholesky.report.message;
    const RootLaw law(std::make_shared<PriorGeometry>(model.prior, model.design, 1), cholesky.covariance,
                      cholesky.coordinates);
    const Vector variance = law.weight_root().rowwise().squaredNorm();
    agree(cholesky.bound, cholesky.weight_mean, variance, cholesky.latent);
  }
}

}  // namespace
}  // namespace gaussmith
