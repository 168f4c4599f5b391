// Every solver of kl on reference problems, of which tests/data/README.md says where they come from.

#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
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

void expect_site_form(KlSolver solver, const std::vector<std::string>& likelihoods = {},
                      Index most_rows = std::numeric_limits<Index>::max()) {
  int compared = 0;
  for (const Reference& reference : references) {
    const Model model = reference_model(reference.name);
    const std::string& likelihood = model.sites.front()->traits().name;
    const bool wanted =
        likelihoods.empty() || std::find(likelihoods.begin(), likelihoods.end(), likelihood) != likelihoods.end();
    if (!wanted || model.rows() > most_rows) continue;
    SCOPED_TRACE(reference.name);
    ++compared;
    const Posterior sites = infer(model, Kl{.covariance = "full"});
    EXPECT_NEAR(sites.log_evidence().value, reference.bound, reference.error + 1e-9);
    const Posterior q = infer(model, Kl{.covariance = "full", .solver = solver});
    EXPECT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_NEAR(q.log_evidence().value, sites.log_evidence().value, 1e-7);
    const Marginals& a = q.latent();
    const Marginals& b = sites.latent();
    const double scale = 1.0 + b.mean.lpNorm<Eigen::Infinity>();
    EXPECT_LT((a.mean - b.mean).lpNorm<Eigen::Infinity>(), 1e-5 * scale);
    EXPECT_LT((a.variance - b.variance).cwiseQuotient(b.variance).lpNorm<Eigen::Infinity>(), 1e-5);
  }
  EXPECT_GE(compared, 4);
}

TEST(KlReferences, DecoupledMeetsTheSiteForm) { expect_site_form(KlSolver::decoupled); }

TEST(KlReferences, DualMeetsTheSiteForm) {
  expect_site_form(KlSolver::dual, {"poisson", "exponential", "gamma", "weibull"});
}

// Smooth logistic and probit processes, whose V o V is far from its diagonal, once came to no end. Those of 90 rows
// take seconds, and many under a sanitizer, which sees nothing there that it does not see in the others.
TEST(KlReferences, AlphaLambdaMeetsTheSiteForm) {
#ifdef GAUSSMITH_INSTRUMENTED
  expect_site_form(KlSolver::alpha_lambda, {}, 50);
#else
  expect_site_form(KlSolver::alpha_lambda);
#endif
}

// D(D + 3)/2 variables: 90 rows take seconds.
TEST(KlReferences, CholeskyMeetsTheSiteForm) { expect_site_form(KlSolver::cholesky, {}, 50); }

}  // namespace
}  // namespace gaussmith
