#include "gaussmith/files.hpp"
#include "io/complaints.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

/// A problem of three rows and three classes; `more` are further fields of the prior.
std::string process_problem(const std::string& more, const std::string& rest = "",
                            const std::string& kernel = R"(, "kernel": {"type": "se"})") {
  return R"({"format": "gaussmith-problem/1", "prior": {"type": "gp", "inputs": [[0.1], [0.7], [1.9]])" + kernel +
         more + R"(}, "sites": [{"type": "multinomial-logit", "y": [0, 2, 1]}])" + rest + "}";
}

Model model_of(const std::string& text) { return parse_problem(text, "p.json").model; }

TEST(ProblemFileLatents, ReadsTheExampleOfTheFormat) {
  const Problem problem =
      parse_problem(process_problem(R"(, "latents": 3, "latent_covariance": "identity", "mean": [0.5, 0, -1])",
                                    R"(, "design": {"type": "identity"}, "predict": {"inputs": [[0.5]], "y": [2]})"),
                    "p.json");
  const Latents& latents = problem.model.latents;
  EXPECT_EQ(latents.count, 3);
  EXPECT_EQ(latents.model, LatentModel::identity);
  EXPECT_EQ(latents.mean, Vector({{0.5, 0.0, -1.0}}));
  EXPECT_EQ(problem.model.sites.front()->width(), 3);
  EXPECT_EQ(problem.model.sites.front()->responses(), Vector({{0.0, 2.0, 1.0}}));
  EXPECT_EQ(problem.prediction->responses, Vector({{2.0}}));
}

TEST(ProblemFileLatents, AMeanOfOneNumberIsThatOfAllFunctions) {
  const Model model = model_of(process_problem(R"(, "latents": 3, "mean": 0.25)"));
  EXPECT_EQ(std::get<GaussianProcess>(model.prior).mean, 0.25);
  EXPECT_EQ(model.latents.mean.size(), 0);
}

TEST(ProblemFileLatents, CovariancesOfEveryKind) {
  const auto covariance = [](const std::string& text) {
    return model_of(process_problem(R"(, "latents": 3, "latent_covariance": )" + text)).latents.covariance();
  };
  EXPECT_TRUE(covariance(R"({"model": "identity"})").isIdentity(0.0));
  const Matrix given{{1.5, 0.4, -0.3}, {0.4, 0.8, 0.1}, {-0.3, 0.1, 0.7}};
  EXPECT_TRUE(covariance("[[1.5, 0.4, -0.3], [0.4, 0.8, 0.1], [-0.3, 0.1, 0.7]]").isApprox(given, 1e-15));
  // Weights 1, 2, 3 scaled to trace 3.
  EXPECT_TRUE(covariance(R"({"model": "diagonal", "weight": [1, 2, 3]})")
                  .isApprox(Matrix(Vector({{0.5, 1.0, 1.5}}).asDiagonal()), 1e-14));
  const Matrix f{{1.0, 0.0, 0.0}, {0.4, 1.5, 0.0}, {-0.6, 0.2, 0.8}};
  const Matrix square = f * f.transpose();
  for (const char* factor : {"[[1, 9, 9], [0.4, 1.5, 9], [-0.6, 0.2, 0.8]]", "[[1], [0.4, 1.5], [-0.6, 0.2, 0.8]]"})
    EXPECT_TRUE(covariance(std::string(R"({"model": "full", "factor": )") + factor + "}")
                    .isApprox(Matrix(3.0 / square.trace() * square), 1e-14));
  for (const char* model : {"diagonal", "centred-diagonal", "centred", "full"})
    EXPECT_NEAR(covariance(std::string(R"({"model": ")") + model + "\"}").trace(), 3.0, 1e-14);
}

TEST(ProblemFileLatents, KernelsOfTheFunctions) {
  const Model model = model_of(process_problem(
      R"(, "latents": 3, "kernels": [{"type": "se"}, {"type": "matern32", "signal_sd": 2}, {"type": "constant"}])", "",
      ""));
  ASSERT_EQ(model.latents.kernels.size(), 3U);
  EXPECT_EQ(model.latents.kernels[1]->name(), "matern32");
  EXPECT_EQ(model.parameters().front().name, "kernels[0].signal_sd");
}

TEST(ProblemFileLatents, OffsetsByRowAndByLatent) {
  const std::string three = R"(, "latents": 3)";
  const auto offset = [&](const std::string& text) {
    return model_of(process_problem(three, R"(, "offset": )" + text)).offset;
  };
  EXPECT_EQ(offset("0.5"), Vector::Constant(9, 0.5));
  EXPECT_EQ(offset("[1, 2, 3]"), Vector({{1, 1, 1, 2, 2, 2, 3, 3, 3}}));
  EXPECT_EQ(offset("[[1, 2, 3], [4, 5, 6], [7, 8, 9]]"), Vector({{1, 2, 3, 4, 5, 6, 7, 8, 9}}));
  expect_complaint(process_problem(three, R"(, "offset": [[1, 2, 3], [4, 5], [7, 8, 9]])"),
                   {"offset[1]", "expected 3 numbers", "found 2"});
  expect_complaint(process_problem(three, R"(, "offset": [[1, 2, 3]])"), {"offset", "expected 3 rows", "found 1"});
  expect_complaint(process_problem(three, R"(, "offset": [1, 2])"), {"offset", "3 numbers", "found 2"});
}

