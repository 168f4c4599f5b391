#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

/// A complete problem whose parts a test may replace.
struct Parts {
  std::string prior = R"({"type": "isotropic", "dim": 3, "mean": 0.0, "variance": 2.0})";
  std::string design = R"({"type": "dense", "rows": [[1.0, 0.2, -0.3], [1.0, 0.9, 0.4]]})";
  std::string sites = R"([{"type": "bernoulli-logit", "y": [1, -1]}])";
  std::string more;
};

std::string text_of(const Parts& parts) {
  std::string text = R"({"format": "gaussmith-problem/1", "prior": )" + parts.prior;
  if (!parts.design.empty()) text += R"(, "design": )" + parts.design;
  return text + R"(, "sites": )" + parts.sites + parts.more + "}";
}

Problem parse(const Parts& parts) { return parse_problem(text_of(parts), "p.json"); }

std::string complaint(const std::string& text) {
  try {
    (void)parse_problem(text, "p.json");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "accepted";
}
std::string complaint(const Parts& parts) { return complaint(text_of(parts)); }

/// The message is one line that starts with the file and holds the fragment.
void expect_refused(const std::string& message, const std::string& fragment) {
  EXPECT_EQ(message.rfind("p.json: ", 0), 0U) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_NE(message.find(fragment), std::string::npos) << message << "\nlacks " << fragment;
}

TEST(ProblemFile, ReadsTheExampleOfTheFormat) {
  Parts parts;
  parts.more = R"(, "offset": [0.5, 0.25],
    "predict": {"design": {"type": "dense", "rows": [[1.0, 0.0, 0.0]]}, "offset": 3, "y": [1]})";
  const Problem problem = parse(parts);
  EXPECT_EQ(problem.model.rows(), 2);
  EXPECT_EQ(problem.model.dimension(), 3);
  EXPECT_EQ(std::get<Isotropic>(problem.model.prior).variance, 2.0);
  EXPECT_EQ((*problem.model.design.entries().dense)(1, 2), 0.4);
  EXPECT_EQ(problem.model.offset[1], 0.25);
  EXPECT_EQ(problem.model.sites.at(0)->responses()[1], -1.0);
  ASSERT_TRUE(problem.prediction.has_value());
  EXPECT_EQ(problem.prediction->points.design->cols(), 3);
  EXPECT_EQ(problem.prediction->points.offset[0], 3.0);
  EXPECT_EQ(problem.prediction->responses->size(), 1);
}

TEST(ProblemFile, ReadsWeights) {
  Parts parts;
  parts.more = R"(, "weights": [0.5, 3])";
  EXPECT_EQ(parse(parts).model.weights[1], 3.0);
  parts.more = R"(, "weights": [1])";
  expect_refused(complaint(parts), "weights");
  parts.more = R"(, "weights": [1, 0])";
  expect_refused(complaint(parts), "weights[1] is 0; a weight is a positive number");
}

TEST(ProblemFile, ReadsEveryPrior) {
  Parts parts;
  parts.prior = R"({"type": "diagonal", "mean": [1, 2, 3], "variance": [0.1, 0.2, 0.3]})";
  EXPECT_EQ(std::get<Diagonal>(parse(parts).model.prior).variance[2], 0.3);
  parts.prior = R"({"type": "dense", "mean": 1.5, "covariance": [[2, 1, 0], [1, 2, 0], [0, 0, 1]]})";
  EXPECT_EQ(std::get<DenseGaussian>(parse(parts).model.prior).covariance(0, 1), 1.0);
  EXPECT_EQ(std::get<DenseGaussian>(parse(parts).model.prior).mean[2], 1.5);
  parts.prior = R"({"type": "none", "dim": 3})";
  EXPECT_EQ(std::get<NoGaussian>(parse(parts).model.prior).dimension, 3);
  parts.design = "";
  parts.prior = R"({"type": "gp", "inputs": [[0, 1], [2, 3]], "mean": 0.5,
    "kernel": {"type": "sum", "terms": [{"type": "se", "signal_sd": 2, "lengthscale": [0.5, 2]}, {"type": "constant"}]}})";
  const auto process = std::get<GaussianProcess>(parse(parts).model.prior);
  EXPECT_EQ(process.mean, 0.5);
  EXPECT_EQ(process.inputs(1, 0), 2.0);
  Matrix gram;
  process.kernel->gram(process.inputs, gram);
  // 4 exp(-(4/0.25 + 4/4) / 2) + 1.
  EXPECT_NEAR(gram(0, 1), 4.0 * std::exp(-8.5) + 1.0, 1e-15);
}

