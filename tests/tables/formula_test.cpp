#include "tables/formula.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using Columns = std::vector<std::vector<std::string>>;

TEST(Formula, AddsUpTerms) {
  const ModelTerms terms = parse_formula("y ~ age + sex*dose + a:b + (1|patient) + gp(time) + matern32(lon, lat)");
  EXPECT_EQ(terms.target, "y");
  EXPECT_TRUE(terms.intercept);
  EXPECT_EQ(terms.fixed, (Columns{{"age"}, {"sex"}, {"dose"}, {"sex", "dose"}, {"a", "b"}}));
  ASSERT_EQ(terms.groups.size(), 1U);
  EXPECT_EQ(terms.groups[0].text, "1|patient");
  ASSERT_TRUE(terms.kernel);
  EXPECT_EQ(terms.kernel->name, "sum");
  EXPECT_EQ(terms.kernel->terms[0].name, "se");
  EXPECT_EQ(terms.kernel->terms[0].columns, std::vector<std::string>{"time"});
  EXPECT_EQ(terms.kernel->terms[1].columns, (std::vector<std::string>{"lon", "lat"}));
}

TEST(Formula, LeavesTheInterceptOut) {
  EXPECT_FALSE(parse_formula("y ~ 0 + x").intercept);
  EXPECT_FALSE(parse_formula("y ~ x - 1").intercept);
  EXPECT_FALSE(parse_formula("y~-1+x").intercept);
  EXPECT_TRUE(parse_formula("y ~ 1").intercept);
  EXPECT_TRUE(parse_formula("y ~ 1 + x").fixed == Columns{{"x"}});
}

TEST(Formula, NamesTermsOnce) {
  EXPECT_EQ(parse_formula("y ~ a + a*b + b:a").fixed, (Columns{{"a"}, {"b"}, {"a", "b"}}));
}

TEST(Formula, ReadsNamesInBackticksAndProductsOfKernels) {
  const ModelTerms terms = parse_formula("`mean height` ~ `shoe size` + se-ard(`a,b`, c)*periodic(t)");
  EXPECT_EQ(terms.target, "mean height");
  EXPECT_EQ(terms.fixed, Columns{{"shoe size"}});
  ASSERT_TRUE(terms.kernel);
  EXPECT_EQ(terms.kernel->name, "product");
  EXPECT_TRUE(terms.kernel->terms[0].ard);
  EXPECT_EQ(terms.kernel->terms[0].columns, (std::vector<std::string>{"a,b", "c"}));
}

TEST(Formula, ReadsGroups) {
  const auto effects = [](const char* text) { return parse_groups(text).front(); };
  EXPECT_TRUE(effects("1|g").intercept);
  EXPECT_TRUE(effects("1|g").slope.empty());
  EXPECT_TRUE(effects("week | g").correlated);
  EXPECT_EQ(effects("week | g").slope, "week");
  EXPECT_TRUE(effects("1 + week|g").correlated);
  EXPECT_FALSE(effects("week||g").correlated);
  EXPECT_TRUE(effects("week||g").intercept);
  EXPECT_FALSE(effects("0 + week|g").intercept);
  EXPECT_EQ(effects("0 + week | g").text, "0+week|g");
  EXPECT_EQ(effects("1|a:b").group, (std::vector<std::string>{"a", "b"}));
  const auto nested = parse_groups("1|school/class");
  ASSERT_EQ(nested.size(), 2U);
  EXPECT_EQ(nested[0].text, "1|school");
  EXPECT_EQ(nested[1].text, "1|school:class");
}

struct Refused {
  const char* text;
  std::size_t place;
};

TEST(Formula, PointsAtWhatItDoesNotUnderstand) {
  for (const Refused& r : {Refused{"y ~ age +", 9},
                           {"y ~", 3},
                           {"y", 1},
                           {"", 0},
                           {"y ~ age sex", 8},
                           {"y ~ (1|", 7},
                           {"y ~ (1", 6},
                           {"y ~ (1|g", 8},
                           {"y ~ log(x)", 4},
                           {"y ~ x^2", 5},
                           {"y ~ 2", 4},
                           {"y ~ x - z", 8},
                           {"y ~ gp(t", 8},
                           {"y ~ (x + z|g)", 9},
                           {"y ~ (0|g)", 4},
                           {"y ~ a*b*c", 7},
                           {"y ~ se(t)*x", 10},
                           {"y ~ . ", 4}}) {
    SCOPED_TRACE(r.text);
    try {
      (void)parse_formula(r.text, Spelling::command_line);
      ADD_FAILURE() << "was accepted";
    } catch (const InvalidFormula& error) {
      EXPECT_EQ(error.place(), r.place) << error.what();
      EXPECT_EQ(error.text(), r.text);
      EXPECT_NE(std::string(error.what()).find("--formula"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace gaussmith
