#include "gaussmith/files.hpp"
#include "gaussmith/version.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace gaussmith {
namespace {

using Json = nlohmann::ordered_json;

Json result_of(const std::string& text, const char* method, const LearnReport* learning = nullptr) {
  const Problem problem = parse_problem(text, "p.json");
  const Posterior posterior = infer(problem.model, make_method(method));
  ResultContent content;
  content.prediction = problem.prediction ? &*problem.prediction : nullptr;
  content.learning = learning;
  content.notes = {"a note"};
  return Json::parse(result_json(posterior, content));
}

/// One weight w ~ N(0, 2), one observation y = 3 of w with variance 0.5, offset 1: all by hand.
const char* const conjugate = R"({"format": "gaussmith-problem/1",
  "prior": {"type": "isotropic", "dim": 1, "variance": 2.0}, "design": {"type": "dense", "rows": [[1]]}, "offset": 1,
  "sites": [{"type": "gaussian", "y": [3], "variance": 0.5}],
  "predict": {"design": {"type": "dense", "rows": [[2]]}, "y": [0]}})";

TEST(ResultFile, NumbersOfAConjugateModel) {
  const Json result = result_of(conjugate, "exact");
  const double variance = 1.0 / (1.0 / 2.0 + 1.0 / 0.5);
  const double mean = variance * 2.0 / 0.5;
  const double evidence = -0.5 * std::log(2.0 * M_PI * 2.5) - 0.5 * 4.0 / 2.5;
  EXPECT_NEAR(result["log_evidence"].get<double>(), evidence, 1e-13);
  EXPECT_EQ(result["evidence_kind"], "exact");
  EXPECT_EQ(result["method"], "exact");
  EXPECT_EQ(result["version"], std::string(version));
  EXPECT_EQ(result["converged"], true);
  EXPECT_NEAR(result["weights"]["mean"][0].get<double>(), mean, 1e-13);
  EXPECT_NEAR(result["weights"]["variance"][0].get<double>(), variance, 1e-13);
  EXPECT_NEAR(result["latent"]["mean"][0].get<double>(), mean + 1.0, 1e-13);
  EXPECT_NEAR(result["prediction"]["latent_mean"][0].get<double>(), 2.0 * mean, 1e-13);
  EXPECT_NEAR(result["prediction"]["variance"][0].get<double>(), 4.0 * variance + 0.5, 1e-13);
  const double spread = 4.0 * variance + 0.5;
  EXPECT_NEAR(result["prediction"]["log_density"][0].get<double>(),
              -0.5 * std::log(2.0 * M_PI * spread) - 0.5 * 4.0 * mean * mean / spread, 1e-12);
  // d log N(2 | 0, s) / d log s_i with s = prior + noise.
  const double slope = 0.5 * (4.0 / 2.5 - 1.0) / 2.5;
  EXPECT_NEAR(result["gradient"]["prior.variance"].get<double>(), 2.0 * slope, 1e-12);
  EXPECT_NEAR(result["gradient"]["sites[0].variance"].get<double>(), 0.5 * slope, 1e-12);
  EXPECT_EQ(result["gradient"]["likelihood.variance"], result["gradient"]["sites[0].variance"]);
  EXPECT_EQ(result["parameters"]["likelihood.variance"], 0.5);
  EXPECT_EQ(result["parameters"]["sites[0].variance"], 0.5);
  EXPECT_EQ(result["notes"][0], "a note");
}

TEST(ResultFile, FieldsStandInTheirOrder) {
  const Json result = result_of(conjugate, "exact");
  std::vector<std::string> keys;
  for (const auto& [key, value] : result.items()) keys.push_back(key);
  const std::vector<std::string> first = {"format",     "method",     "version",    "log_evidence", "evidence_kind",
                                          "converged",  "iterations", "seconds",    "weights",      "latent",
                                          "parameters", "gradient",   "prediction", "warnings"};
  ASSERT_GE(keys.size(), first.size());
  EXPECT_EQ(std::vector<std::string>(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(first.size())), first);
  EXPECT_EQ(result["format"], "gaussmith-result/1");
  EXPECT_EQ(result["numerics"].size(), 6U);
}

TEST(ResultFile, MomentsThatDoNotExistAreNull) {
  const Json result = result_of(R"({"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 1,
    "variance": 1}, "sites": [{"type": "cauchy", "y": [0.5], "scale": 1}],
    "predict": {"design": {"type": "identity"}, "y": [0.25]}})",
                                "laplace");
  EXPECT_TRUE(result["prediction"]["mean"][0].is_null());
  EXPECT_TRUE(result["prediction"]["variance"][0].is_null());
  EXPECT_TRUE(result["prediction"]["log_density"][0].is_number());
  EXPECT_FALSE(result["prediction"].contains("probability"));
}

TEST(ResultFile, SeveralBlocksGiveLatentPredictionsUnlessOneIsChosen) {
  const std::string start =
      R"({"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 2, "variance": 1},
    "sites": [{"type": "gaussian", "y": [0.5], "variance": 1}, {"type": "bernoulli-probit", "y": [1]}],
    "predict": {"design": {"type": "dense", "rows": [[1, 1]]})";
  const Json latent = result_of(start + "}}", "laplace");
  EXPECT_TRUE(latent["prediction"].contains("latent_mean"));
  EXPECT_FALSE(latent["prediction"].contains("mean"));
  EXPECT_EQ(latent["warnings"].size(), 1U);
  EXPECT_FALSE(latent["parameters"].contains("likelihood.variance"));
  const Json chosen = result_of(start + R"(, "block": 1}})", "laplace");
  EXPECT_TRUE(chosen["prediction"].contains("probability"));
}

