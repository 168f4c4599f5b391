// Inducing inputs that are chosen, and learning with them.

#include "gaussmith/errors.hpp"
#include "gaussmith/inducing.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

Model waves(Index n) {
  const Matrix x = 2.0 * random_matrix(n, 2, 3);
  const Vector y = (1.5 * x.col(0)).array().sin() + 0.1 * random_vector(n, 4).array();
  return {.prior = GaussianProcess{x, make_kernel("se", {{"lengthscale", {1.0, 1.0}}}), 0.0},
          .sites = {observe("gaussian", y, {{"variance", one(0.1)}})}};
}

std::vector<Index> rows_of(const ChosenInducing& chosen) {
  std::vector<Index> rows;
  for (const auto& [row, latent] : chosen.sites) rows.push_back(row);
  return rows;
}

TEST(ChooseInducing, TakesTheRowThatTheOthersTellLeastAbout) {
  const Model model = waves(60);
  const auto& process = std::get<GaussianProcess>(model.prior);
  const ChosenInducing chosen = choose_inducing(model, {.count = 8});
  ASSERT_EQ(chosen.sites.size(), 8U);
  Matrix k;
  process.kernel->gram(process.inputs, k);
  for (std::size_t m = 1; m < 8; ++m) {
    const std::vector<Index> before = [&] {
      std::vector<Index> all = rows_of(chosen);
      all.resize(m);
      return all;
    }();
    const Matrix across = k(Eigen::all, before);
    const Matrix within = k(before, before);
    const Vector left = k.diagonal() - dense_product(across, dense_solve(within, across.transpose())).diagonal();
    Index expected = 0;
    const double score = left.maxCoeff(&expected);
    EXPECT_EQ(chosen.sites[m].first, expected);
    EXPECT_NEAR(chosen.scores[m], score, 1e-10);
  }
  const Matrix inputs = std::get<GaussianProcess>(chosen.model.prior).inducing->inputs;
  EXPECT_EQ(inputs, Matrix((*process.inputs)(rows_of(chosen), Eigen::all)));
}

TEST(ChooseInducing, EndsWhereAllRowsFollow) {
  Model model = waves(30);
  std::get<GaussianProcess>(model.prior).kernel = make_kernel("linear");
  const ChosenInducing chosen = choose_inducing(model, {.count = 10});
  EXPECT_EQ(chosen.sites.size(), 2U);
  EXPECT_NE(chosen.how.find("10 were asked for"), std::string::npos) << chosen.how;
}

TEST(ChooseInducing, RandomRowsFollowTheSeed) {
  const Model model = waves(50);
  const InducingSelection selection{.count = 12, .select = InducingChoice::random};
  const auto first = rows_of(choose_inducing(model, selection, {.seed = 4}));
  EXPECT_EQ(first, rows_of(choose_inducing(model, selection, {.seed = 4})));
  EXPECT_NE(first, rows_of(choose_inducing(model, selection, {.seed = 5})));
  EXPECT_EQ(std::set<Index>(first.begin(), first.end()).size(), 12U);
}

TEST(ChooseInducing, LearningChoosesAnewAndReportsABound) {
  const Model model = waves(80);
  const LearnedInducing found = learn_inducing(model, {.count = 15}, Kl{});
  const Posterior& posterior = found.learned.posterior;
  EXPECT_EQ(found.learned.report.status, Status::converged) << found.learned.report.message;
  EXPECT_EQ(posterior.log_evidence().kind, EvidenceKind::lower_bound);
  // Never above the evidence of the same parameters without inducing variables, and near it.
  Model full = posterior.model();
  std::get<GaussianProcess>(full.prior).inducing.reset();
  const double evidence = infer(full, Exact{}).log_evidence().value;
  EXPECT_LE(posterior.log_evidence().value, evidence + 1e-8);
  EXPECT_GT(posterior.log_evidence().value, evidence - 3.0);
  // The second column is noise: its length-scale grows, so that the first choice was not the last.
  EXPECT_GT(found.rounds, 1);
  EXPECT_EQ(found.learned.report.parameters.front().initial, 1.0);
}

TEST(ChooseInducing, InputsAreLearnedOnRequest) {
  Model model = waves(40);
  ChosenInducing chosen = choose_inducing(model, {.count = 4});
  auto& process = std::get<GaussianProcess>(chosen.model.prior);
  const double before = infer(chosen.model, Kl{}).log_evidence().value;
  process.inducing->learn = true;
  LearnOptions options;
  for (const Parameter& p : model.parameters()) options.fixed.insert(p.name);
  const Learned learned = learn(chosen.model, Kl{}, options);
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_GT(learned.posterior.log_evidence().value, before + 0.1);
  const Matrix moved = std::get<GaussianProcess>(learned.posterior.model().prior).inducing->inputs;
  EXPECT_GT((moved - *process.inducing->inputs).norm(), 1e-2);
}

TEST(ChooseInducing, RefusesWhatItIsNotFor) {
  const Model model = waves(20);
  EXPECT_THROW((void)choose_inducing(model, {.count = 21}), InvalidOption);
  EXPECT_THROW((void)choose_inducing(model, {.count = 0}), InvalidOption);
  EXPECT_THROW((void)choose_inducing(linear_model("poisson", 9, 2, 1), {.count = 2}), InvalidOption);
  Model designed = model;
  designed.design = Matrix(Matrix::Identity(20, 20));
  EXPECT_THROW((void)choose_inducing(designed, {.count = 2}), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