TEST(ProblemFile, ReadsSparseDesigns) {
  Parts parts;
  parts.design = R"({"type": "sparse", "shape": [2, 3], "triplets": [[0, 2, 1.5], [1, 0, -2]]})";
  const auto design = *parse(parts).model.design.entries().sparse;
  EXPECT_EQ(design.coeff(0, 2), 1.5);
  EXPECT_EQ(design.coeff(1, 0), -2.0);
  EXPECT_EQ(design.nonZeros(), 2);
}

TEST(ProblemFile, SingleResponseFillsItsBlock) {
  Parts parts;
  parts.prior = R"({"type": "none", "dim": 5})";
  parts.design = R"({"type": "identity"})";
  parts.sites = R"([{"type": "gaussian", "y": [1, 2], "variance": 1}, {"type": "laplace", "y": 0, "scale": 2}])";
  const Problem problem = parse(parts);
  EXPECT_EQ(problem.model.sites.at(1)->size(), 3);
  EXPECT_EQ(problem.model.sites.at(1)->responses().sum(), 0.0);
  parts.sites = R"([{"type": "gaussian", "y": 0, "variance": 1}, {"type": "laplace", "y": 0, "scale": 2}])";
  expect_refused(complaint(parts), "sites[1]: its length is not known");
}

TEST(ProblemFile, RefusesBadJson) {
  expect_refused(complaint(""), "not valid JSON at line 1");
  expect_refused(complaint("{\n\"format\": nan}"), "not valid JSON at line 2, column 1");
  expect_refused(complaint("[1, 2]"), "expected a JSON object");
  expect_refused(complaint(R"({"format": "gaussmith-problem/9"})"), "expected \"gaussmith-problem/1\"");
  expect_refused(complaint("{}"), "\"format\" is missing");
  expect_refused(complaint(R"({"format": 1e999})"), "double precision");
  expect_refused(complaint(R"({"format": "a", "format": "b"})"), "given twice");
  expect_refused(complaint(std::string(100000, '[')), "nested deeper than 64");
  expect_refused(complaint(R"({"format": "gaussmith-problem/1", "a\nb": 1})"), "unknown field");
}

