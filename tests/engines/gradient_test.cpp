// Evidence gradients of the Laplace, exact, KL and VB engines against central differences of whole inferences.

#include "engines/evidence_differences.hpp"
#include "gaussmith/infer.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

class Gradient : public ::testing::TestWithParam<std::string> {};

TEST_P(Gradient, OfAProcessMatchesDifferencesInBothForms) {
  const Model model = process_model(GetParam(), 14, 11);
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision})
    expect_evidence_gradient(model, Laplace{.max_iterations = 200, .tolerance = 1e-11}, gaussmith::Run{.form = form});
}

TEST_P(Gradient, OfALinearModelMatchesDifferencesInBothForms) {
  for (const auto& [rows, dimension] : {std::pair<Index, Index>{12, 3}, {5, 9}})
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision})
      expect_evidence_gradient(linear_model(GetParam(), rows, dimension, 5),
                               Laplace{.max_iterations = 200, .tolerance = 1e-11}, gaussmith::Run{.form = form});
}

INSTANTIATE_TEST_SUITE_P(Sites, Gradient, ::testing::ValuesIn(smooth_likelihoods()), [](const auto& tested) {
  std::string name = tested.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(GradientOfKernels, MatchesDifferencesThroughSumsAndProducts) {
  Model model = process_model("poisson", 12, 3);
  auto& process = std::get<GaussianProcess>(model.prior);
  for (const KernelHandle& kernel :
       {sum({make_kernel("matern32", {{"lengthscale", {0.7}}}), make_kernel("linear", {{"signal_sd", {0.4}}})}),
        product({make_kernel("periodic", {{"period", {1.7}}}), make_kernel("rq", {{"alpha", {0.9}}})}),
        sum({make_kernel("neural-network"), make_kernel("white", {{"signal_sd", {0.3}}})})}) {
    process.kernel = kernel;
    expect_evidence_gradient(model, Laplace{.max_iterations = 200, .tolerance = 1e-11}, {});
  }
}

TEST(GradientOfAProcess, ThroughADenseDesign) {
  Model model = process_model("bernoulli-logit", 6, 4);
  model.design = Matrix(random_matrix(15, 6, 8));
  model.sites = {random_sites("student-t", 9, 2), random_sites("bernoulli-logit", 6, 3)};
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision})
    expect_evidence_gradient(model, Laplace{.max_iterations = 200, .tolerance = 1e-11}, gaussmith::Run{.form = form});
  model.design = SparseMatrix(model.design.entries().dense->sparseView(1.0, 0.8));
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision})
    expect_evidence_gradient(model, Laplace{.max_iterations = 200, .tolerance = 1e-11}, gaussmith::Run{.form = form});
}

TEST(GradientOfKl, MatchesDifferencesForEverySiteInBothForms) {
  const Kl method{.tolerance = 1e-10, .starts = 1};
  for (const std::string& likelihood : all_likelihoods())
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      SCOPED_TRACE(likelihood);
      expect_evidence_gradient(process_model(likelihood, 10, 11), method, gaussmith::Run{.form = form});
      expect_evidence_gradient(linear_model(likelihood, 12, 3, 5), method, gaussmith::Run{.form = form});
    }
}

TEST(GradientOfVb, MatchesDifferencesForEverySuperGaussianSiteInBothForms) {
  const Vb method{.tolerance = 1e-10, .starts = 1};
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    if (!info.traits.super_gaussian) continue;
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      SCOPED_TRACE(info.traits.name);
      expect_evidence_gradient(process_model(info.traits.name, 10, 11), method, gaussmith::Run{.form = form});
      expect_evidence_gradient(linear_model(info.traits.name, 12, 3, 5), method, gaussmith::Run{.form = form});
    }
  }
}

TEST(GradientOfKl, MatchesDifferencesForConstrainedCovariances) {
  const char* const families[] = {"diagonal", "banded:2", "chevron:2", "factor:1"};
  for (const char* family : families)
    for (const Basis basis : {Basis::weights, Basis::whitened}) {
      SCOPED_TRACE(family);
      const Kl method{.covariance = family, .basis = basis, .starts = 1};
      Model process = process_model("poisson", 8, 11);
      auto& inputs = std::get<GaussianProcess>(process.prior).inputs;
      inputs = 3.0 * *inputs;  // Far from singular.
      expect_evidence_gradient(process, method, {});
      expect_evidence_gradient(linear_model("gamma", 12, 4, 5), method, {});
    }
}

TEST(GradientOfExact, MatchesDifferences) {
  expect_evidence_gradient(process_model("gaussian", 15, 21), Exact{}, {});
  expect_evidence_gradient(linear_model("gaussian", 15, 4, 21), Exact{}, {});
}

}  // namespace
}  // namespace gaussmith
