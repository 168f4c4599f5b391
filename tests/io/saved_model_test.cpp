#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "io/checksum.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <variant>

namespace gaussmith {
namespace {

Problem problem_of(const std::string& prior, const std::string& design) {
  return parse_problem(R"({"format": "gaussmith-problem/1", "prior": )" + prior + design +
                           R"(, "sites": [{"type": "student-t", "y": [0.5, -1, 4], "nu": 4, "scale": 0.3}]})",
                       "p.json");
}

SavedModel saved_from(const Problem& problem, const Run& run, Index features, const Method& method = Laplace{}) {
  const Posterior posterior = infer(problem.model, method, run);
  SavedModel saved;
  saved.fitted = posterior.fitted();
  saved.method = name_of(method);
  saved.log_evidence = posterior.log_evidence();
  for (Index j = 0; j < features; ++j) {
    FeatureColumn column;
    column.name = "x" + std::to_string(j);
    column.mean = 0.1;
    column.sd = 1.0 / 3.0;
    saved.coding.features.columns.push_back(column);
  }
  saved.coding.target.column = "y, \"quoted\"";
  saved.coding.target.kind = ResponseKind::real;
  saved.coding.training_rows = 3;
  saved.coding.argument_columns["exposure"] = "e";
  saved.coding.offset_column = "o";
  return saved;
}

const char* const process =
    R"({"type": "gp", "inputs": [[0.1], [0.7], [1.3]], "mean": 0.2,
        "kernel": {"type": "sum", "terms": [{"type": "se", "signal_sd": 1.1, "lengthscale": 0.7}, {"type": "linear"}]}})";

SavedModel process_model() { return saved_from(problem_of(process, ""), {}, 1); }

Problem linear_problem() {
  return problem_of(R"({"type": "isotropic", "dim": 2, "variance": 3})",
                    R"(, "design": {"type": "dense", "rows": [[1, 0.1], [1, 0.7], [1, 1.3]]})");
}

SavedModel linear_model() {
  const Problem problem = linear_problem();
  Run run;
  run.form = CoreForm::precision;
  return saved_from(problem, run, 2);
}