TEST(ProblemFileLatents, LinearModels) {
  const std::string rest =
      R"(, "design": {"type": "dense", "rows": [[1, 0.5], [1, 2]]},
      "sites": [{"type": "multinomial-probit", "y": [0, 1]}]})";
  const Model isotropic = model_of(
      R"({"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 2, "variance": 2, "latents": 2,
          "mean": [1, -1]})" +
      rest);
  EXPECT_EQ(isotropic.latents.mean, Vector({{1.0, -1.0}}));
  EXPECT_TRUE(std::get<Isotropic>(isotropic.prior).mean.isZero(0.0));
  const Model diagonal = model_of(
      R"({"format": "gaussmith-problem/1", "prior": {"type": "diagonal", "variance": [2, 3], "latents": 2, "mean": 4})" +
      rest);
  EXPECT_EQ(std::get<Diagonal>(diagonal.prior).mean, Vector({{4.0, 4.0}}));
}

TEST(ProblemFileLatents, RefusesWithFieldAndWhatIsAccepted) {
  const auto covariance = [](const std::string& text) {
    return process_problem(R"(, "latents": 3, "latent_covariance": )" + text);
  };
  expect_complaint(process_problem(""), {"sites[0]", "multinomial-logit", "prior.latents"});
  expect_complaint(process_problem(R"(, "latents": 0)"), {"prior.latents", "1"});
  expect_complaint(process_problem(R"(, "latents": 1e9)"), {"prior.latents", "1000"});
  expect_complaint(process_problem(R"(, "latents": 2)"), {"sites[0]", "row 1", "2", "0 to 1"});
  expect_complaint(process_problem(R"(, "latents": 3, "mean": [1, 2])"),
                   {"prior.mean", "expected 3 numbers", "found 2"});
  expect_complaint(covariance("[[1, 0], [0, 1]]"), {"prior.latent_covariance", "3 rows of 3", "found 2"});
  expect_complaint(covariance("[[1, 0, 0], [0, 1], [0, 0, 1]]"),
                   {"prior.latent_covariance[1]", "expected 3", "found 2"});
  expect_complaint(covariance("[[1, 0, 0], [0.5, 1, 0], [0, 0, 1]]"), {"not symmetric", "[1][0]"});
  expect_complaint(covariance("[[1, 2, 0], [2, 1, 0], [0, 0, 1]]"), {"positive semi-definite"});
  expect_complaint(covariance(R"("diagonal")"), {"prior.latent_covariance", "\"model\"", "centred-diagonal"});
  expect_complaint(covariance(R"({"model": "centered"})"), {"prior.latent_covariance.model", "did you mean centred?"});
  expect_complaint(covariance(R"({"model": "diagonal", "weight": [1, 2]})"), {"weight", "expected 3", "found 2"});
  expect_complaint(covariance(R"({"model": "diagonal", "weight": [1, 2, 0]})"), {"weight[2]", "positive"});
  expect_complaint(covariance(R"({"model": "full", "weight": [1, 2, 3]})"), {"weight", "factor"});
  expect_complaint(covariance(R"({"model": "full", "factor": [[1, 0, 0], [0, -1, 0], [0, 0, 1]]})"),
                   {"factor[1][1]", "positive"});
  expect_complaint(process_problem(R"(, "latent_covariance": {"model": "full"})"), {"prior.latents"});
  expect_complaint(process_problem(R"(, "latents": 3, "kernels": [{"type": "se"}])", "", ""),
                   {"prior.kernels", "expected 3 kernels", "found 1"});
  expect_complaint(process_problem(R"(, "latents": 3, "kernels": [{"type": "se"}, {"type": "se"}, {"type": "se"}])"),
                   {"prior.kernels", "leave kernel out"});
  expect_complaint(process_problem(R"(, "latents": 3)", R"(, "predict": {"inputs": [[0.5]], "y": [3]})"),
                   {"predict.y", "0 to 2"});
  expect_complaint(process_problem(R"(, "latents": 3)", R"(, "predict": {"inputs": [[0.5]], "y": [0.5]})"),
                   {"predict.y"});
  expect_complaint(R"({"format": "gaussmith-problem/1",
                     "prior": {"type": "isotropic", "dim": 2, "variance": 1, "latents": 3},
                     "sites": [{"type": "gaussian", "y": [0, 1], "variance": 1}]})",
                   {"sites[0] (gaussian)", "prior.latents is 3"});
  expect_complaint(R"({"format": "gaussmith-problem/1",
                     "prior": {"type": "isotropic", "dim": 2, "variance": 1, "latents": 2},
                     "sites": [{"type": "multinomial-logit", "y": [0]}, {"type": "multinomial-logit", "y": [1]}]})",
                   {"sites[0]", "covers all rows"});
  expect_complaint(R"({"format": "gaussmith-problem/1",
                     "prior": {"type": "isotropic", "dim": 2, "variance": 1, "latents": 2},
                     "sites": [{"type": "multinomial-logit", "y": [0, 1], "classes": 2}]})",
                   {"classes"});
  expect_complaint(R"({"format": "gaussmith-problem/1",
                     "prior": {"type": "dense", "covariance": [[1]], "latents": 2},
                     "sites": [{"type": "multinomial-logit", "y": [0]}]})",
                   {"latents"});
}

}  // namespace
}  // namespace gaussmith