TEST(ProblemFile, RefusalsNameThePath) {
  Parts parts;
  parts.prior = R"({"type": "isotropic", "dim": 3, "varience": 2.0})";
  expect_refused(complaint(parts),
                 "prior: unknown field \"varience\" (did you mean variance?); accepted: type, dim, mean, variance");
  parts.prior = R"({"type": "isotropic", "dim": 3})";
  expect_refused(complaint(parts), "prior: the field \"variance\" is missing");
  parts.prior = R"({"type": "isotropic", "dim": 2.5, "variance": 1})";
  expect_refused(complaint(parts), "prior.dim: expected a whole number");
  parts.prior = R"({"type": "isotropic", "dim": 1e300, "variance": 1})";
  expect_refused(complaint(parts), "prior.dim: expected a whole number");
  parts.prior = R"({"type": "isotropic", "dim": 3, "variance": null})";
  expect_refused(complaint(parts), "prior.variance: expected a number, found null");
  parts.prior = R"({"type": "isotropic", "dim": 3, "variance": -1})";
  expect_refused(complaint(parts), "variance must be positive");
  parts.prior = R"({"type": "dense", "mean": 0, "covariance": [[1, 0, 0], [0, 1, 0], [0, 1]]})";
  expect_refused(complaint(parts), "prior.covariance[2]: expected 3 numbers, found 2");
  parts.prior = R"({"type": "dense", "mean": 0, "covariance": [[1, 0, 0], [0.5, 1, 0], [0, 0, 1]]})";
  expect_refused(complaint(parts), "not symmetric");
  parts.prior = R"({"type": "dense", "mean": 0, "covariance": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]})";
  expect_refused(complaint(parts), "not positive semi-definite");
  parts.prior = R"({"type": "dense", "mean": [0, 0], "covariance": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]})";
  expect_refused(complaint(parts), "prior.mean: expected a number or 3 numbers, found 2");
  parts.prior = R"({"type": "precision", "mean": 0, "precision": {}})";
  expect_refused(complaint(parts), "prior.precision: the field \"shape\" is missing");
  parts.prior =
      R"({"type": "precision", "mean": 0, "precision": {"shape": [3, 3], "triplets": [[0, 0, 1], [1, 1, -1], [2, 2, 1]]}})";
  expect_refused(complaint(parts), "not positive definite");
  parts.prior = R"({"type": "rw1", "dim": 3, "precision": 0})";
  expect_refused(complaint(parts), "prior.precision must be positive");
  parts.prior = R"({"type": "besag", "dim": 3, "precision": 1, "edges": [[0]]})";
  expect_refused(complaint(parts), "prior.edges[0]: expected a pair");
  parts.prior = R"({"type": "normal"})";
  expect_refused(complaint(parts),
                 "accepted: isotropic, diagonal, dense, precision, rw1, rw2, besag, gp, additive or none");
}

TEST(ProblemFile, RefusesBadDesigns) {
  Parts parts;
  parts.design = R"({"type": "dense", "rows": [[1, 2, 3], [1, 2]]})";
  expect_refused(complaint(parts), "design.rows[1]: expected 3 numbers as in the first row, found 2");
  parts.design = R"({"type": "dense", "rows": [[1, 2], [1, 2]]})";
  expect_refused(complaint(parts), "design: has 2 columns, but the prior has dimension 3");
  parts.design = R"({"type": "dense", "rows": [[1, 2, "x"], [1, 2, 3]]})";
  expect_refused(complaint(parts), "design.rows[0][2]: expected a number, found text");
  parts.design = R"({"type": "dense", "rows": []})";
  expect_refused(complaint(parts), "has no rows");
  parts.design = R"({"type": "sparse", "shape": [2, 3], "triplets": [[0, 3, 1]]})";
  expect_refused(complaint(parts), "design.triplets[0][1]: column 3 is outside the shape; accepted: 0 to 2");
  parts.design = R"({"type": "sparse", "shape": [2, 3], "triplets": [[0, -1, 1]]})";
  expect_refused(complaint(parts), "column -1 is outside");
  parts.design = R"({"type": "sparse", "shape": [2, 3], "triplets": [[0, 1, 1], [1, 1, 2], [0, 1, 3]]})";
  expect_refused(complaint(parts), "design.triplets[2]: the entry at row 0, column 1 was already given by triplets[0]");
  parts.design = R"({"type": "sparse", "shape": [2, 1e15], "triplets": []})";
  expect_refused(complaint(parts), "design.shape[1]: expected a whole number");
  parts.design = R"({"type": "identity"})";
  expect_refused(complaint(parts), "the blocks cover 2 rows, but the design has 3");
}