TEST(ResultFile, ParametersThatVaryByRowLeaveLatentPredictions) {
  const std::string start =
      R"({"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 2, "variance": 1},
    "sites": [{"type": "binomial-logit", "y": [1, 2], "trials": [3, 5]}],
    "predict": {"design": {"type": "dense", "rows": [[1, 0]]})";
  EXPECT_FALSE(result_of(start + "}}", "laplace")["prediction"].contains("mean"));
  const Json given = result_of(start + R"(, "parameters": {"trials": [7]}}})", "laplace");
  const double mean = given["prediction"]["mean"][0].get<double>();
  EXPECT_GT(mean, 0.0);
  EXPECT_LT(mean, 7.0);
}

TEST(ResultFile, LearningIsReported) {
  LearnReport report;
  report.status = Status::iteration_limit;
  report.message = "out of evaluations";
  report.evaluations = 7;
  report.parameters = {
      {.name = "prior.variance", .initial = 1, .value = 2, .gradient = 0.5, .fixed = false, .at_bound = true}};
  const Json result = result_of(conjugate, "exact", &report);
  EXPECT_EQ(result["converged"], false);
  EXPECT_EQ(result["learning"]["evaluations"], 7);
  EXPECT_EQ(result["learning"]["parameters"]["prior.variance"]["at_bound"], true);
}

TEST(ResultFile, PredictionsHaveTheLearnedNoiseNotThatOfTheProblem) {
  const Problem problem = parse_problem(R"({"format": "gaussmith-problem/1",
    "prior": {"type": "isotropic", "dim": 1, "variance": 1}, "design": {"type": "dense", "rows": [[1], [2], [3]]},
    "sites": [{"type": "gaussian", "y": [1, 2.5, 2], "variance": 30}],
    "predict": {"design": {"type": "dense", "rows": [[1]]}}})",
                                        "p.json");
  const Learned learned = learn(problem.model, Exact{}, {.fixed = {"prior.variance"}});
  const Json result = Json::parse(result_json(learned.posterior, {.prediction = &*problem.prediction}));
  EXPECT_LT(result["parameters"]["likelihood.variance"], 5.0);
  EXPECT_NEAR(
      result["prediction"]["variance"][0].get<double>() - result["prediction"]["latent_variance"][0].get<double>(),
      result["parameters"]["likelihood.variance"].get<double>(), 1e-12);
}

TEST(ResultFile, AnIntegrationGivesTheAveragesAndItsPoints) {
  const Problem problem = parse_problem(conjugate, "p.json");
  const LearnOptions learning{.hyperpriors = {{"prior.variance", {2.0, 1.0}}, {"sites[0].variance", {0.5, 1.0}}}};
  const Learned learned = learn(problem.model, Exact{}, learning);
  const Integrated integrated = integrate(learned, {.learning = learning});
  const Json result = Json::parse(
      result_json(learned.posterior,
                  {.prediction = &*problem.prediction, .learning = &learned.report, .integration = &integrated}));
  const Json& part = result["integration"];
  ASSERT_EQ(part["points"].size(), integrated.points.size());
  // Everything by hand: w given the parameters is conjugate, and the weights are those of the file.
  double total = 0.0, mean = 0.0, second = 0.0, density = 0.0;
  for (std::size_t k = 0; k < part["points"].size(); ++k) {
    const double weight = part["weights"][k];
    const double prior = part["points"][k]["prior.variance"];
    const double noise = part["points"][k]["likelihood.variance"];
    EXPECT_EQ(part["points"][k]["sites[0].variance"], noise);
    const double v = 1.0 / (1.0 / prior + 1.0 / noise);
    const double m = v * 2.0 / noise;
    const double spread = 4.0 * v + noise;
    total += weight;
    mean += weight * m;
    second += weight * (v + m * m);
    density += weight * std::exp(-2.0 * m * m / spread) / std::sqrt(2.0 * M_PI * spread);
  }
  EXPECT_NEAR(total, 1.0, 1e-12);
  EXPECT_NEAR(result["weights"]["mean"][0].get<double>(), mean, 1e-12);
  EXPECT_NEAR(result["weights"]["variance"][0].get<double>(), second - mean * mean, 1e-12);
  EXPECT_NEAR(result["latent"]["mean"][0].get<double>(), mean + 1.0, 1e-12);
  EXPECT_NEAR(result["prediction"]["latent_mean"][0].get<double>(), 2.0 * mean, 1e-10);
  EXPECT_NEAR(result["prediction"]["log_density"][0].get<double>(), std::log(density), 1e-9);
  EXPECT_EQ(part["proper"], true);
  EXPECT_EQ(part["log_evidence"], integrated.log_evidence);
  EXPECT_EQ(part["parameters"][0]["name"], "prior.variance");
  EXPECT_LT(part["parameters"][0]["lower"].get<double>(), part["parameters"][0]["upper"].get<double>());
  EXPECT_EQ(result["log_evidence"], learned.posterior.log_evidence().value);
}

}  // namespace
}  // namespace gaussmith
