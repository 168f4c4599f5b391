// Searches that keep the best: problems on which a single way up ends in a poor optimum, or nowhere.

#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace gaussmith {
namespace {

Model hard_model(const std::string& name) {
  return read_problem(std::string(GAUSSMITH_TEST_DATA) + "/hard/" + name + ".json").model;
}

double bound_of(const Model& model, const std::string& covariance, CoreForm form = CoreForm::automatic) {
  Run run;
  run.form = form;
  return infer(model, Kl{.covariance = covariance}, run).log_evidence().value;
}

TEST(Searches, LaplaceClimbsFromAStartThatOneSiteDominates) {
  // A curvature of 1e33 at the prior mean beside one of 1: the mode is far away, and there.
  const Model model = hard_model("one_strong_site");
  const Posterior q = infer(model, Laplace{});
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(q.log_evidence().value, infer(model, Kl{}).log_evidence().value, 0.3);
  // Without the rows of single weights their difference is open.
  Model open = model;
  open.design = Matrix(Matrix::Ones(1, 2));
  open.sites.resize(1);
  EXPECT_ANY_THROW((void)infer(open, Laplace{}));
}

TEST(Searches, FullCovarianceIsAboveTheFamilies) {
  for (const CoreForm form : {CoreForm::covariance, CoreForm::precision}) {
    // Known values of the families' optima.
    EXPECT_GE(bound_of(hard_model("cauchy_one_weight"), "full", form), -47.3537);
    EXPECT_GE(bound_of(hard_model("cauchy_two_weights"), "full", form), -164.8787);
    EXPECT_NEAR(bound_of(hard_model("cauchy_three_scales"), "full", form), -94.0107, 1e-3);
  }
  for (const char* name : {"cauchy_one_weight", "cauchy_two_weights", "cauchy_three_scales"}) {
    const Model model = hard_model(name);
    const double full = bound_of(model, "full");
    for (const char* family : {"diagonal", "chevron:1", "subspace:1", "factor:1"})
      EXPECT_GE(full, bound_of(model, family) - 1e-6) << name << " " << family;
  }
}

}  // namespace
}  // namespace gaussmith