std::string complaint(const std::string& text) {
  try {
    (void)parse_saved_model(text, "m.gsm");
  } catch (const InvalidFile& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SavedModelFile, WritingWhatWasReadGivesTheSameBytes) {
  for (const SavedModel& model : {process_model(), linear_model()}) {
    const std::string text = format_saved_model(model);
    EXPECT_EQ(format_saved_model(parse_saved_model(text, "m.gsm")), text);
  }
}

/// A model with two points of an integration, fitted with other parameters than its own.
SavedModel with_points(SavedModel model, const Problem& problem, const Run& run,
                       const std::map<std::string, double, std::less<>>& values) {
  for (const double weight : {0.75, 0.25}) {
    std::map<std::string, double, std::less<>> at = values;
    for (auto& [name, value] : at) value *= 1.0 + weight / 3.0;
    const Posterior q = infer(problem.model.with_parameters(at), Laplace{}, run);
    model.integration.push_back({weight, at, q.fitted()});
  }
  return model;
}

TEST(SavedModelFile, PointsOfAnIntegrationPredictTheSameAfterReading) {
  gaussmith::Run precision;
  precision.form = CoreForm::precision;
  const Problem gp = problem_of(process, "");
  const Problem linear = linear_problem();
  const SavedModel models[] = {
      with_points(process_model(), gp, {}, {{"kernel.terms[0].lengthscale", 0.7}, {"sites[0].scale", 0.3}}),
      with_points(linear_model(), linear, precision, {{"prior.variance", 3.0}}),
      // Points in another form than the model itself.
      with_points(process_model(), gp, precision, {{"sites[0].scale", 0.3}}),
      with_points(linear_model(), linear, {.form = CoreForm::covariance}, {{"sites[0].nu", 4.0}})};
  for (const SavedModel& model : models) {
    const std::string text = format_saved_model(model);
    const SavedModel read = parse_saved_model(text, "m.gsm");
    EXPECT_EQ(format_saved_model(read), text);
    ASSERT_EQ(read.integration.size(), 2U);
    PredictionPoints points;
    if (std::holds_alternative<GaussianProcess>(model.fitted.prior))
      points.inputs = Matrix::Constant(2, 1, 0.4);
    else
      points.design = Matrix(Matrix::Constant(2, 2, 0.4));
    const Prediction a = predict_mixture(model.integration, points);
    const Prediction b = predict_mixture(read.integration, points);
    EXPECT_EQ(a.latent_mean(), b.latent_mean());
    EXPECT_EQ(a.response_variance(), b.response_variance());
    EXPECT_EQ(a.part_weights(), b.part_weights());
    // The fit of the model itself says something else.
    EXPECT_GT((Predictor(model.fitted).predict(points).response_variance() - b.response_variance()).norm(), 1e-6);
  }
  // Inputs and design are written once.
  const std::string text = format_saved_model(models[0]);
  EXPECT_EQ(text.find("\"inputs\""), text.rfind("\"inputs\""));
  EXPECT_EQ(text.find("\"design\""), text.rfind("\"design\""));
}

std::string saving_complaint(const SavedModel& model) {
  try {
    (void)format_saved_model(model);
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SavedModelFile, WhatCannotBeReadIsNotWritten) {
  SavedModel custom = process_model();
  CustomLikelihood named_like_a_known_one;
  named_like_a_known_one.name = "gaussian";
  named_like_a_known_one.log_density = [](double eta, double y) { return -0.5 * (y - eta) * (y - eta); };
  custom.fitted.sites = {observe(named_like_a_known_one, Vector::Zero(1))};
  EXPECT_NE(saving_complaint(custom).find("can be saved"), std::string::npos) << saving_complaint(custom);

  PiecewiseQuadratic pieces{.name = "laplace", .breaks = {0.0}, .pieces = {{0.0, 1.0, 0.0}, {0.0, -1.0, 0.0}}};
  custom.fitted.sites = {observe(pieces, Vector::Zero(1))};
  EXPECT_NE(saving_complaint(custom).find("can be saved"), std::string::npos) << saving_complaint(custom);

  SavedModel no_table = process_model();
  no_table.coding = {};
  EXPECT_NE(saving_complaint(no_table).find("plain_coding"), std::string::npos) << saving_complaint(no_table);

  SavedModel no_such_argument = process_model();
  no_such_argument.coding.argument_columns["weight"] = "w";
  EXPECT_NE(saving_complaint(no_such_argument).find("weight"), std::string::npos) << saving_complaint(no_such_argument);
}

TEST(SavedModelFile, PointsThatDoNotSuitAreRefusedByName) {
  const Problem gp = problem_of(process, "");
  const SavedModel good = with_points(process_model(), gp, {}, {{"sites[0].scale", 0.3}});
  SavedModel bad = good;
  bad.integration[1].weight = 0.0;
  EXPECT_NE(saving_complaint(bad).find("weight"), std::string::npos) << saving_complaint(bad);
  bad = good;
  bad.integration[1].parameters = {{"kernel.nothing", 1.0}};
  std::string message = complaint(format_saved_model(bad));
  EXPECT_NE(message.find("integration[1].parameters: there is no parameter kernel.nothing"), std::string::npos)
      << message;
  bad.integration[1].parameters = {{"sites[0].scale", -1.0}};
  message = complaint(format_saved_model(bad));
  EXPECT_NE(message.find("m.gsm: integration[1].parameters: "), std::string::npos) << message;
  bad = good;
  bad.integration[0].fitted.dual.conservativeResize(2);
  message = complaint(format_saved_model(bad));
  EXPECT_NE(message.find("m.gsm: integration[0].dual"), std::string::npos) << message;
}

TEST(SavedModelFile, KeepsEveryField) {
  SavedModel model = process_model();
  FeatureColumn level;
  level.name = "colour";
  level.type = ColumnType::text;
  level.levels = {"blue", "red"};
  level.drop_first_level = true;
  model.coding.features.columns = {level};
  model.coding.target.kind = ResponseKind::sign;
  model.coding.target.negative = "no";
  model.coding.target.positive = "yes";
  model.converged = false;
  const SavedModel read = parse_saved_model(format_saved_model(model), "m.gsm");
  EXPECT_EQ(read.coding.features.columns.at(0).levels, level.levels);
  EXPECT_TRUE(read.coding.features.columns.at(0).drop_first_level);
  EXPECT_EQ(read.coding.features.columns.at(0).type, ColumnType::text);
  EXPECT_EQ(read.coding.target.column, model.coding.target.column);
  EXPECT_EQ(read.coding.target.kind, ResponseKind::sign);
  EXPECT_EQ(read.coding.target.label(1.0), "yes");
  EXPECT_EQ(read.log_evidence.value, model.log_evidence.value);
  EXPECT_EQ(read.log_evidence.kind, model.log_evidence.kind);
  EXPECT_EQ(read.coding.argument_columns.at("exposure"), "e");
  EXPECT_EQ(read.coding.offset_column, "o");
  EXPECT_EQ(read.coding.training_rows, 3);
  EXPECT_EQ(read.library_version, "0.1.0");
  EXPECT_FALSE(read.converged);
}

TEST(SavedModelFile, PredictsAsTheFitDid) {
  Matrix points(2, 1);
  points << 0.4, 2.0;
  Matrix rows(2, 2);
  rows << 1.0, 0.4, 1.0, 2.0;
  const Problem gp = problem_of(process, "");
  const Prediction fitted = infer(gp.model, make_method("laplace")).predict(points);
  const Predictor read(parse_saved_model(format_saved_model(process_model()), "m.gsm").fitted);
  const Prediction loaded = read.predict({.inputs = points});
  EXPECT_LT((loaded.latent_mean() - fitted.latent_mean()).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((loaded.latent_variance() - fitted.latent_variance()).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LT((loaded.response_quantile(0.9) - fitted.response_quantile(0.9)).cwiseAbs().maxCoeff(), 1e-9);
  const SavedModel linear = linear_model();
  const Prediction before = Predictor(linear.fitted).predict({.design = rows});
  const Prediction after =
      Predictor(parse_saved_model(format_saved_model(linear), "m.gsm").fitted).predict({.design = rows});
  EXPECT_EQ(before.latent_mean(), after.latent_mean());
  EXPECT_EQ(before.latent_variance(), after.latent_variance());
}

TEST(SavedModelFile, ConstrainedCovariancesPredictAsTheFitDid) {
  Matrix points(2, 1);
  points << 0.4, 2.0;
  Matrix rows(2, 2);
  rows << 1.0, 0.4, 1.0, 2.0;
  for (const char* covariance : {"diagonal", "chevron:1", "factor:1", "subspace:1"}) {
    SCOPED_TRACE(covariance);
    const Method method = make_method("kl", {{"kl.covariance", covariance}});
    for (const bool is_process : {true, false}) {
      const Problem problem = is_process ? problem_of(process, "") : linear_problem();
      const SavedModel saved = saved_from(problem, {}, is_process ? 1 : 2, method);
      EXPECT_EQ(saved.fitted.form, CoreForm::root);
      const std::string text = format_saved_model(saved);
      const SavedModel read = parse_saved_model(text, "m.gsm");
      EXPECT_EQ(format_saved_model(read), text);
      EXPECT_EQ(read.log_evidence.kind, EvidenceKind::lower_bound);
      PredictionPoints at;
      if (is_process)
        at.inputs = points;
      else
        at.design = rows;
      const Prediction fitted = infer(problem.model, method).predict(at);
      const Prediction loaded = Predictor(read.fitted).predict(at);
      EXPECT_LT((loaded.latent_mean() - fitted.latent_mean()).cwiseAbs().maxCoeff(), 1e-12);
      EXPECT_LT((loaded.latent_variance() - fitted.latent_variance()).cwiseAbs().maxCoeff(), 1e-12);
    }
  }
}

TEST(SavedModelFile, InducingVariablesPredictAsTheFitDid) {
  Problem problem = problem_of(process, "");
  auto& prior = std::get<GaussianProcess>(problem.model.prior);
  prior.inducing = Inducing{.inputs = Matrix{{0.3}, {1.1}, {0.3}}, .noise = 0.01};
  const Posterior posterior = infer(problem.model, Kl{});
  SavedModel model = process_model();
  model.fitted = posterior.fitted();
  const std::string text = format_saved_model(model);
  const SavedModel read = parse_saved_model(text, "m.gsm");
  EXPECT_EQ(read.fitted.form, CoreForm::inducing);
  EXPECT_EQ(read.fitted.pivots, posterior.fitted().pivots);
  EXPECT_EQ(std::get<GaussianProcess>(read.fitted.prior).inputs.rows(), 3);
  const Matrix points{{0.4}, {2.0}};
  const Prediction loaded = Predictor(read.fitted).predict({.inputs = points});
  EXPECT_LT((loaded.latent_mean() - posterior.predict(points).latent_mean()).norm(), 1e-12);
  EXPECT_LT((loaded.latent_variance() - posterior.predict(points).latent_variance()).norm(), 1e-12);
  EXPECT_EQ(format_saved_model(read), text);
}

TEST(SavedModelFile, EveryTruncationIsNoticed) {
  const std::string text = format_saved_model(process_model());
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string message = complaint(text.substr(0, length));
    EXPECT_NE(message, "accepted") << length;
    EXPECT_EQ(message.rfind("m.gsm: ", 0), 0U) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_NE(complaint(text.substr(0, text.size() - 1)).find("truncated"), std::string::npos);
  EXPECT_NE(complaint(text + "x").find("1 bytes too many"), std::string::npos);
}

TEST(SavedModelFile, EveryChangedByteIsNoticed) {
  const std::string text = format_saved_model(process_model());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_NE(complaint(changed), "accepted") << at;
  }
  std::string digit = text;
  const auto at = digit.find("\"dual\":[") + 9;
  digit[at] = digit[at] == '1' ? '2' : '1';
  EXPECT_NE(complaint(digit).find("checksum"), std::string::npos);
}

TEST(SavedModelFile, OtherFilesAndVersionsAreRefused) {
  EXPECT_NE(complaint("a,b\n1,2\n").find("not a saved model"), std::string::npos);
  EXPECT_NE(complaint("").find("not a saved model"), std::string::npos);
  EXPECT_NE(complaint("gaussmith-model/2 00 5\n12345").find("this version reads gaussmith-model/1"), std::string::npos);
}

TEST(SavedModelFile, CodingsMustSuitThePrior) {
  SavedModel model = process_model();
  model.coding.features.columns.push_back(model.coding.features.columns.front());
  EXPECT_NE(saving_complaint(model).find("its coding gives 2 features"), std::string::npos);
  model = process_model();
  model.fitted.dual.conservativeResize(2);
  EXPECT_NE(complaint(format_saved_model(model)).find("dual: expected 3 numbers, found 2"), std::string::npos);
  model = linear_model();
  model.fitted.factor(1, 1) = 0.0;
  EXPECT_NE(complaint(format_saved_model(model)).find("positive diagonal"), std::string::npos);
}

TEST(SavedModelFile, AFitThatIsNotFiniteIsNotWritten) {
  SavedModel model = process_model();
  model.fitted.dual[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)format_saved_model(model), InvalidModel);
}

TEST(SavedModelFile, FilesAreWholeOrAbsent) {
  const auto directory = std::filesystem::path(testing::TempDir()) / "gaussmith_saved_model_test";
  std::filesystem::create_directories(directory);
  const auto path = directory / "model.gsm";
  save_model(path, process_model());
  EXPECT_EQ(format_saved_model(load_model(path)), format_saved_model(process_model()));
  EXPECT_THROW(save_model(directory / "absent" / "model.gsm", process_model()), MachineError);
  EXPECT_THROW((void)load_model(directory / "nothing.gsm"), InvalidFile);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator()), 1);
  std::filesystem::remove_all(directory);
}