TEST(ProblemFile, RefusesBadSites) {
  Parts parts;
  parts.sites = R"([{"type": "bernoulli-logit", "y": [1, -1, 1]}])";
  expect_refused(complaint(parts), "the blocks cover 3 rows, but the design has 2");
  parts.sites = R"([{"type": "bernoulli-logit", "y": [1, null]}])";
  expect_refused(complaint(parts), "sites[0].y[1]: expected a number, found null");
  parts.sites = R"([{"type": "bernoulli-logit", "y": [1, 0]}])";
  expect_refused(complaint(parts), "sites[0]: ");
  parts.sites = R"([{"type": "logit", "y": [1, -1]}])";
  expect_refused(complaint(parts), "sites[0].type: unknown likelihood \"logit\"; accepted: ");
  parts.sites = R"([{"type": "poisson", "y": [1, -1]}])";
  expect_refused(complaint(parts), "sites[0]: ");
  parts.sites = R"([{"type": "student-t", "y": [1, -1], "scale": 1}])";
  expect_refused(complaint(parts), "nu");
  parts.sites = R"([{"type": "student-t", "y": [1, -1], "nu": 4, "scale": [1, 2, 3]}])";
  expect_refused(complaint(parts), "sites[0].scale: expected 2 numbers, found 3");
  parts.sites = R"([{"type": "student-t", "y": [1, -1], "nu": 4, "sigma": 1}])";
  expect_refused(complaint(parts), "sites[0]: unknown field \"sigma\"");
  parts.sites = "[]";
  expect_refused(complaint(parts), "sites: expected at least one block");
  parts.sites = R"({"type": "poisson"})";
  expect_refused(complaint(parts), "sites: expected an array, found an object");
}

TEST(ProblemFile, RefusesBadKernels) {
  Parts parts;
  parts.design = "";
  const auto with_kernel = [&](const std::string& kernel) {
    parts.prior = R"({"type": "gp", "inputs": [[0, 1], [2, 3]], "kernel": )" + kernel + "}";
    return complaint(parts);
  };
  expect_refused(with_kernel(R"({"type": "rbf"})"), "prior.kernel.type: unknown kernel \"rbf\"; accepted: se");
  expect_refused(with_kernel(R"({"type": "se", "lengthscale": 0})"),
                 "prior.kernel: kernel.lengthscale must be positive");
  expect_refused(with_kernel(R"({"type": "se", "lengthscale": [1, 2, 3]})"), "prior.kernel: kernel.lengthscale has 3");
  expect_refused(with_kernel(R"({"type": "se", "sd": 1})"), "prior.kernel: unknown field \"sd\"");
  expect_refused(with_kernel(R"({"type": "sum", "terms": []})"), "prior.kernel.terms: ");
  expect_refused(with_kernel(R"({"type": "product", "terms": [{"type": "se"}, {"type": "se", "signal_sd": "a"}]})"),
                 "prior.kernel.terms[1].signal_sd: ");
}

TEST(ProblemFile, RefusesBadPredictions) {
  Parts parts;
  const auto with_predict = [&](const std::string& predict) {
    parts.more = R"(, "predict": )" + predict;
    return complaint(parts);
  };
  expect_refused(with_predict(R"({"inputs": [[1]]})"), "predict.inputs: only a gp prior");
  expect_refused(with_predict("{}"), "predict: the field \"design\" is missing");
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2]]}})"), "predict.design: has 2 columns");
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "y": [1, 1]})"),
                 "predict.y: expected 1 numbers, found 2");
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "y": [0.5]})"), "predict.y: ");
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "parameters": {"a": 1}})"),
                 "predict.parameters: unknown field \"a\"");
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "block": 1})"), "predict.block: ");
  parts.sites = R"([{"type": "binomial-logit", "y": [1, 2], "trials": [3, 4]}])";
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "y": [1]})"),
                 "predict.y: trials varies by row");
  expect_refused(
      with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "y": [6], "parameters": {"trials": 5}})"),
      "predict.y: ");
  parts.sites = R"([{"type": "bernoulli-logit", "y": [1]}, {"type": "poisson", "y": [2]}])";
  expect_refused(with_predict(R"({"design": {"type": "dense", "rows": [[1, 2, 3]]}, "y": [1]})"),
                 "predict.y: the model has 2 blocks");
}

}  // namespace
}  // namespace gaussmith
