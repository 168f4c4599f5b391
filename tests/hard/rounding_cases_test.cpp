// Single models that once gave a wrong answer and called it converged.

#include "gaussmith/infer.hpp"
#include "support/ill_conditioned.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

const std::array<Method, 4> methods = {Exact{}, Laplace{}, Kl{}, Ep{}};

/// Two values of a process a hair apart, seen through their difference.
Model contrast(double apart) {
  Matrix inputs(2, 1);
  inputs << 0.0, apart;
  Matrix difference(1, 2);
  difference << 1.0, -1.0;
  return {.prior = GaussianProcess{inputs, make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {1.0}}})},
          .design = difference,
          .sites = {observe("gaussian", Vector::Constant(1, 1e-7), {{"variance", Vector::Constant(1, 1e-10)}})}};
}

TEST(RoundingCases, DifferencesOfNearlyEqualWeightsAreNotClaimed) {
  for (const Method& method : methods) {
    // k(0) - k(d) = d^2 / 2 is below the rounding of k(0): nothing is known of the prior variance d^2 of the
    // difference.
    EXPECT_FALSE(infer(contrast(1e-9), method).report().converged()) << name_of(method);
    // d^2 = 1e-4 loses four digits of sixteen.
    const Posterior q = infer(contrast(1e-2), method);
    EXPECT_TRUE(q.report().converged()) << name_of(method);
    const double prior = -2.0 * std::expm1(-0.5e-4);
    EXPECT_NEAR(q.latent().variance(0) / (1.0 / (1.0 / prior + 1e10)), 1.0, 1e-6) << name_of(method);
  }
}

TEST(RoundingCases, WeightsBesideAnOffsetKeepTheirVariances) {
  Model model = process_model("gaussian", 5, 3);
  model.sites = {observe("gaussian", model.sites[0]->responses(), {{"variance", Vector::Constant(1, 1e-15)}})};
  model.offset = Vector::Zero(5);
  for (const Method& method : methods) {
    const Posterior q = infer(model, method);
    EXPECT_LT((q.weights().variance - q.latent().variance).cwiseAbs().maxCoeff(), 1e-25) << name_of(method);
    EXPECT_GT(q.weights().variance.minCoeff(), 0.0) << name_of(method);
  }
}

TEST(RoundingCases, PriorMeansThatCancelCountInTheError) {
  // H mean is a difference of 1e8 and 1e8 beside noise of 1e-6: eta is known to about 1e-8 only.
  Matrix h(3, 2);
  h << 0.1, -0.1 - 1e-12, 0.3, -0.3, -0.2, 0.2;
  const Model model{.prior = Isotropic{Vector::Constant(2, 1e8), 0.01},
                    .design = h,
                    .sites = {observe("gaussian", Vector::Ones(3), {{"variance", Vector::Constant(1, 1e-12)}})}};
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    const Posterior q = infer(model, Exact{}, {.form = form});
    EXPECT_FALSE(q.report().converged());
    EXPECT_GT(q.log_evidence().numerical_error, 1.0);
  }
}

TEST(RoundingCases, AMeanFarFromThePriorsIsRefined) {
  // The mean lies 1e9 posterior standard deviations from the prior's, so that an error of 1e-12 in A would show.
  Matrix h(4, 3);
  h << 1.4, -1.9, -0.69, -2.4, 1.3, 1.4, -2.2, -2.4, 1.8, 1.7, -2.1, -0.85;
  Vector y(4);
  y << 1.5e6, 1.1e6, 1.7e6, 1.0e6;
  Vector noise(4);
  noise << 8e-6, 4e-7, 4e-7, 4e-7;
  const IllConditioned problem{"far",
                               {.prior = Isotropic{Vector::Zero(3), 31000.0},
                                .design = h,
                                .sites = {observe("gaussian", y, {{"variance", noise}})}},
                               y,
                               noise,
                               {}};
  const GaussianTruth truth = gaussian_truth(problem);
  for (const Method& method : methods) {
    const Marginals w = infer(problem.model, method).weights();
    for (Index j = 0; j < 3; ++j) {
      const auto k = static_cast<std::size_t>(j);
      const double error = static_cast<double>(Precise(w.mean(j)) - truth.weight_mean[k]);
      EXPECT_LT(std::abs(error) / std::sqrt(w.variance(j)), 1e-4) << name_of(method) << " " << j;
    }
  }
}

