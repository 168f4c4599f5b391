#include "gaussmith/errors.hpp"
#include "gaussmith/scores.hpp"
#include "gaussmith/table_model.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using test::fails_with;

SavedModel fitted(const Table& table, const TableModelOptions& options) {
  TableModel built = build_table_model(table, options);
  return saved_model(infer(built.model, Laplace{}), std::move(built.coding));
}

std::vector<std::string> names_of(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) names.push_back(column.name);
  return names;
}

SavedModel classes() {
  TableModelOptions options;
  options.likelihood = "bernoulli-probit";
  options.target = "y";
  options.standardize = true;
  return fitted(parse_table("a,b,y\n1,2,yes\n-1,0,no\n0.5,1,yes\n-0.4,2,no\n", "train.csv"), options);
}

TEST(TablePrediction, PredictsAsThePosteriorDoes) {
  TableModelOptions options;
  options.likelihood = "poisson";
  options.target = "deaths";
  options.argument_columns = {{"exposure", "expected"}};
  options.offset_column = "shift";
  for (const char* prior : {"gp", "isotropic"}) {
    SCOPED_TRACE(prior);
    options.prior = prior;
    const Table table = parse_table("x,expected,deaths,shift\n0.5,2,3,0.1\n1.5,4,2,0\n-1,1,0,-0.2\n", "t.csv");
    TableModel built = build_table_model(table, options);
    const Posterior posterior = infer(built.model, Laplace{});
    const SavedModel saved = saved_model(posterior, std::move(built.coding));
    EXPECT_EQ(saved.method, "laplace");
    EXPECT_TRUE(saved.converged);
    const TablePrediction predicted = predict_table(saved, table, {.observed = true});
    EXPECT_LT((predicted.prediction.latent_mean() - posterior.latent().mean).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_LT((predicted.prediction.latent_variance() - posterior.latent().variance).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_EQ(predicted.responses, Vector({{3.0, 2.0, 0.0}}));
    const Vector ratio = predicted.prediction.response_mean().array() /
                         (posterior.latent().mean + 0.5 * posterior.latent().variance).array().exp();
    EXPECT_LT((ratio - Vector({{2.0, 4.0, 1.0}})).cwiseAbs().maxCoeff(), 1e-10);
  }
}

TEST(TablePrediction, ColumnsHaveNames) {
  const TablePrediction predicted =
      predict_table(classes(), parse_table("b,other,a\n2,9,1\nNA,9,1\n0,9,-2\n", "new.csv"), {.drop_missing = true});
  EXPECT_EQ(predicted.rows, (std::vector<Index>{0, 2}));
  EXPECT_EQ(predicted.notes.size(), 1U);
  EXPECT_EQ(names_of(predicted.columns()),
            (std::vector<std::string>{"latent_mean", "latent_variance", "mean", "variance", "probability", "label"}));
  const auto columns = predicted.columns({.rows = true, .quantiles = {0.25}, .samples = 2, .seed = 7});
  EXPECT_EQ(names_of(columns),
            (std::vector<std::string>{"row", "latent_mean", "latent_variance", "mean", "variance", "probability",
                                      "label", "quantile_0.25", "sample_1", "sample_2"}));
  EXPECT_EQ(columns[0].numbers, Vector({{1.0, 3.0}}));
  EXPECT_EQ(columns[6].texts, (std::vector<std::string>{"yes", "no"}));
  for (const Column& column : columns) EXPECT_EQ(column.rows(), 2) << column.name;
}

TEST(TablePrediction, CensoringIsAskedOfObservedRowsOnly) {
  TableModelOptions options;
  options.likelihood = "weibull";
  options.target = "time";
  options.argument_columns = {{"censored", "cens"}};
  const Table table = parse_table("x,time,cens\n0.1,1.5,0\n0.5,2.5,1\n0.9,0.7,0\n", "t.csv");
  const SavedModel saved = fitted(table, options);
  EXPECT_EQ(predict_table(saved, parse_table("x\n0.4\n", "new.csv")).prediction.latent_mean().size(), 1);
  EXPECT_TRUE(fails_with<InvalidFile>(
      [&] { return predict_table(saved, parse_table("x,time\n0.4,1\n", "new.csv"), {.observed = true}); }, {"cens"}));
  const TablePrediction observed = predict_table(saved, table, {.observed = true});
  EXPECT_EQ(score(observed.prediction, observed.responses).censored, 1);
}

TEST(TablePrediction, RefusesTablesThatDoNotSuit) {
  const SavedModel saved = classes();
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return predict_table(saved, parse_table("1 1:2\n", "new.svm")); },
                                      {"new.svm: the model was fitted on a CSV table, this is a LIBSVM table"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return predict_table(saved, parse_table("a\n1\n", "new.csv")); }, {"b"}));
  EXPECT_TRUE(fails_with<InvalidFile>(
      [&] { return predict_table(saved, parse_table("a,b,y\n1,2,perhaps\n", "new.csv"), {.observed = true}); },
      {"perhaps", "no, yes"}));
  SavedModel broken = saved;
  broken.fitted.dual.conservativeResize(2);
  EXPECT_THROW((void)predict_table(broken, parse_table("a,b\n1,2\n", "new.csv")), InvalidModel);
}

