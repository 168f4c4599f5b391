// An operator that only multiplies in the place of every dense design: the same posterior, or a refusal by name.

#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/learn.hpp"
#include "support/models.hpp"
#include "support/operators.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

struct Case {
  std::string name;
  Model model;
};

/// Priors of every kind over dense rows, fewer and more of them than weights.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Index rows : {6, 15}) {
    const std::string shape = rows == 6 ? ", few rows" : ", many rows";
    Model model = linear_model("bernoulli-logit", rows, 8, 3);
    all.push_back({"isotropic" + shape, model});
    model.prior = Diagonal{random_vector(8, 4), random_vector(8, 5).cwiseAbs2()};
    model.sites = {random_sites("poisson", rows, 6)};
    all.push_back({"diagonal" + shape, model});
    model.prior = DenseGaussian{random_vector(8, 4), random_covariance(8, 8, 7)};
    model.sites = {random_sites("student-t", rows, 8)};
    all.push_back({"dense" + shape, model});
    model.prior = GaussianProcess{random_matrix(8, 2, 9), make_kernel("se", {{"lengthscale", {0.9}}}), 0.2};
    model.sites = {random_sites("gaussian", rows, 10)};
    all.push_back({"process" + shape, model});
  }
  Model none = linear_model("gaussian", 15, 4, 11);
  none.prior = NoGaussian{4};
  all.push_back({"none", none});
  return all;
}

TEST(OperatorDesign, GivesThePosteriorOfTheDenseOne) {
  for (const Case& c : cases()) {
    Model other = c.model;
    other.design = only_multiplies(*c.model.design.entries().dense);
    const bool gaussian = c.model.sites[0]->traits().gaussian;
    std::vector<Method> methods = {Laplace{}, Kl{.covariance = "full"}, Ep{}};
    if (gaussian) methods.push_back(Exact{});
    std::vector<CoreForm> forms = {CoreForm::precision};
    if (!std::holds_alternative<NoGaussian>(c.model.prior)) forms.push_back(CoreForm::covariance);
    for (const Method& method : methods)
      for (const CoreForm form : forms) {
        SCOPED_TRACE(c.name + " " + std::string(name_of(method)) + (form == CoreForm::precision ? " precision" : ""));
        const Posterior a = infer(c.model, method, {.form = form});
        const Posterior b = infer(other, method, {.form = form});
        EXPECT_EQ(a.report().converged(), b.report().converged());
        EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-8 * (1 + std::abs(a.log_evidence().value)));
        EXPECT_EQ(a.log_evidence().kind, b.log_evidence().kind);
        EXPECT_LT((a.latent().mean - b.latent().mean).norm(), 1e-6);
        EXPECT_LT((a.latent().variance - b.latent().variance).norm(), 1e-6);
        EXPECT_LT((a.weights().mean - b.weights().mean).norm(), 1e-6);
        EXPECT_LT((a.weights().variance - b.weights().variance).norm(), 1e-6);
        EXPECT_LT((a.latent_covariance({3, 1}) - b.latent_covariance({3, 1})).norm(), 1e-6);
        EXPECT_LT((a.leave_one_out().log_density - b.leave_one_out().log_density).norm(), 1e-5);
        const auto gradient = b.gradient();
        for (const auto& [name, value] : a.gradient())
          EXPECT_NEAR(gradient.at(name), value, 1e-5 * (1 + std::abs(value)));
        const PredictionPoints points{.design = random_matrix(4, c.model.dimension(), 12)};
        EXPECT_LT((a.predict(points).latent_mean() - b.predict(points).latent_mean()).norm(), 1e-6);
        EXPECT_LT((a.predict(points).latent_variance() - b.predict(points).latent_variance()).norm(), 1e-6);
        const PredictionPoints by_operator{.design = only_multiplies(random_matrix(4, c.model.dimension(), 12))};
        EXPECT_LT((a.predict(points).latent_mean() - b.predict(by_operator).latent_mean()).norm(), 1e-6);
      }
  }
}

TEST(OperatorDesign, IsLearnedFrom) {
  Model model = linear_model("bernoulli-logit", 30, 4, 3);
  const Learned dense = learn(model, Laplace{});
  model.design = only_multiplies(*model.design.entries().dense);
  const Learned other = learn(model, Laplace{});
  EXPECT_NEAR(dense.report.objective, other.report.objective, 1e-7);
}

TEST(OperatorDesign, IsRefusedByNameWhereEntriesAreNeeded) {
  Model model = linear_model("bernoulli-logit", 12, 5, 3);
  model.design = only_multiplies(*model.design.entries().dense);
  for (const char* family : {"diagonal", "banded:2", "chevron:2", "subspace:2", "factor:1"}) {
    SCOPED_TRACE(family);
    try {
      (void)infer(model, Kl{.covariance = family});
      FAIL();
    } catch (const InvalidOption& error) {
      EXPECT_NE(std::string(error.what()).find("operator that only multiplies"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(family), std::string::npos) << error.what();
    }
  }
  // The covariance form keeps the design to predict from: a file cannot.
  SavedModel saved;
  saved.fitted = infer(model, Laplace{}, {.form = CoreForm::covariance}).fitted();
  EXPECT_THROW((void)format_saved_model(saved), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
