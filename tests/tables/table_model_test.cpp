#include "gaussmith/table_model.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/tables.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace gaussmith {
namespace {

using test::fails_with;

Table counts() {
  return parse_table("x,expected,deaths,town\n0.5,2,3,Ulm\n1.5,4,2,Bonn\n-1,1,0,Ulm\n0,3,4,Bonn\n", "counts.csv");
}

Table numbers() { return parse_table("x,z,y\n0.1,1,1.5\n0.7,2,2.5\n1.3,4,0.5\n2.0,3,3.5\n", "numbers.csv"); }

TableModelOptions options(const char* likelihood, const char* target) {
  TableModelOptions chosen;
  chosen.likelihood = likelihood;
  chosen.target = target;
  return chosen;
}

double value_of(const Model& model, const std::string& name) {
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.name == name) return parameter.value;
  }
  return std::nan("");
}

double log_evidence(const Model& model) { return infer(model, Laplace{}).log_evidence().value; }

TEST(TableModel, AProcessAsBuiltByHand) {
  TableModelOptions chosen = options("gaussian", "y");
  chosen.kernel = "se-ard + white";
  chosen.mean = 0.3;
  chosen.parameters = {{"kernel.terms[0].lengthscale", {0.5, 2.0}}, {"likelihood.variance", {0.1}}};
  const TableModel built = build_table_model(numbers(), chosen);
  GaussianProcess process;
  process.inputs = Matrix{{0.1, 1.0}, {0.7, 2.0}, {1.3, 4.0}, {2.0, 3.0}};
  process.kernel = sum({make_kernel("se", {{"lengthscale", {0.5, 2.0}}}), make_kernel("white")});
  process.mean = 0.3;
  Model by_hand;
  by_hand.prior = process;
  by_hand.sites = {observe("gaussian", Vector{{1.5, 2.5, 0.5, 3.5}}, {{"variance", one(0.1)}})};
  EXPECT_EQ(log_evidence(built.model), log_evidence(by_hand));
  ASSERT_EQ(built.notes.size(), 1U);
  EXPECT_EQ(built.notes[0],
            "kernel parameters not given, so set to the default: signal_sd = 1 (se), signal_sd = 1 (white) "
            "(set them, or learn)");
}

TEST(TableModel, LinearModelsFromBothKindsOfTables) {
  TableModelOptions chosen = options("bernoulli-logit", "y");
  chosen.prior = "isotropic";
  chosen.parameters = {{"prior.variance", {2.0}}};
  const TableModel dense = build_table_model(parse_table("a,b,y\n1,0,1\n0,2,-1\n0.5,1,1\n", "t.csv"), chosen);
  chosen.target = "";
  const TableModel sparse = build_table_model(parse_table("1 1:1\n-1 2:2\n1 1:0.5 2:1\n", "t.svm"), chosen);
  EXPECT_TRUE(dense.coding.intercept);
  EXPECT_EQ(dense.model.dimension(), 3);
  EXPECT_NEAR(log_evidence(dense.model), log_evidence(sparse.model), 1e-13);
  chosen.intercept = false;
  EXPECT_EQ(build_table_model(parse_table("1 1:1\n-1 2:2\n", "t.svm"), chosen).model.dimension(), 2);
}

TEST(TableModel, TextFeaturesDropALevelBesideAnIntercept) {
  TableModelOptions chosen = options("poisson", "deaths");
  chosen.argument_columns = {{"exposure", "expected"}};
  EXPECT_EQ(build_table_model(counts(), chosen).coding.features.names(),
            (std::vector<std::string>{"x", "town=Bonn", "town=Ulm"}));
  chosen.prior = "isotropic";
  const TableModel linear = build_table_model(counts(), chosen);
  ASSERT_EQ(linear.coding.fixed.size(), 2U);
  EXPECT_EQ(linear.coding.fixed[1].names(), std::vector<std::string>{"town=Ulm"});
  EXPECT_TRUE(linear.notes[0].starts_with("column town: categories -> ")) << linear.notes[0];
}

