#include "gaussmith/starts.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/inducing.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

Model with_lengthscales() {
  const Matrix inputs = random_vector(40, 1).reshaped(20, 2);
  return {.prior = GaussianProcess{inputs, make_kernel("se", {{"lengthscale", {0.5, 3.0}}})},
          .design = Identity{},
          .offset = {},
          .sites = {observe("gaussian", random_vector(20, 2), {{"variance", one(0.3)}})}};
}

std::map<std::string, double> values_of(const Model& model) {
  std::map<std::string, double> out;
  for (const Parameter& parameter : model.parameters()) out[parameter.name] = parameter.value;
  return out;
}

TEST(Starts, ANameStandsForAllEntriesOfAVector) {
  const Model model = with_lengthscales();
  EXPECT_EQ(full_names(model, "kernel.lengthscale"),
            (std::vector<std::string>{"kernel.lengthscale[0]", "kernel.lengthscale[1]"}));
  EXPECT_EQ(full_names(model, "kernel.lengthscale[1]"), std::vector<std::string>{"kernel.lengthscale[1]"});
  EXPECT_EQ(full_names(model, "likelihood.variance"), std::vector<std::string>{"sites[0].variance"});
  EXPECT_THROW((void)full_names(model, "kernel.length"), InvalidOption);
}

TEST(Starts, OnlyWhatNobodySetMovesIntoItsBounds) {
  const Model model = with_lengthscales();
  const LearnOptions options{.bounds = {{"kernel.lengthscale[0]", {1.0, 2.0}},
                                        {"kernel.lengthscale[1]", {1.0, 2.0}},
                                        {"sites[0].variance", {0.1, 0.5}}}};
  const auto moved = values_of(started_inside(model, options, {"prior.scale"}));
  EXPECT_EQ(moved.at("kernel.lengthscale[0]"), 1.0);
  EXPECT_EQ(moved.at("kernel.lengthscale[1]"), 2.0);
  EXPECT_EQ(moved.at("sites[0].variance"), 0.3);
  EXPECT_EQ(moved.at("kernel.signal_sd"), 1.0);
  const auto half = values_of(started_inside(model, options, {"kernel.lengthscale[0]", "likelihood.variance"}));
  EXPECT_EQ(half.at("kernel.lengthscale[0]"), 0.5);
  EXPECT_EQ(half.at("kernel.lengthscale[1]"), 2.0);
  EXPECT_EQ(values_of(started_inside(model, options, {"kernel.lengthscale"})), values_of(model));
  const LearnOptions short_name{.bounds = {{"sites[0].variance", {1.0, 2.0}}}};
  EXPECT_EQ(values_of(started_inside(model, short_name, {"likelihood.variance"})), values_of(model));
}

TEST(Starts, BoundsThatAreNoneAreLeftForLearnToRefuse) {
  const Model model = with_lengthscales();
  for (const Bounds wrong : {Bounds{-5.0, -1.0}, Bounds{2.0, 1.0}, Bounds{9.0, 9.0}}) {
    const LearnOptions options{.bounds = {{"kernel.lengthscale[0]", wrong}}};
    EXPECT_EQ(values_of(started_inside(model, options, {})), values_of(model));
    EXPECT_THROW((void)learn(model, Exact{}, options), InvalidOption);
  }
}

TEST(Keep, TellsWhatLearningWouldReturnIfItStopped) {
  const Model model = process_model("bernoulli-logit", 25, 3);
  std::vector<LearnReport> kept;
  std::vector<double> evidences;
  LearnOptions options{.restarts = 1};
  options.keep = [&](const Learned& learned) {
    kept.push_back(learned.report);
    evidences.push_back(infer(learned.posterior.model(), Laplace{}).log_evidence().value);
  };
  const Learned learned = learn(model, Laplace{}, options);
  ASSERT_GT(kept.size(), 2U);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].status, Status::stopped);
    EXPECT_NEAR(kept[i].objective, evidences[i], 1e-6);
    EXPECT_EQ(kept[i].parameters.size(), learned.report.parameters.size());
    EXPECT_FALSE(kept[i].parameters.front().standard_error);
    if (i > 0) {
      EXPECT_GE(kept[i].objective, kept[i - 1].objective - 1e-6);
      EXPECT_GT(kept[i].evaluations, kept[i - 1].evaluations);
    }
  }
  EXPECT_EQ(kept.back().objective, learned.report.objective);
  options.keep = {};
  EXPECT_EQ(learn(model, Laplace{}, options).report.objective, learned.report.objective);
}

TEST(Keep, IsNeverToldOfAPartOfTheRows) {
  const Vector inputs = Vector::LinSpaced(410, -3.0, 3.0);
  const Model model{.prior = GaussianProcess{Matrix(inputs), make_kernel("se")},
                    .design = Identity{},
                    .offset = {},
                    .sites = {observe("gaussian", Vector(inputs.array().sin()) + 0.3 * random_vector(410, 1),
                                      {{"variance", one(0.1)}})}};
  LearnOptions options{.max_evaluations = 4, .standard_errors = false};
  int told = 0;
  options.keep = [&](const Learned& learned) {
    ++told;
    EXPECT_EQ(learned.posterior.model().rows(), 410);
  };
  const Learned learned = learn(model, Exact{}, options);
  EXPECT_GT(learned.report.part_evaluations, 0);
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace gaussmith
