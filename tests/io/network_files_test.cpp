#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace gaussmith {
namespace {

std::string network_problem(const std::string& prior, const std::string& more = "") {
  return R"({"format": "gaussmith-problem/1", "prior": {"inputs": [[0.1, 2], [0.7, 1], [1.3, 0]], )" + prior +
         R"(}, "sites": [{"type": "gaussian", "y": [0.5, -1, 4]}])" + more + "}";
}

TEST(NetworkFilesTest, EveryFieldOfANetworkIsRead) {
  const Problem problem = parse_problem(
      network_problem(R"("type": "network", "units": 3, "weights": "laplace-ard", "groups": {"both": [1, 0]},
                         "names": ["dose", "age"], "linear": false, "scale_prior": [-1, 2], "noise_prior": [0, 1],
                         "bias_sd": 1.5, "intercept_sd": 2.5, "output_scale": 3.5, "output_degrees": 4.5)",
                      R"(, "offset": [1, 2, 3], "predict": {"inputs": [[1, 2]], "y": [0.5], "offset": 7})"),
      "p.json");
  ASSERT_TRUE(problem.network);
  const NetworkModel& model = *problem.network;
  EXPECT_EQ(model.inputs(2, 0), 1.3);
  EXPECT_EQ(model.sites->responses()(2), 4.0);
  EXPECT_EQ(model.offset(1), 2.0);
  EXPECT_EQ(model.input_names.at(1), "age");
  EXPECT_EQ(model.prior.units, 3);
  EXPECT_EQ(model.prior.weights, WeightPrior::laplace_ard);
  EXPECT_EQ(model.prior.groups.at(0).name, "both");
  EXPECT_EQ(model.prior.groups.at(0).inputs, (std::vector<Index>{1, 0}));
  EXPECT_FALSE(model.prior.linear);
  EXPECT_EQ(model.prior.scale_prior.sd, 2.0);
  EXPECT_EQ(model.prior.noise_prior.mean, 0.0);
  EXPECT_EQ(model.prior.bias_sd, 1.5);
  EXPECT_EQ(model.prior.intercept_sd, 2.5);
  EXPECT_EQ(model.prior.output_scale, 3.5);
  EXPECT_EQ(model.prior.output_degrees, 4.5);
  ASSERT_TRUE(problem.prediction);
  EXPECT_EQ(problem.prediction->points.inputs(0, 1), 2.0);
  EXPECT_EQ(problem.prediction->points.offset(0), 7.0);
  EXPECT_EQ((*problem.prediction->responses)(0), 0.5);
}

TEST(NetworkFilesTest, DefaultsAreThoseOfTheTwoPriors) {
  const Problem network = parse_problem(network_problem(R"("type": "network")"), "p.json");
  EXPECT_EQ(network.network->prior.units, 10);
  EXPECT_EQ(network.network->prior.weights, WeightPrior::ard);
  const Problem linear = parse_problem(network_problem(R"("type": "sparse-linear")"), "p.json");
  EXPECT_EQ(linear.network->prior.units, 0);
  EXPECT_EQ(linear.network->prior.weights, WeightPrior::laplace);
}

/// Two inputs of three, one hidden unit; the linear unit by its covariance, the hidden one by parts.
SavedModel hand_made() {
  SavedModel saved;
  saved.method = "ep";
  saved.log_evidence.value = -1.25;
  for (const char* name : {"a", "b", "c"}) {
    FeatureColumn column;
    column.name = name;
    saved.coding.features.columns.push_back(column);
  }
  saved.coding.target.column = "y";
  saved.coding.training_rows = 2;
  FittedNetwork& network = saved.network.emplace();
  network.input_count = 3;
  network.inputs = {2, 0};
  network.input_centre = Vector{{0.5, -1.0}};
  network.input_scale = Vector{{2.0, 1.0 / 3.0}};
  network.response_centre = 4.0;
  network.response_scale = 1.5;
  network.likelihood = observe("gaussian", one(0.0), {{"variance", one(1.0)}});
  FittedStart start;
  start.weight = 0.75;
  start.linear.mean = Vector{{0.1, 0.2, 0.3}};
  start.linear.covariance = Matrix{{1.0, 0.1, 0.0}, {0.1, 2.0, -0.2}, {0.0, -0.2, 0.5}};
  UnitWeights hidden;
  hidden.mean = Vector{{-1.0, 0.0, 1.0}};
  hidden.diagonal = Vector{{1.0, 2.0, 3.0}};
  hidden.basis = Matrix{{0.1, 0.2}, {0.3, 0.4}, {0.5, 0.6}};
  hidden.sign = Vector{{1.0, -1.0}};
  start.units = {hidden};
  start.output_mean = Vector{{0.9}};
  start.output_covariance = Matrix{{0.04}};
  start.noise_mean = -2.0;
  start.noise_sd = 0.25;
  network.starts = {start};
  return saved;
}

TEST(NetworkFilesTest, ASavedNetworkIsReadAsItWas) {
  const SavedModel saved = hand_made();
  const std::string text = format_saved_model(saved);
  const SavedModel back = parse_saved_model(text, "m.gsm");
  EXPECT_EQ(format_saved_model(back), text);
  ASSERT_TRUE(back.network);
  const FittedNetwork& network = *back.network;
  EXPECT_EQ(network.inputs, saved.network->inputs);
  EXPECT_EQ(network.input_scale, saved.network->input_scale);
  EXPECT_EQ(network.response_scale, 1.5);
  const FittedStart& start = network.starts.at(0);
  EXPECT_EQ(start.weight, 0.75);
  EXPECT_EQ(start.linear.covariance, saved.network->starts[0].linear.covariance);
  EXPECT_EQ(start.units.at(0).basis, saved.network->starts[0].units[0].basis);
  EXPECT_EQ(start.units.at(0).sign, saved.network->starts[0].units[0].sign);
  EXPECT_EQ(start.noise_sd, 0.25);
}

TEST(NetworkFilesTest, NetworksThatCouldNotBeReadAgainAreNotWritten) {
  SavedModel broken = hand_made();
  broken.network->starts[0].linear.mean(0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)format_saved_model(broken), InvalidModel);
  broken = hand_made();
  broken.coding.features.columns.pop_back();
  EXPECT_THROW((void)format_saved_model(broken), InvalidModel);
  broken = hand_made();
  broken.coding.intercept = true;
  EXPECT_THROW((void)format_saved_model(broken), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