TEST(TableModel, CoefficientsHavePriorsOnTheScaleOfTheData) {
  TableModelOptions chosen = options("gaussian", "y");
  chosen.prior = "isotropic";
  chosen.coefficient_priors = {{"z", 0.5, 0.25}};
  const TableModel built = build_table_model(numbers(), chosen);
  const auto& prior = std::get<Additive>(built.model.prior);
  const auto sd = [](const Vector& v) { return std::sqrt((v.array() - v.mean()).square().mean()); };
  const double spread = sd(Vector{{1.5, 2.5, 0.5, 3.5}});
  EXPECT_NEAR(prior.fixed.mean(0), 2.0, 1e-15);
  EXPECT_NEAR(std::sqrt(prior.fixed.variance(0)), 10.0 * spread, 1e-12);
  EXPECT_NEAR(std::sqrt(prior.fixed.variance(1)), 2.5 * spread / sd(Vector{{0.1, 0.7, 1.3, 2.0}}), 1e-12);
  EXPECT_EQ(prior.fixed.mean(2), 0.5);
  EXPECT_NEAR(std::sqrt(prior.fixed.variance(2)), 0.25, 1e-15);
  // Columns are centred, so that the intercept is that of an average row.
  EXPECT_NEAR(built.model.design.transposed_times(Vector(Vector::Ones(4)))(1), 0.0, 1e-14);
  // The best constant of counts: sum of counts over sum of exposures; of classes: the log odds.
  TableModelOptions counting = options("poisson", "deaths");
  counting.argument_columns = {{"exposure", "expected"}};
  counting.prior = "isotropic";
  EXPECT_NEAR(std::get<Additive>(build_table_model(counts(), counting).model.prior).fixed.mean(0), std::log(9.0 / 10.0),
              1e-10);
  const Table classes = parse_table("x,y\n1,a\n2,b\n3,b\n4,b\n", "classes.csv");
  TableModelOptions logistic = options("bernoulli-logit", "y");
  logistic.prior = "isotropic";
  EXPECT_NEAR(std::get<Additive>(build_table_model(classes, logistic).model.prior).fixed.mean(0), std::log(3.0), 1e-10);
}

TEST(TableModel, TheLevelOfTheDataIsTheMeanResponse) {
  TableModelOptions chosen = options("poisson", "deaths");
  chosen.mean.reset();
  const auto mean = [&](Table table) {
    return std::get<GaussianProcess>(build_table_model(std::move(table), chosen).model.prior).mean;
  };
  EXPECT_NEAR(mean(counts()), std::log(9.0 / 4.0), 1e-15);
  chosen.argument_columns = {{"exposure", "expected"}};
  EXPECT_NEAR(mean(counts()), std::log(9.0 / 10.0), 1e-15);
  chosen = options("gaussian", "y");
  chosen.mean.reset();
  EXPECT_NEAR(mean(numbers()), 2.0, 1e-15);
  chosen.likelihood = "gamma";
  EXPECT_NEAR(mean(numbers()), std::log(2.0), 1e-15);
  chosen.likelihood = "weibull";
  EXPECT_EQ(mean(numbers()), 0.0);
}

TEST(TableModel, LearningStartsFromTheData) {
  TableModelOptions chosen = options("student-t", "y");
  const TableModel plain = build_table_model(numbers(), chosen);
  EXPECT_EQ(value_of(plain.model, "sites[0].nu"), 4.0);
  EXPECT_EQ(value_of(plain.model, "sites[0].scale"), 1.0);
  EXPECT_EQ(plain.notes[0],
            "not given, so set to the default: likelihood.nu = 4, likelihood.scale = 1 (set them, or learn)");
  chosen.learning = true;
  const TableModel started = build_table_model(numbers(), chosen);
  const double sd = std::sqrt(1.25);
  EXPECT_EQ(value_of(started.model, "sites[0].nu"), 4.0);
  EXPECT_NEAR(value_of(started.model, "sites[0].scale"), 0.5 * sd, 1e-15);
  EXPECT_NEAR(value_of(started.model, "kernel.signal_sd"), std::hypot(sd, 2.0),
              1e-15);  // About the mean 0 of the process.
  EXPECT_TRUE(started.notes.empty());
  chosen.likelihood = "gaussian";
  EXPECT_NEAR(value_of(build_table_model(numbers(), chosen).model, "sites[0].variance"), 0.25 * 1.25, 1e-15);
}

