// The bound's gradient and Hessian products against central differences, for every family, prior and design.

#include "families/family_space.hpp"
#include "families/step_model.hpp"
#include "support/models.hpp"
#include "support/truncated_newton.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using testing::random_covariance;
using testing::random_matrix;
using testing::random_sites;
using testing::random_vector;

constexpr Index dimension = 7;

Prior prior_of(const std::string& kind) {
  const Vector mean = 0.2 * random_vector(dimension, 1);
  if (kind == "isotropic") return Isotropic{mean, 0.7};
  if (kind == "diagonal")
    return Diagonal{mean, random_vector(dimension, 2).cwiseAbs() + Vector::Constant(dimension, 0.1)};
  if (kind == "dense") return DenseGaussian{mean, random_covariance(dimension, 2 * dimension, 3)};
  if (kind == "process")
    return GaussianProcess{random_matrix(dimension, 2, 4), make_kernel("matern32", {{"lengthscale", {0.6}}}), 0.1};
  return NoGaussian{dimension};
}

Design design_of(const std::string& kind, Index rows) {
  const Matrix h = 0.6 * random_matrix(rows, dimension, 5);
  if (kind == "dense") return h;
  if (kind == "identity") return Identity{};
  Matrix thinned = h;
  for (Index n = 0; n < rows; ++n)
    for (Index j = 0; j < dimension; ++j)
      if ((n + 2 * j) % 3 != 0) thinned(n, j) = 0.0;
  SparseMatrix sparse = thinned.sparseView();
  return sparse;
}

std::vector<CovarianceFamily> families() {
  CovarianceFamily sparse{FamilyKind::sparse};
  for (int i = 0; i < dimension; ++i) sparse.entries.emplace_back(i, i);
  for (const auto& entry : std::vector<std::pair<int, int>>{{0, 3}, {0, 6}, {2, 3}, {4, 6}})
    sparse.entries.push_back(entry);
  return {{FamilyKind::full},     {FamilyKind::diagonal}, {FamilyKind::banded, 2}, {FamilyKind::chevron, 3}, sparse,
          {FamilyKind::factor, 2}};
}

struct Case {
  std::string prior, design, likelihood;
};

class Objective : public ::testing::TestWithParam<Case> {};

Model model_of(const Case& c) {
  const Index rows = c.design == "identity" ? dimension : 12;
  return Model{.prior = prior_of(c.prior),
               .design = design_of(c.design, rows),
               .offset = 0.3 * random_vector(rows, 8),
               .sites = {random_sites(c.likelihood, rows, 9)}};
}

ModelSpace space_of(const Model& model, const CovarianceFamily& family, Basis basis) {
  PriorGeometry geometry(model.prior, model.design, 1);
  return make_space(model, geometry, family, basis);
}

/// Some entries of a root with a positive diagonal.
Vector some_root(const RootPattern& p) {
  Vector entries = 0.3 * random_vector(p.entries(), 10);
  for (Index j = 0; j < p.columns; ++j) entries(p.diagonal(j)) = 0.4 + std::abs(entries(p.diagonal(j)));
  return entries;
}

TEST_P(Objective, GradientMatchesCentralDifferences) {
  const Model model = model_of(GetParam());
  for (const CovarianceFamily& family : families())
    for (const Basis basis : {Basis::weights, Basis::whitened}) {
      SCOPED_TRACE(to_string(family));
      const ModelSpace space = space_of(model, family, basis);
      const FamilyObjective objective(space.space, model, 2);
      const Vector x = 0.3 * random_vector(space.space.dimension(), 11);
      const Vector c = some_root(space.space.pattern);
      const FamilyGradient gradient = objective.gradient(objective.at(x, c));
      constexpr double h = 1e-5;
      for (Index j = 0; j < x.size(); ++j) {
        const Vector unit = h * Vector::Unit(x.size(), j);
        const double slope = (objective.at(x + unit, c).value - objective.at(x - unit, c).value) / (2 * h);
        EXPECT_NEAR(gradient.mean(j), slope, 2e-7 * (1 + std::abs(slope)));
      }
      for (Index e = 0; e < c.size(); ++e) {
        const Vector unit = h * Vector::Unit(c.size(), e);
        const double slope = (objective.at(x, c + unit).value - objective.at(x, c - unit).value) / (2 * h);
        EXPECT_NEAR(gradient.root(e), slope, 2e-7 * (1 + std::abs(slope))) << e;
      }
    }
}

TEST_P(Objective, HessianProductMatchesCentralDifferences) {
  const Model model = model_of(GetParam());
  for (const CovarianceFamily& family : families()) {
    if (family.kind == FamilyKind::factor) continue;
    SCOPED_TRACE(to_string(family));
    const ModelSpace space = space_of(model, family, Basis::weights);
    const FamilyObjective objective(space.space, model, 1);
    const Vector x = 0.3 * random_vector(space.space.dimension(), 11);
    const Vector c = some_root(space.space.pattern);
    const FamilyPoint point = objective.at(x, c);
    const Vector dx = random_vector(x.size(), 12);
    const Vector dc = random_vector(c.size(), 13);
    const FamilyGradient product = testing::hessian_times(objective, point, testing::site_curvature(objective, point),
                                                          objective.direction(dx, dc));
    constexpr double h = 1e-5;
    const FamilyGradient up = objective.gradient(objective.at(x + h * dx, c + h * dc));
    const FamilyGradient down = objective.gradient(objective.at(x - h * dx, c - h * dc));
    const Vector mean = (up.mean - down.mean) / (2 * h);
    const Vector root = (up.root - down.root) / (2 * h);
    const double scale = 1 + std::max(mean.cwiseAbs().maxCoeff(), root.cwiseAbs().maxCoeff());
    EXPECT_LT((product.mean - mean).cwiseAbs().maxCoeff(), 1e-5 * scale);
    EXPECT_LT((product.root - root).cwiseAbs().maxCoeff(), 1e-5 * scale);
  }
}

TEST_P(Objective, StepsPointUpwards) {
  const Model model = model_of(GetParam());
  for (const CovarianceFamily& family : families()) {
    SCOPED_TRACE(to_string(family));
    const ModelSpace space = space_of(model, family, Basis::weights);
    const FamilyObjective objective(space.space, model, 1);
    const FamilyPoint point =
        objective.at(0.3 * random_vector(space.space.dimension(), 11), some_root(space.space.pattern));
    FamilyGradient gradient;
    const FamilyStep step = StepModel(objective).step(point, gradient);
    EXPECT_LT((gradient.root - objective.gradient(point).root).cwiseAbs().maxCoeff(), 1e-10);
    EXPECT_GT(step.mean_decrement, 0.0);
    EXPECT_GT(step.root_decrement, 0.0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    PriorsAndDesigns, Objective,
    ::testing::Values(Case{"isotropic", "dense", "bernoulli-logit"}, Case{"isotropic", "sparse", "poisson"},
                      Case{"diagonal", "dense", "laplace"}, Case{"diagonal", "sparse", "bernoulli-probit"},
                      Case{"dense", "dense", "bernoulli-logit"}, Case{"dense", "sparse", "gaussian"},
                      Case{"process", "identity", "poisson"}, Case{"process", "dense", "bernoulli-logit"},
                      Case{"none", "dense", "poisson"}, Case{"none", "sparse", "gaussian"},
                      Case{"isotropic", "dense", "student-t"}),
    [](const auto& tested) {
      std::string name = tested.param.prior + "_" + tested.param.design + "_" + tested.param.likelihood;
      for (char& c : name)
        if (c == '-') c = '_';
      return name;
    });

}  // namespace
}  // namespace gaussmith