TEST(RoundingCases, CopiesWithWhiteNoiseOfTheirOwnStayApart) {
  // linear x white: no noise at 0, noise at 1. Copies of 0 are equal, those of 1 are not.
  const auto with_inputs = [](const std::array<double, 4>& at) {
    Matrix inputs(4, 1);
    inputs << at[0], at[1], at[2], at[3];
    const KernelHandle kernel =
        product({make_kernel("linear", {{"signal_sd", {1.0}}}), make_kernel("white", {{"signal_sd", {1.0}}})});
    Vector y(4);
    for (Index i = 0; i < 4; ++i) y(i) = inputs(i, 0) == 0.0 ? 0.1 : (i % 2 == 0 ? 1.0 : -1.0);
    return Model{.prior = GaussianProcess{inputs, kernel},
                 .sites = {observe("gaussian", y, {{"variance", Vector::Constant(1, 0.1)}})}};
  };
  for (const auto& inputs : {std::array{0.0, 0.0, 1.0, 1.0}, std::array{1.0, 1.0, 0.0, 0.0}}) {
    const Model model = with_inputs(inputs);
    const double covariance = infer(model, Exact{}, {.form = CoreForm::covariance}).log_evidence().value;
    const double precision = infer(model, Exact{}, {.form = CoreForm::precision}).log_evidence().value;
    EXPECT_NEAR(covariance, precision, 1e-10);
  }
}

TEST(RoundingCases, SeparableClassesWithoutAPriorAreNotAMode) {
  Matrix h(6, 3);
  Vector y(6);
  for (Index i = 0; i < 6; ++i) {
    const auto x = static_cast<double>(i) / 5.0;
    h.row(i) << 1.0, x, x * x;
    y(i) = i < 3 ? -1.0 : 1.0;
  }
  const Model model{.prior = NoGaussian{3}, .design = h, .sites = {observe("bernoulli-logit", y)}};
  for (const Method& method : {Method(Laplace{}), Method(Kl{})})
    EXPECT_FALSE(infer(model, method).report().converged()) << name_of(method);
}

TEST(RoundingCases, VariancesThatRoundToZeroAreNotClaimed) {
  Vector noise(2);
  noise << 1.0, 1e-18;
  for (const double c : {0.7, 0.9, 1.1}) {
    const Model model{.prior = DenseGaussian{Vector::Zero(2), Matrix(Matrix::Constant(2, 2, c))},
                      .sites = {observe("gaussian", Vector::Ones(2), {{"variance", noise}})}};
    const Posterior q = infer(model, Exact{}, {.form = CoreForm::covariance});
    EXPECT_TRUE(!q.report().converged() || std::abs(q.latent().variance(0) / 1e-18 - 1.0) < 1e-3) << c;
  }
}

TEST(RoundingCases, RowsOfZerosAreNoReasonForDoubt) {
  Matrix h(3, 2);
  h << 0.0, 0.0, 1.0, 0.5, -0.5, 1.0;
  Matrix covariance(2, 2);
  covariance << 1.0, 0.3, 0.3, 1.0;
  Vector y(3);
  y << 1.0, -1.0, 1.0;
  const Model model{.prior = DenseGaussian{Vector::Zero(2), covariance},
                    .design = h,
                    .offset = Vector::Ones(3),
                    .sites = {observe("bernoulli-logit", y)}};
  for (const Method& method : {Method(Laplace{}), Method(Kl{}), Method(Ep{})})
    for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
      const Posterior q = infer(model, method, {.form = form});
      EXPECT_TRUE(q.report().converged()) << name_of(method) << ": " << q.report().brief();
    }
  const Posterior diagonal = infer(model, Kl{.covariance = "diagonal"});
  EXPECT_TRUE(diagonal.report().converged()) << diagonal.report().brief();
}

}  // namespace
}  // namespace gaussmith