TEST(SavedModelFile, RemembersEventsAndColumnsToKeep) {
  SavedModel saved = process_model();
  saved.coding.argument_columns["censored"] = "event";
  saved.coding.inverted_arguments = {"censored"};
  saved.coding.keep = {"id", "town, street"};
  const SavedModel read = parse_saved_model(format_saved_model(saved), "m.gsm");
  EXPECT_EQ(read.coding.inverted_arguments, saved.coding.inverted_arguments);
  EXPECT_EQ(read.coding.keep, saved.coding.keep);
  saved.coding.inverted_arguments = {"exposure"};
  EXPECT_NE(complaint(format_saved_model(saved)).find("inverted_arguments"), std::string::npos);
}

/// Three classes; `prior` is a gp at these inputs with any of the fields of several latents.
SavedModel class_model(const std::string& fields, const std::string& kernel = R"("kernel": {"type": "se"})") {
  const Problem problem = parse_problem(
      R"({"format": "gaussmith-problem/1", "prior": {"type": "gp", "inputs": [[0.1], [0.7], [1.3]], )" + kernel +
          R"(, "latents": 3)" + fields + R"(}, "sites": [{"type": "multinomial-logit", "y": [0, 2, 1]}]})",
      "p.json");
  SavedModel saved = saved_from(problem, {}, 1);
  saved.coding.target.kind = ResponseKind::label;
  saved.coding.target.classes = {"a", "b, \"c\"", "d"};
  return saved;
}