TEST(TablePrediction, NewLibsvmTablesMayHaveMoreFeatures) {
  TableModelOptions options;
  options.likelihood = "bernoulli-logit";
  options.prior = "isotropic";
  const SavedModel saved = fitted(parse_table("1 1:1\n-1 2:2\n1 1:0.5 2:1\n", "t.svm"), options);
  const TableOptions reading = reading_options(saved.coding);
  EXPECT_EQ(reading.features, 2);
  const TablePrediction predicted = predict_table(saved, parse_table("1 2:0.5 7:1\n", "new.svm", reading));
  ASSERT_EQ(predicted.warnings.size(), 1U);
  EXPECT_EQ(predicted.warnings[0], "1 value of features beyond the model's 2 were left out");
}

TEST(SavedModels, AFitThatLearningLeftUnfinishedHasNotConverged) {
  TableModelOptions options;
  options.likelihood = "gaussian";
  options.target = "y";
  options.learning = true;
  TableModel built = build_table_model(parse_table("x,y\n0.1,1.5\n0.7,2.5\n1.3,0.5\n2.0,3.5\n", "t.csv"), options);
  LearnOptions few;
  few.max_evaluations = 1;
  const Learned learned = learn(built.model, Exact{}, few);
  ASSERT_NE(learned.report.status, Status::converged);
  EXPECT_FALSE(saved_model(learned, built.coding).converged);
  EXPECT_TRUE(saved_model(learned.posterior, built.coding).converged);
}

TEST(TablePrediction, KeptColumnsComeFirst) {
  SavedModel model = classes();
  model.coding.keep = {"id", "gone"};
  const TableOptions reading = reading_options(model.coding, {"b"});
  EXPECT_EQ(reading.verbatim_columns, (std::vector<std::string>{"id", "gone"}));  // b is a feature: numbers.
  const Table table = parse_table("id,a,b\n07,1,1\n08,0,\n09,0,0\n", "new.csv", reading);
  const TablePrediction predicted = predict_table(model, table, {.drop_missing = true, .keep = {"b"}});
  const auto columns = predicted.columns();
  EXPECT_EQ(names_of(columns)[0], "id");
  EXPECT_EQ(names_of(columns)[1], "b");
  EXPECT_EQ(columns[0].texts, (std::vector<std::string>{"07", "09"}));
  ASSERT_EQ(predicted.notes.size(), 2U);
  EXPECT_NE(predicted.notes[1].find("gone"), std::string::npos);
  TablePrediction clash = predicted;
  clash.kept[0].name = "quantile_0.5";
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return clash.columns({.quantiles = {0.5}}); }, {"quantile_0.5"}));
}