// What the catalogue says of an argument is all that tables need: a new likelihood touches no other file.
TEST(TableModel, EveryLikelihoodIsBuiltFromItsCatalogueLine) {
  for (const LikelihoodInfo& info : likelihood_catalogue()) {
    if (!info.traits.methods.empty()) continue;  // Several latents.
    SCOPED_TRACE(info.traits.name);
    TableModelOptions chosen = options(info.traits.name.c_str(), "y");
    Table table;
    table.columns = {numeric_column("x", Vector{{0.1, 0.7, 1.3}})};
    const double low = info.traits.response == ResponseKind::sign ? -1.0 : 1.0;
    table.columns.push_back(numeric_column("y", Vector{{low, 1.0, 1.0}}));
    for (const SiteArgumentInfo& argument : info.arguments) {
      if (!argument.column) continue;
      const std::string column = "of " + argument.name;
      table.columns.push_back(
          numeric_column(column, Vector{{1.0, argument.kind == ArgumentKind::flag ? 0.0 : 2.0, 1.0}}));
      chosen.argument_columns[argument.name] = column;
    }
    const TableModel built = build_table_model(table, chosen);
    EXPECT_EQ(built.coding.features.names(), std::vector<std::string>{"x"});
    const SiteBlock& block = *built.model.sites.front();
    // A bound that nobody asks for is no parameter.
    const auto bounds = std::count_if(info.arguments.begin(), info.arguments.end(),
                                      [](const SiteArgumentInfo& a) { return a.kind == ArgumentKind::bound; });
    ASSERT_EQ(block.parameters().size() + static_cast<std::size_t>(bounds), info.arguments.size());
    for (const SiteArgumentInfo& argument : info.arguments) {
      if (argument.kind == ArgumentKind::bound) continue;
      const auto parameter = std::find_if(block.parameters().begin(), block.parameters().end(),
                                          [&](const SiteParameter& p) { return p.name == argument.name; });
      EXPECT_EQ(parameter->values.size(), argument.column ? 3 : 1);
      if (!argument.column) {
        EXPECT_EQ(parameter->values[0], argument.starting_value);
      }
    }
    EXPECT_EQ(plain_coding(built.model).argument_columns.size(), chosen.argument_columns.size());
  }
}

TEST(TableModel, SettingsMayBeTextAndLaterOnesWin) {
  TableModelOptions chosen = options("gaussian", "y");
  chosen.parameters = {{.name = "kernel.lengthscale", .text = "0.5, 2"},
                       {.name = "kernel.lengthscale[1]", .values = {3.0}},
                       {.name = "sites[0].variance", .values = {7.0}},
                       {.name = "likelihood.variance", .text = "0.2"}};
  const Model model = build_table_model(numbers(), chosen).model;
  EXPECT_EQ(value_of(model, "kernel.lengthscale[0]"), 0.5);
  EXPECT_EQ(value_of(model, "kernel.lengthscale[1]"), 3.0);
  EXPECT_EQ(value_of(model, "sites[0].variance"), 0.2);
  EXPECT_EQ(parse_numbers(" 1,+2,-3e1 ", "--bounds x"), (std::vector<double>{1.0, 2.0, -30.0}));
  EXPECT_TRUE(fails_with<InvalidOption>([] { return parse_numbers("1,,2", "--bounds x"); },
                                        {"--bounds x=1,,2: \"\" is not a number"}));
}

