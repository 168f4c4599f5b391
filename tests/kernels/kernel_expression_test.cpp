#include "gaussmith/kernel_expression.hpp"

#include "gaussmith/errors.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using test::fails_with;

const Matrix points{{0.1, 2.0}, {0.7, -1.0}, {1.9, 0.5}};

Matrix gram(const KernelHandle& kernel) {
  Matrix out;
  kernel->gram(points, out);
  return out;
}

TEST(KernelExpression, ProductsBindCloserThanSums) {
  const KernelExpression parsed = parse_kernel("se + linear*( white+constant )");
  ASSERT_EQ(parsed.name, "sum");
  ASSERT_EQ(parsed.terms.size(), 2U);
  EXPECT_EQ(parsed.terms[0].name, "se");
  EXPECT_EQ(parsed.terms[1].name, "product");
  EXPECT_EQ(parsed.terms[1].terms[1].name, "sum");
  const KernelHandle by_hand =
      sum({make_kernel("se"), product({make_kernel("linear"), sum({make_kernel("white"), make_kernel("constant")})})});
  EXPECT_EQ(gram(parsed.build(2)), gram(by_hand));
}

TEST(KernelExpression, ArdHasOneValueAColumn) {
  const KernelHandle kernel = parse_kernel("matern32-ard").build(2);
  std::vector<std::string> names;
  for (const auto& parameter : kernel->parameters()) names.push_back(parameter.name);
  EXPECT_EQ(names, (std::vector<std::string>{"signal_sd", "lengthscale[0]", "lengthscale[1]"}));
}

TEST(KernelExpression, SetsParametersByName) {
  KernelExpression kernel = parse_kernel("se+periodic");
  EXPECT_TRUE(kernel.set("terms[0].lengthscale", {0.5, 2.0}, 2));
  EXPECT_TRUE(kernel.set("terms[1].period", {3.0}, 2));
  EXPECT_FALSE(kernel.set("terms[2].period", {3.0}, 2));
  EXPECT_FALSE(kernel.set("terms[0].period", {3.0}, 2));
  EXPECT_FALSE(kernel.set("lengthscale", {3.0}, 2));
  EXPECT_FALSE(kernel.set("terms[x].period", {3.0}, 2));
  const KernelHandle by_hand =
      sum({make_kernel("se", {{"lengthscale", {0.5, 2.0}}}), make_kernel("periodic", {{"period", {3.0}}})});
  EXPECT_EQ(gram(kernel.build(2)), gram(by_hand));
}

TEST(KernelExpression, AnIndexKeepsTheOtherColumns) {
  KernelExpression kernel = parse_kernel("se");
  EXPECT_TRUE(kernel.set("lengthscale", {0.5}, 2));
  EXPECT_TRUE(kernel.set("lengthscale[1]", {2.0}, 2));
  EXPECT_EQ(kernel.arguments.at("lengthscale"), (std::vector<double>{0.5, 2.0}));
}

TEST(KernelExpression, StartsFromTheScaleOfTheData) {
  KernelExpression kernel = parse_kernel("se-ard+matern32+linear");
  kernel.terms[1].set("signal_sd", {7.0}, 2);
  kernel.start_from(points, 3.0);
  const auto spread = [](const Vector& column) {
    return std::sqrt(2.0 * (column.array() - column.mean()).square().mean());
  };
  const double first = spread(points.col(0));
  const double second = spread(points.col(1));
  EXPECT_NEAR(kernel.terms[0].arguments.at("signal_sd")[0], 3.0 / std::sqrt(3.0), 1e-15);
  EXPECT_NEAR(kernel.terms[0].arguments.at("lengthscale")[0], first, 1e-15);
  EXPECT_NEAR(kernel.terms[0].arguments.at("lengthscale")[1], second, 1e-15);
  EXPECT_EQ(kernel.terms[1].arguments.at("signal_sd")[0], 7.0);
  // The second on the same columns starts a quarter as long.
  EXPECT_NEAR(kernel.terms[1].arguments.at("lengthscale")[0], std::hypot(first, second) / std::sqrt(2.0) / 4, 1e-15);
  // The linear function then has a mean square over the rows of its share.
  const double slope = kernel.terms[2].arguments.at("signal_sd")[0];
  EXPECT_NEAR(slope * slope * points.rowwise().squaredNorm().mean(), 3.0, 1e-12);
}