TEST(IntervalColumns, FollowTheLinkOfEveryLikelihood) {
  const Marginals latent{Vector{{0.3, -1.0}}, Vector{{0.25, 4.0}}};
  const double reach = 1.6448536269514722;  // The normal quantile at 0.95.
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    if (!info.traits.methods.empty()) continue;  // Several latents.
    SCOPED_TRACE(info.traits.name);
    SiteArguments arguments;
    for (const SiteArgumentInfo& argument : info.arguments)
      if (argument.required) arguments[argument.name] = one(2.0);
    const Sites likelihood =
        observe(info.traits.name, Vector::Constant(2, placeholder_response(info.traits.response)), arguments);
    std::vector<Column> ends = interval_columns(Prediction(latent, likelihood), 0.9);
    const bool probability = info.traits.name.starts_with("b");  // Bernoulli and binomial.
    const bool real = info.traits.response == ResponseKind::real;
    const bool mean = info.traits.name == "gamma" || info.traits.name == "exponential";
    const std::string name = probability ? "probability" : real ? "latent" : mean ? "mean" : "rate";
    // Predictions have a probability of two classes, a mean and a latent mean anyway.
    if (name == "rate" || info.traits.name == "binomial-logit") {
      ASSERT_EQ(ends.size(), 3U);
      const Column point = ends.front();
      ends.erase(ends.begin());
      EXPECT_EQ(point.name, name);
      for (Index n = 0; n < 2; ++n) {
        // E of e^eta or of the logistic function by a midpoint sum.
        const double sd = std::sqrt(latent.variance(n));
        double sum = 0.0;
        for (int k = -8000; k <= 8000; ++k) {
          const double eta = latent.mean(n) + sd * k / 800.0;
          sum += (probability ? 1.0 / (1.0 + std::exp(-eta)) : std::exp(eta)) * std::exp(-0.5 * k * k / 640000.0);
        }
        const double expected = sum / (800.0 * std::sqrt(2.0 * M_PI));
        EXPECT_NEAR(point.numbers(n), expected, 1e-8 * (1.0 + expected));
      }
    }
    ASSERT_EQ(ends.size(), 2U);
    for (int upper : {0, 1}) {
      const Column& end = ends[static_cast<std::size_t>(upper)];
      EXPECT_EQ(end.name, name + (upper == 1 ? "_upper" : "_lower"));
      for (Index n = 0; n < 2; ++n) {
        const double eta = latent.mean(n) + (upper == 1 ? reach : -reach) * std::sqrt(latent.variance(n));
        const double expected = info.traits.name == "bernoulli-probit" ? 0.5 * std::erfc(-eta / std::sqrt(2.0))
                                : probability                          ? 1.0 / (1.0 + std::exp(-eta))
                                : real                                 ? eta
                                                                       : std::exp(eta);
        EXPECT_NEAR(end.numbers(n), expected, 1e-12 * (1.0 + std::abs(expected)));
      }
    }
  }
  const Prediction prediction(latent, observe("gaussian", Vector::Zero(2), {{"variance", one(1.0)}}));
  EXPECT_THROW((void)interval_columns(prediction, 1.0), InvalidOption);
}

TEST(TablePrediction, ClassesHaveAColumnEach) {
  const Table table = parse_table("a,kind\n1,owl\n-1,cat\n0.5,dog\n-0.4,cat\n2,owl\n", "t.csv");
  for (const char* prior : {"gp", "linear"}) {
    SCOPED_TRACE(prior);
    TableModelOptions options;
    options.likelihood = "multinomial-logit";
    options.target = "kind";
    options.prior = prior;
    TableModel built = build_table_model(table, options);
    const Posterior posterior = infer(built.model, Laplace{});
    const SavedModel saved = saved_model(posterior, std::move(built.coding));
    const TablePrediction predicted = predict_table(saved, table, {.observed = true});
    EXPECT_LT((predicted.prediction.latent_mean() - posterior.latent().mean).cwiseAbs().maxCoeff(), 1e-10);
    EXPECT_LT((predicted.prediction.latent_covariance() - posterior.latent().covariance).cwiseAbs().maxCoeff(), 1e-9);
    EXPECT_EQ(predicted.responses, Vector({{2.0, 0.0, 1.0, 0.0, 2.0}}));
    const std::vector<Column> columns = predicted.columns({.samples = 1});
    EXPECT_EQ(names_of(columns),
              (std::vector<std::string>{"latent_mean_cat", "latent_mean_dog", "latent_mean_owl", "latent_variance_cat",
                                        "latent_variance_dog", "latent_variance_owl", "probability_cat",
                                        "probability_dog", "probability_owl", "label", "sample_1"}));
    EXPECT_EQ(columns[1].numbers(2), predicted.prediction.latent_mean()(2 * 3 + 1));
    const Matrix probability = predicted.prediction.class_probabilities().probability;
    for (Index n = 0; n < 5; ++n) {
      EXPECT_NEAR(probability.row(n).sum(), 1.0, 1e-6);
      Index best = 0;
      probability.row(n).maxCoeff(&best);
      EXPECT_EQ(columns[9].texts[static_cast<std::size_t>(n)],
                saved.coding.target.classes[static_cast<std::size_t>(best)]);
    }
    EXPECT_TRUE(fails_with<InvalidOption>([&] { return predicted.columns({.quantiles = {0.5}}); }, {"quantiles"}));
    EXPECT_TRUE(fails_with<InvalidOption>([&] { return predicted.columns({.interval = 0.9}); }, {"interval"}));
    EXPECT_EQ(parse_saved_model(format_saved_model(saved), "m.gsm").coding.target.classes.size(), 3U);
  }
}

}  // namespace
}  // namespace gaussmith
