// What observe() refuses, and that the message says what, where and what would be accepted.

#include "gaussmith/errors.hpp"
#include "sites/cases.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace gaussmith::testing {
namespace {

void expect_refused(std::string_view likelihood, const Vector& y, const SiteArguments& arguments,
                    const std::vector<std::string>& words) {
  try {
    (void)observe(likelihood, y, arguments);
    ADD_FAILURE() << likelihood << " was accepted";
  } catch (const InvalidModel& error) {
    const std::string message = error.what();
    for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << message << " / " << word;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

Vector two(double a, double b) {
  Vector v(2);
  v << a, b;
  return v;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(SiteValidation, Responses) {
  expect_refused("bernoulli-logit", two(1, 0), {}, {"bernoulli-logit", "row 1", "is 0", "-1 or 1"});
  expect_refused("bernoulli-probit", two(2, 1), {}, {"row 0", "is 2", "-1 or 1"});
  expect_refused("poisson", two(1, -3), {}, {"row 1", "-3", "whole number of at least 0"});
  expect_refused("poisson", two(1.5, 3), {}, {"row 0", "1.5"});
  expect_refused("negative-binomial", two(infinity, 3), {{"shape", one(1)}}, {"row 0", "inf"});
  expect_refused("gaussian", two(0, nan), {{"variance", one(1)}}, {"row 1", "nan", "finite"});
  expect_refused("gamma", two(1, 0), {{"shape", one(1)}}, {"row 1", "positive"});
  expect_refused("weibull", two(-1, 1), {{"shape", one(1)}}, {"row 0", "positive"});
  expect_refused("binomial-logit", two(3, 6), {{"trials", one(5)}}, {"row 1", "is 6", "trials = 5"});
}

TEST(SiteValidation, Arguments) {
  const Vector y = two(1, 2);
  expect_refused("student-t", y, {{"nu", one(4)}}, {"'scale' is missing"});
  expect_refused("student-t", y, {{"nu", one(4)}, {"scale", one(1)}, {"sigma", one(1)}},
                 {"unknown argument 'sigma'", "nu, scale"});
  expect_refused("bernoulli-logit", two(1, -1), {{"scale", one(1)}}, {"unknown argument 'scale'", "none"});
  expect_refused("laplace", y, {{"scale", one(0)}}, {"'scale' is 0", "positive number"});
  expect_refused("laplace", y, {{"scale", two(1, nan)}}, {"'scale' of row 1 is nan"});
  expect_refused("laplace", y, {{"scale", Vector::Ones(3)}}, {"has 3 values", "1 or 2"});
  expect_refused("binomial-logit", y, {{"trials", one(2.5)}}, {"trials", "2.5", "whole number"});
  expect_refused("exponential", y, {{"censored", one(0.5)}}, {"censored", "0 or 1"});
  expect_refused("poisson", y, {{"exposure", one(-1)}}, {"exposure", "positive"});
}

TEST(SiteValidation, UnknownNamesListTheCatalogue) {
  std::vector<std::string> names{"unknown likelihood 'probit'"};
  for (const LikelihoodInfo& line : likelihood_catalogue()) names.push_back(line.traits.name);
  EXPECT_EQ(names.size(), 15u);
  expect_refused("probit", one(1), {}, names);
}

TEST(SiteValidation, LinesAreFoundByName) {
  for (const LikelihoodInfo& line : likelihood_catalogue()) {
    EXPECT_EQ(find_likelihood(line.traits.name), &line);
    EXPECT_EQ(&likelihood_info(line.traits.name), &line);
  }
  EXPECT_EQ(find_likelihood("probit"), nullptr);
  EXPECT_THROW((void)likelihood_info("probit"), InvalidModel);
}

TEST(SiteValidation, WithKeepsWhatIsNotGiven) {
  const Sites sites = observe("student-t", two(1, 2), {{"nu", one(4)}, {"scale", one(0.5)}});
  const Sites other = sites->with(Vector::Zero(5), {{"scale", one(2)}});
  EXPECT_EQ(other->size(), 5);
  EXPECT_EQ(other->parameters()[0].values[0], 4.0);
  EXPECT_EQ(other->parameters()[1].values[0], 2.0);
  EXPECT_TRUE(other->parameters()[1].learnable);
  const Sites binomial = observe("binomial-logit", two(1, 2), {{"trials", two(3, 4)}});
  EXPECT_THROW((void)binomial->with(Vector::Zero(5), {}), InvalidModel);
  EXPECT_THROW((void)sites->with(one(nan), {}), InvalidModel);
}

TEST(SiteValidation, PlaceholdersAreAcceptedByEveryLikelihood) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    const double y = placeholder_response(sites->traits().response);
    EXPECT_NO_THROW((void)sites->with(Vector::Constant(sites->size(), y), {})) << c.likelihood;
  }
}

TEST(SiteValidation, OnlyLearnableParametersHaveDerivatives) {
  const Sites sites = observe("negative-binomial", one(1), {{"shape", one(2)}});
  double eta = 0, out = 0;
  EXPECT_NO_THROW(sites->parameter_derivatives(0, 0, {&eta, 1}, {{&out, 1}, {}, {}}));
  EXPECT_THROW(sites->parameter_derivatives(0, 1, {&eta, 1}, {{&out, 1}, {}, {}}), InvalidOption);
  EXPECT_THROW(sites->parameter_derivatives(0, 2, {&eta, 1}, {{&out, 1}, {}, {}}), InvalidOption);
}

TEST(SiteValidation, CatalogueLinesAreComplete) {
  for (const LikelihoodInfo& line : likelihood_catalogue()) {
    EXPECT_FALSE(line.formula.empty() || line.summary.empty()) << line.traits.name;
    EXPECT_EQ(find_likelihood(line.traits.name), &line);
    for (const SiteArgumentInfo& argument : line.arguments) {
      EXPECT_FALSE(argument.help.empty()) << argument.name;
      EXPECT_EQ(line.find(argument.name), &argument);
    }
    EXPECT_EQ(line.find("colour"), nullptr);
  }
  EXPECT_EQ(find_likelihood("probit"), nullptr);
}

TEST(SiteValidation, ArgumentsOfOneNameMeanTheSameEverywhere) {
  std::vector<std::string> names;
  for (const ColumnArgument& known : column_arguments()) {
    names.push_back(known.info->name);
    EXPECT_EQ(find_column_argument(known.info->name), known.info);
    for (const std::string& likelihood : known.likelihoods) {
      const SiteArgumentInfo* argument = find_likelihood(likelihood)->find(known.info->name);
      ASSERT_NE(argument, nullptr);
      EXPECT_EQ(argument->kind, known.info->kind);
      EXPECT_EQ(argument->role, known.info->role);
      EXPECT_EQ(argument->column->holds, known.info->column->holds);
      EXPECT_EQ(argument->column->cell, known.info->column->cell);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"trials", "exposure", "censored"}));
  EXPECT_EQ(find_column_argument("variance"), nullptr);
  const Sites custom = observe(CustomLikelihood{.log_density = [](double eta, double) { return -eta * eta; }}, one(0));
  EXPECT_EQ(find_argument(*custom, "scale"), nullptr);
  EXPECT_EQ(find_argument(*observe("cauchy", one(0), {{"scale", one(1)}}), "scale")->role, ArgumentRole::noise_scale);
}

}  // namespace
}  // namespace gaussmith::testing
