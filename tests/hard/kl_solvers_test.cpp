// Every solver of kl on reference problems, of which tests/data/README.md says where they come from.

#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace gaussmith {
namespace {

struct Reference {
  const char* name;
  double bound, error;
};

/// The optimum of the bound by other programs, and how well they know it.
const std::vector<Reference> references{{"logit_matern52iso_s3", -20.973617903814656, 1e-6},
                                        {"probit_matern32iso_s3", -26.272279720346084, 1e-6},
                                        {"probit_seard_s3", -20.856786881938294, 1e-6},
                                        {"gamma_matern32iso_s2", -69.55409045441147, 1e-6},
                                        {"laplacelik_matern32iso_s1", -49.73769985610866, 1e-6},
                                        {"negbin_seiso_s1", -108.14418768380273, 1e-6},
                                        {"poisson_matern32iso_s1", -102.51761255520606, 1e-6},
                                        {"exponential_d2n10", -14.50893555749581, 3e-10},
                                        {"gp_weibull_rq_n25", -23.822605297103408, 5e-10},
                                        {"binomial_d2n10", -21.45703693133434, 5e-10},
                                        {"laplace_d2n12", -17.45052028426182, 4e-10}};

Model reference_model(const std::string& name) {
  return read_problem(std::string(GAUSSMITH_TEST_DATA) + "/kl/" + name + ".json").model;
}

class KlReferences : public testing::TestWithParam<KlSolver> {};

TEST_P(KlReferences, EverySolverMeetsTheSiteForm) {
  for (const Reference& reference : references) {
    SCOPED_TRACE(reference.name);
    const Model model = reference_model(reference.name);
    const std::string& likelihood = model.sites.front()->traits().name;
    const bool in_dual =
        likelihood == "gamma" || likelihood == "poisson" || likelihood == "exponential" || likelihood == "weibull";
    if (GetParam() == KlSolver::dual && !in_dual) continue;
    const Posterior sites = infer(model, Kl{.covariance = "full"});
    EXPECT_NEAR(sites.log_evidence().value, reference.bound, reference.error + 1e-9);
    const Posterior q = infer(model, Kl{.covariance = "full", .solver = GetParam()});
    EXPECT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_NEAR(q.log_evidence().value, sites.log_evidence().value, 1e-7);
    const Marginals& a = q.latent();
    const Marginals& b = sites.latent();
    const double scale = 1.0 + b.mean.lpNorm<Eigen::Infinity>();
    EXPECT_LT((a.mean - b.mean).lpNorm<Eigen::Infinity>(), 1e-5 * scale);
    EXPECT_LT((a.variance - b.variance).cwiseQuotient(b.variance).lpNorm<Eigen::Infinity>(), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, KlReferences,
                         testing::Values(KlSolver::decoupled, KlSolver::dual, KlSolver::alpha_lambda,
                                         KlSolver::cholesky),
                         [](const auto& info) {
                           const char* names[] = {"Sites", "Decoupled", "Dual", "AlphaLambda", "Cholesky"};
                           return std::string(names[static_cast<int>(info.param)]);
                         });

}  // namespace
}  // namespace gaussmith