TEST(TableModel, ALaplacePriorIsSitesBelowTheRows) {
  TableModelOptions chosen = options("gaussian", "y");
  chosen.prior = "laplace";
  chosen.offset_column = "z";
  const TableModel built = build_table_model(numbers(), chosen);
  const Model& model = built.model;
  ASSERT_EQ(model.sites.size(), 3U);
  EXPECT_EQ(model.rows(), 6);
  EXPECT_EQ(built.coding.training_rows, 4);
  const Vector offset = (Vector(6) << 1.0, 2.0, 4.0, 3.0, 0.0, 0.0).finished();
  EXPECT_EQ(model.offset, offset);
  const Matrix below = (Matrix(2, 2) << 0.0, 1.0, 1.0, 0.0).finished();
  ASSERT_NE(model.design.entries().dense, nullptr);
  EXPECT_EQ(model.design.entries().dense->bottomRows(2), below);
  const Vector x = (Vector(4) << 0.1, 0.7, 1.3, 2.0).finished();
  const double s_x = std::sqrt((x.array() - x.mean()).square().mean());
  const double s_y = std::sqrt(1.25);
  EXPECT_NEAR(value_of(model, "sites[1].scale"), 2.5 * s_y / s_x / std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(value_of(model, "sites[2].variance"), 125.0, 1e-10);
  EXPECT_EQ(built.kept_parameters, (std::vector<std::string>{"sites[1].scale", "sites[2].variance"}));

  chosen.parameters = {{"prior.variance", {8.0}}};
  const TableModel shared = build_table_model(numbers(), chosen);
  ASSERT_EQ(shared.model.sites.size(), 2U);
  EXPECT_EQ(value_of(shared.model, "sites[1].scale"), 2.0);
  EXPECT_TRUE(shared.kept_parameters.empty());
}

TEST(TableModel, ALaplacePriorOfMoreColumnsThanRowsHasSparseRows) {
  TableModelOptions chosen = options("gaussian", "y");
  chosen.prior = "laplace";
  chosen.intercept = false;
  const TableModel built =
      build_table_model(parse_table("a,b,c,d,e,y\n1,2,3,4,5,1\n2,1,0,1,3,2\n", "wide.csv"), chosen);
  const DesignEntries entries = built.model.design.entries();
  ASSERT_NE(entries.sparse, nullptr);
  Matrix expected = Matrix::Zero(7, 5);
  expected.topRows(2) << 1, 2, 3, 4, 5, 2, 1, 0, 1, 3;
  expected.bottomRows(5).setIdentity();
  EXPECT_EQ(Matrix(*entries.sparse), expected);
  EXPECT_TRUE(built.kept_parameters.empty());
}

TEST(TableModel, RefusesBeforeATableIsRead) {
  const auto checked = [](TableModelOptions chosen) {
    return [chosen] {
      chosen.check();
      return 0;
    };
  };
  TableModelOptions chosen = options("logit", "y");
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"likelihood: unknown likelihood \"logit\"", "gaussian"}));
  chosen = options("gaussian", "y");
  chosen.prior = "flat";
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"prior: unknown prior \"flat\"", "isotropic"}));
  chosen.prior = "laplace";
  chosen.random = {"1|x"};
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"random 1|x: prior laplace", "use prior linear"}));
  chosen.random.clear();
  chosen.prior = "isotropic";
  chosen.kernel = "se";
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"kernel belongs to prior gp"}));
  chosen.spelling = Spelling::command_line;
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"--kernel belongs to --prior gp"}));
  chosen.kernel = "";
  chosen.mean.reset();
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"--mean belongs to --prior gp"}));
  chosen = options("gaussian", "y");
  chosen.intercept = false;
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"intercept = false belongs to prior isotropic"}));
  chosen = options("gaussian", "y");
  chosen.argument_columns = {{"exposure", "x"}};
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen),
                                        {"argument_columns.exposure: the likelihood gaussian has no exposure"}));
  chosen.argument_columns = {{"variance", "x"}};
  EXPECT_TRUE(fails_with<InvalidOption>(checked(chosen), {"has no variance by row"}));
}

TEST(TableModel, SparseRowsHaveColumnsBesideThem) {
  Table counts = parse_table("1 1:1\n0 2:2\n3 1:0.5 2:1\n", "t.svm");
  counts.columns = {numeric_column("days", Vector::LinSpaced(3, 1, 3)),
                    numeric_column("level", Vector::Constant(3, 0.5)),
                    numeric_column("times", Vector::LinSpaced(3, 1, 2))};
  TableModelOptions chosen = options("poisson", "");
  chosen.argument_columns["exposure"] = "days";
  chosen.offset_column = "level";
  chosen.weights_column = "times";
  const TableModel built = build_table_model(counts, chosen);
  EXPECT_EQ(built.model.offset, Vector::Constant(3, 0.5));
  EXPECT_EQ(built.model.weights, Vector::LinSpaced(3, 1, 2));
  const SavedModel saved = saved_model(infer(built.model, Laplace{}), built.coding);
  const Vector mean = predict_table(saved, counts, {}).prediction.response_mean();
  counts.columns[0].numbers *= 2.0;
  EXPECT_TRUE(predict_table(saved, counts, {}).prediction.response_mean().isApprox(2.0 * mean, 1e-12));
  counts.columns.clear();
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return predict_table(saved, counts, {}); }, {"LIBSVM", "days"}));
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return build_table_model(counts, chosen); }, {"days: a LIBSVM table"}));
}