TEST(KernelExpression, APeriodStartsAtTheStrongestOneAndNeverAtTheSpacingOfTheInputs) {
  // Months with a yearly wave on a trend: at period 1 the kernel would be the same for all pairs of rows.
  Matrix months(120, 1);
  Vector responses(120);
  for (Index i = 0; i < 120; ++i) {
    const auto t = static_cast<double>(i);
    months(i, 0) = t;
    responses(i) = 0.05 * t + std::sin(2 * std::numbers::pi * t / 12.0 + 0.3) + 0.4 * std::cos(3.0 * t * t);
  }
  KernelExpression kernel = parse_kernel("periodic");
  kernel.start_from(months, 1.0, responses);
  EXPECT_NEAR(kernel.arguments.at("period")[0], 12.0, 0.3);
  KernelExpression blind = parse_kernel("periodic");
  blind.start_from(months, 1.0);
  EXPECT_GT(blind.arguments.at("period")[0], 2.0);
  EXPECT_LT(blind.arguments.at("period")[0], 119.0);
  KernelExpression set = parse_kernel("periodic");
  set.set("period", {7.0}, 1);
  set.start_from(months, 1.0, responses);
  EXPECT_EQ(set.arguments.at("period")[0], 7.0);
}

TEST(KernelExpression, ComponentsOnTheSameColumnsStartApart) {
  Matrix months(240, 1);
  Vector responses(240);
  for (Index i = 0; i < 240; ++i) {
    const auto t = static_cast<double>(i);
    months(i, 0) = t;
    responses(i) = 2.0 * std::sin(2 * std::numbers::pi * t / 12.0) + std::cos(2 * std::numbers::pi * t / 31.0);
  }
  KernelExpression kernel = parse_kernel("periodic+se*periodic+se");
  kernel.start_from(months, 1.0, responses);
  const auto period = [](const KernelExpression& leaf) { return leaf.arguments.at("period")[0]; };
  const auto lengthscale = [](const KernelExpression& leaf) { return leaf.arguments.at("lengthscale")[0]; };
  EXPECT_NEAR(period(kernel.terms[0]), 12.0, 0.2);
  EXPECT_NEAR(period(kernel.terms[1].terms[1]), 31.0, 1.0);
  EXPECT_NEAR(lengthscale(kernel.terms[2]), lengthscale(kernel.terms[1].terms[0]) / 4, 1e-12);
  // Other columns are another matter.
  KernelExpression apart = parse_kernel("se(a)+se(b)");
  apart.place_columns([](const std::string& name) { return std::vector<Index>{name == "a" ? 0 : 1}; });
  Matrix twice(240, 2);
  twice << months, months;
  apart.start_from(twice, 1.0, responses);
  EXPECT_EQ(lengthscale(apart.terms[0]), lengthscale(apart.terms[1]));
}

TEST(KernelExpression, SaysWhatIsLeftAtItsDefault) {
  KernelExpression kernel = parse_kernel("se");
  EXPECT_EQ(kernel.defaults(), "signal_sd = 1, lengthscale = 1");
  kernel.set("signal_sd", {2.0}, 1);
  EXPECT_EQ(kernel.defaults(), "lengthscale = 1");
  EXPECT_EQ(parse_kernel("se+white").defaults(), "signal_sd = 1, lengthscale = 1 (se), signal_sd = 1 (white)");
}

TEST(KernelExpression, RefusesWithPlaceAndCure) {
  const auto parsing = [](const char* text, Spelling spelling) { return [=] { return parse_kernel(text, spelling); }; };
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("rbf", Spelling::fields), {"kernel: unknown kernel \"rbf\"", "se"}));
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("rbf", Spelling::command_line), {"--kernel: unknown kernel"}));
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("se+", Spelling::fields), {"kernel se+: a name is missing", "4"}));
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("(se", Spelling::fields), {"bracket"}));
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("se)", Spelling::fields), {"unexpected \")\""}));
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("linear-ard", Spelling::fields), {"use linear"}));
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("sum", Spelling::fields), {"unknown kernel \"sum\""}));
  const std::string deep = std::string(100, '(') + "se" + std::string(100, ')');
  EXPECT_TRUE(fails_with<InvalidOption>(parsing(deep.c_str(), Spelling::fields), {"too many brackets"}));
  KernelExpression kernel = parse_kernel("se");
  EXPECT_TRUE(fails_with<InvalidOption>(
      [&] {
        return kernel.set("signal_sd", {1.0, 2.0}, 2);
      },
      {"kernel.signal_sd takes one number"}));
  EXPECT_TRUE(fails_with<InvalidOption>(
      [&] {
        return kernel.set("lengthscale", {1.0, 2.0, 3.0}, 2, Spelling::command_line);
      },
      {"--set kernel.lengthscale: there are 2 coded features"}));
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return kernel.set("lengthscale[2]", {1.0}, 2); }, {"2 coded features"}));
}

TEST(KernelExpression, AnUnknownNameIsRefusedWhenBuilt) {
  KernelExpression kernel;
  kernel.name = "rbf";
  kernel.ard = true;
  EXPECT_TRUE(kernel.defaults().empty());
  EXPECT_FALSE(kernel.set("lengthscale", {1.0}, 1));
  EXPECT_TRUE(fails_with<InvalidModel>([&] { return kernel.build(1); }, {"rbf"}));
}

}  // namespace
}  // namespace gaussmith