/// The payload behind a correct first line.
std::string with_header(const std::string& payload) {
  return "gaussmith-model/1 " + checksum_hex(payload) + " " + std::to_string(payload.size()) + "\n" + payload;
}

TEST(SavedModelFile, SeveralLatentsComeBackAsTheyWere) {
  const std::string own = R"("kernels": [{"type": "se"}, {"type": "matern32"}, {"type": "linear"}])";
  for (const SavedModel& model :
       {class_model(""), class_model(R"(, "mean": [1, 0, -1])"), class_model("", own),
        class_model(R"(, "latent_covariance": [[2, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])"),
        class_model(R"(, "latent_covariance": {"model": "diagonal", "weight": [1, 2, 3]})"),
        class_model(R"(, "latent_covariance": {"model": "full", "factor": [[1], [0.4, 1.5], [-0.6, 0.2, 0.8]]})")}) {
    const std::string text = format_saved_model(model);
    const SavedModel read = parse_saved_model(text, "m.gsm");
    EXPECT_EQ(format_saved_model(read), text);
    EXPECT_EQ(read.coding.target.classes, model.coding.target.classes);
    EXPECT_EQ(read.fitted.latents.covariance(), model.fitted.latents.covariance());
    const PredictionPoints points{.inputs = Matrix{{0.4}, {2.0}}};
    const Prediction before = Predictor(model.fitted).predict(points);
    const Prediction after = Predictor(read.fitted).predict(points);
    EXPECT_EQ(before.latent_mean(), after.latent_mean());
    EXPECT_EQ(before.latent_covariance(), after.latent_covariance());
  }
}