/// A category of so many levels that rows are kept sparse, and a number.
Table many_levels(Index levels) {
  std::string text = "town,x,y\n";
  for (Index n = 0; n < 3 * levels; ++n) {
    const Index level = n * 7 % levels;
    text += "t" + std::to_string(level) + "," + std::to_string(static_cast<double>(n % 5) - 1.5) + "," +
            ((n * n + level) % 3 == 0 ? "1" : "-1") + "\n";
  }
  return parse_table(text, "towns.csv");
}

TEST(TableModel, CategoriesOfManyLevelsHaveSparseRows) {
  const Index levels = 320;
  for (const std::string formula : {"", "y ~ town + x", "y ~ 0 + town:x", "y ~ town + x + (1|town)"}) {
    for (const std::string prior : {"linear", "isotropic", "laplace"}) {
      if (!formula.empty() && prior != "linear") continue;
      SCOPED_TRACE(formula + " " + prior);
      TableModelOptions chosen = options("bernoulli-logit", formula.empty() ? "y" : "");
      chosen.formula = formula;
      if (formula.empty()) chosen.prior = prior;
      const Table table = many_levels(levels);
      const TableModel built = build_table_model(table, chosen);
      const DesignEntries stored = built.model.design.entries();
      ASSERT_TRUE(stored.is_sparse());
      EXPECT_LT(built.model.design.nonzeros(), 8.0 * static_cast<double>(table.rows()));
      // The same numbers as a dense design, from each column's own coding.
      Model dense = built.model;
      dense.design = Matrix(*stored.sparse);
      const Posterior posterior = infer(built.model, Vb{});
      EXPECT_NEAR(posterior.log_evidence().value, infer(dense, Vb{}).log_evidence().value, 1e-8);
      if (formula == "y ~ 0 + town:x") {
        const Matrix coded = built.coding.fixed.front().encode(table);
        EXPECT_EQ(Matrix(*stored.sparse), coded);
      }
      // New rows are coded alike, however few.
      const TablePrediction predicted =
          predict_table(saved_model(posterior, built.coding), parse_table("town,x\nt3,0.5\nt0,-1.5\n", "new.csv"));
      EXPECT_NEAR(predicted.prediction.latent_mean()(1), posterior.latent().mean(0), 1e-9);
    }
  }
  TableModelOptions linear = options("bernoulli-logit", "y");
  linear.prior = "linear";
  EXPECT_NE(build_table_model(many_levels(100), linear).model.design.entries().dense, nullptr);
}

TEST(TableModel, RefusesWhatTheTableCannotGive) {
  const auto building = [](TableModelOptions chosen, Table table) {
    return [chosen, table] { return build_table_model(table, chosen); };
  };
  EXPECT_TRUE(fails_with<InvalidOption>(building(options("gaussian", ""), numbers()),
                                        {"target is missing; numbers.csv has the columns x, z, y"}));
  const Table sparse = parse_table("1 1:1\n-1 2:2\n", "t.svm");
  EXPECT_TRUE(fails_with<InvalidOption>(building(options("gaussian", "y"), sparse), {"target y: a LIBSVM table"}));
  TableModelOptions chosen = options("gaussian", "y");
  chosen.features = {"y"};
  EXPECT_THROW((void)build_table_model(numbers(), chosen), InvalidInput);
  chosen = options("gaussian", "y");
  chosen.parameters = {{"kernel.width", {1.0}}};
  EXPECT_TRUE(fails_with<InvalidOption>(building(chosen, numbers()),
                                        {"kernel.width: there is no such parameter", "likelihood.variance"}));
  chosen.parameters = {{.name = "width", .text = "wide"}};
  EXPECT_TRUE(fails_with<InvalidOption>(building(chosen, numbers()), {"width: there is no such parameter"}));
  chosen.parameters = {{"likelihood.variance", {1.0, 2.0}}};
  EXPECT_TRUE(fails_with<InvalidOption>(building(chosen, numbers()), {"likelihood.variance takes one number"}));
  chosen = options("binomial-logit", "deaths");
  EXPECT_TRUE(fails_with<InvalidOption>(building(chosen, counts()), {"needs trials", "argument_columns.trials"}));
  chosen = options("poisson", "deaths");
  chosen.argument_columns = {{"exposure", "expected"}};
  chosen.parameters = {{"likelihood.exposure", {2.0}}};
  EXPECT_TRUE(fails_with<InvalidOption>(building(chosen, counts()), {"both give exposure"}));
}