TEST(SavedModelFile, RefusesLatentsThatDoNotFit) {
  const auto changed = [](const std::string& from, const std::string& to) {
    const std::string text = format_saved_model(class_model(""));
    std::string payload = text.substr(text.find('\n') + 1);
    const auto at = payload.find(from);
    EXPECT_NE(at, std::string::npos) << payload;
    payload.replace(at, from.size(), to);
    return complaint(with_header(payload));
  };
  EXPECT_NE(changed(R"("latents":3)", R"("latents":2)").find("6 numbers"), std::string::npos)
      << changed(R"("latents":3)", R"("latents":2)");
  EXPECT_NE(changed(R"("classes":3)", R"("classes":4)").find("4 latents"), std::string::npos);
  EXPECT_NE(changed(R"("classes":3.0)", R"("classes":1e300)").find("classes"), std::string::npos)
      << changed(R"("classes":3.0)", R"("classes":1e300)");
  EXPECT_NE(changed(R"(,"d"])", "]").find("2 classes"), std::string::npos);
  EXPECT_NE(changed(R"(,"d"])", R"(,"a"])").find("different names"), std::string::npos);
  EXPECT_NE(changed(R"("kind":"label")", R"("kind":"real")").find("classes"), std::string::npos);
  SavedModel unnamed = class_model("");
  unnamed.coding.target.classes.clear();
  EXPECT_THROW((void)format_saved_model(unnamed), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