TEST(PlainCoding, NamesTheColumnsOfAProblem) {
  Model model;
  model.prior = Isotropic{Vector::Zero(2), 1.0};
  model.design = Matrix(Matrix::Random(3, 2));
  model.offset = Vector::Zero(3);
  model.sites = {observe("poisson", Vector{{1.0, 0.0, 2.0}}, {{"exposure", Vector{{1.0, 2.0, 3.0}}}})};
  const TableCoding coding = plain_coding(model);
  EXPECT_EQ(coding.features.names(), (std::vector<std::string>{"x1", "x2"}));
  EXPECT_EQ(coding.target.column, "y");
  EXPECT_EQ(coding.argument_columns.at("exposure"), "exposure");
  EXPECT_EQ(coding.offset_column, "offset");
  EXPECT_EQ(coding.training_rows, 3);
  model.sites = {observe("gaussian", Vector::Zero(3), {{"variance", Vector{{1.0, 2.0, 3.0}}}})};
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return plain_coding(model, Spelling::command_line); },
                                        {"--save: variance varies by row"}));
  model.sites.push_back(model.sites.front());
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return plain_coding(model); }, {"save: the problem has 2 blocks"}));
}

Table times() { return parse_table("id,x,time,event,w\na,0,1.5,1,1\nb,1,2,0,2\nc,2,0.5,1,0.5\n", "times.csv"); }

TEST(TableModel, EventsAreTheComplementOfCensoring) {
  TableModelOptions chosen = options("exponential", "time");
  chosen.event_column = "event";
  chosen.features = {"x"};
  const TableModel built = build_table_model(times(), chosen);
  EXPECT_EQ(censored_rows(*built.model.sites.front()), Vector({{0.0, 1.0, 0.0}}));
  EXPECT_EQ(built.coding.argument_columns.at("censored"), "event");
  EXPECT_EQ(built.coding.inverted_arguments, std::vector<std::string>{"censored"});
  chosen.argument_columns["censored"] = "event";
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return build_table_model(times(), chosen); },
                                        {"event_column", "argument_columns.censored"}));
  chosen = options("gamma", "time");
  chosen.event_column = "event";
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return build_table_model(times(), chosen); }, {"event_column", "gamma"}));
}

TEST(TableModel, WeightsAndColumnsToKeepAreNoFeatures) {
  TableModelOptions chosen = options("exponential", "time");
  chosen.event_column = "event";
  chosen.weights_column = "w";
  chosen.keep = {"id"};
  chosen.mean.reset();
  const TableModel built = build_table_model(times(), chosen);
  EXPECT_EQ(built.coding.features.names(), std::vector<std::string>{"x"});
  EXPECT_EQ(built.coding.keep, chosen.keep);
  EXPECT_EQ(built.model.weights, Vector({{1.0, 2.0, 0.5}}));
  // The level of the data is that of rows repeated by weight.
  EXPECT_NEAR(std::get<GaussianProcess>(built.model.prior).mean, std::log((1.5 + 4.0 + 0.25) / 3.5), 1e-14);
  chosen.keep = {"variance"};
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return build_table_model(times(), chosen); }, {"keep variance"}));
  chosen.keep = {"id"};
  chosen.weights_column = "x";
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return build_table_model(times(), chosen); },
                                      {"line 2", "\"x\"", "0 is not a weight"}));
  const Table sparse = parse_table("1 1:2\n-1 1:3\n", "t.svm");
  chosen = options("bernoulli-logit", "");
  chosen.keep = {"id"};
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return build_table_model(sparse, chosen); }, {"keep id", "LIBSVM"}));
}

Table animals() {
  return parse_table("x,z,kind\n0.1,1,owl\n0.7,2,cat\n1.3,4,owl\n2.0,3,dog\n-1,0.5,cat\n", "animals.csv");
}

TEST(TableModel, ClassesHaveAFunctionEach) {
  TableModelOptions chosen = options("multinomial-logit", "kind");
  chosen.latent_covariance = "diagonal";
  chosen.parameters = {{"kernel.lengthscale", {0.8}}, {"prior.latent_covariance.weight", {1.0, 2.0, 3.0}}};
  const TableModel built = build_table_model(animals(), chosen);
  EXPECT_EQ(built.coding.target.classes, (std::vector<std::string>{"cat", "dog", "owl"}));
  Model by_hand;
  by_hand.prior = GaussianProcess{.inputs = Matrix{{0.1, 1.0}, {0.7, 2.0}, {1.3, 4.0}, {2.0, 3.0}, {-1.0, 0.5}},
                                  .kernel = make_kernel("se", {{"lengthscale", {0.8}}})};
  by_hand.sites = {observe("multinomial-logit", Vector{{2.0, 0.0, 2.0, 1.0, 0.0}}, {{"classes", one(3.0)}})};
  by_hand.latents = {.count = 3, .model = LatentModel::diagonal, .weight = Vector{{1.0, 2.0, 3.0}}};
  EXPECT_NEAR(log_evidence(built.model), log_evidence(by_hand), 1e-12);
}

TEST(TableModel, ClassesOfALinearModel) {
  TableModelOptions chosen = options("multinomial-logit", "kind");
  chosen.prior = "linear";
  const TableModel built = build_table_model(animals(), chosen);
  const auto& prior = std::get<Diagonal>(built.model.prior);
  EXPECT_TRUE(prior.mean.isZero(0.0));
  EXPECT_EQ(prior.variance(0), 100.0);
  // 2.5 / sd of the column, as for one function.
  const Vector z{{1.0, 2.0, 4.0, 3.0, 0.5}};
  const double spread = (z.array() - z.mean()).square().mean();
  EXPECT_NEAR(prior.variance(2), 6.25 / spread, 1e-12 * prior.variance(2));
  EXPECT_EQ(built.model.latents.count, 3);
  chosen.parameters = {{"prior.variance", {2.0}}};
  EXPECT_EQ(std::get<Isotropic>(build_table_model(animals(), chosen).model.prior).variance, 2.0);
}

TEST(TableModel, WhatClassesDoNotHave) {
  const auto refused = [](const std::function<void(TableModelOptions&)>& change,
                          std::initializer_list<std::string_view> words) {
    TableModelOptions chosen = options("multinomial-logit", "kind");
    change(chosen);
    return fails_with<InvalidOption>([&] { return build_table_model(animals(), chosen); }, words);
  };
  EXPECT_TRUE(
      refused([](auto& o) { o.latent_covariance = "centred_diagonal"; }, {"latent_covariance", "did you mean"}));
  EXPECT_TRUE(refused([](auto& o) { o.prior = "laplace"; }, {"prior laplace", "multinomial-logit"}));
  EXPECT_TRUE(refused([](auto& o) { o.offset_column = "x"; }, {"offset"}));
  EXPECT_TRUE(refused([](auto& o) { o.kernel = "se(x)"; }, {"multinomial-logit", "both"}));
  EXPECT_TRUE(refused(
      [](auto& o) {
        o.parameters = {{"prior.latent_covariance.weight", {1.0}}};
      },
      {"no such parameter"}));
  EXPECT_TRUE(refused([](auto& o) { o.parameters = {{"likelihood.classes", {4.0}}}; }, {"classes", "keep one"}));
  EXPECT_TRUE(refused(
      [](auto& o) {
        o.likelihood = "gaussian";
        o.classes = {"a", "b"};
      },
      {"classes", "gaussian"}));
}

}  // namespace
}  // namespace gaussmith
