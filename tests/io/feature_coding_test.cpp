#include "gaussmith/errors.hpp"
#include "gaussmith/tables.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace gaussmith {
namespace {

Matrix rows_of(const Design& design) { return design.transposed_rows(0, design.rows()).transpose(); }

using test::fails_with;

Table csv(std::string_view text) { return parse_table(text, "new.csv"); }
Table svm(std::string_view text) { return parse_table(text, "new.svm"); }

FeatureOptions without(std::string target) {
  FeatureOptions options;
  options.reserved = {std::move(target)};
  return options;
}

TEST(FeatureCoding, TextBecomesOneColumnALevel) {
  const Table table = csv("age,sex,y\n31,male,1\n42,female,0\n53,male,1\n");
  const FeatureCoding coding = make_feature_coding(table, without("y"));
  EXPECT_EQ(coding.dimension(), 3);
  EXPECT_EQ(coding.names(), (std::vector<std::string>{"age", "sex=female", "sex=male"}));
  Matrix expected(3, 3);
  expected << 31, 0, 1, 42, 1, 0, 53, 0, 1;
  EXPECT_EQ(coding.encode_dense(table), expected);
  EXPECT_EQ(rows_of(coding.encode_sparse(table)), expected);
  EXPECT_EQ(coding.report(), "age: numeric\nsex: categories -> 0/1 columns sex=female, sex=male\n");
  EXPECT_TRUE(coding.warnings.empty());
}

TEST(FeatureCoding, FirstLevelMayBeTheReference) {
  const Table table = csv("c,x\nb,1\na,2\nc,3\n");
  FeatureOptions options;
  options.drop_first_level = true;
  const FeatureCoding coding = make_feature_coding(table, options);
  EXPECT_EQ(coding.names(), (std::vector<std::string>{"c=b", "c=c", "x"}));
  Matrix expected(3, 3);
  expected << 1, 0, 1, 0, 0, 2, 0, 1, 3;
  EXPECT_EQ(coding.encode_dense(table), expected);
  EXPECT_NE(coding.report().find("reference level \"a\""), std::string::npos) << coding.report();
}

TEST(FeatureCoding, StandardisationIsStoredAndApplied) {
  const Table table = csv("x,s\n1,u\n2,v\n3,u\n6,v\n");
  FeatureOptions options;
  options.scaling = Scaling::standardize;
  const FeatureCoding coding = make_feature_coding(table, options);
  // By hand: mean 3, squares 4 + 1 + 0 + 9 = 14 over 4 rows.
  EXPECT_DOUBLE_EQ(coding.columns[0].mean, 3.0);
  EXPECT_DOUBLE_EQ(coding.columns[0].sd, std::sqrt(3.5));
  const Matrix x = coding.encode_dense(table);
  EXPECT_NEAR(x.col(0).sum(), 0.0, 1e-15);
  EXPECT_NEAR(x.col(0).squaredNorm(), 4.0, 1e-14);
  EXPECT_EQ(x(1, 2), 1.0);
  EXPECT_DOUBLE_EQ(coding.encode_dense(csv("s,extra,x\nv,abc,10\n"))(0, 0), 7.0 / std::sqrt(3.5));
  EXPECT_NE(coding.report().find("x: numeric, standardised (mean 3, sd 1.87083)"), std::string::npos)
      << coding.report();
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return coding.encode_sparse(table); }, {"sparse", "mean"}));

  options.scaling = Scaling::scale;
  const FeatureCoding scaled = make_feature_coding(table, options);
  EXPECT_EQ(scaled.columns[0].mean, 0.0);
  EXPECT_DOUBLE_EQ(rows_of(scaled.encode_sparse(table))(3, 0), 6.0 / std::sqrt(3.5));
}

TEST(FeatureCoding, ConstantColumns) {
  FeatureOptions options;
  options.scaling = Scaling::standardize;
  const FeatureCoding coding = make_feature_coding(csv("x,c,t\n1,0.1,a\n2,0.1,a\n3,0.1,a\n"), options);
  EXPECT_EQ(coding.columns[1].sd, 1.0);
  EXPECT_EQ(coding.columns[1].mean, 0.1);
  ASSERT_EQ(coding.warnings.size(), 2U);
  EXPECT_NE(coding.warnings[0].find("\"c\" is constant (0.1)"), std::string::npos) << coding.warnings[0];
  EXPECT_NE(coding.warnings[1].find("\"t\" is constant"), std::string::npos) << coding.warnings[1];
  EXPECT_EQ(coding.encode_dense(csv("x,c,t\n2,5.1,a\n"))(0, 1), 5.0);
}

TEST(FeatureCoding, ExtremeNumbersStayFinite) {
  FeatureOptions options;
  options.scaling = Scaling::standardize;
  const Table table = csv("big,small\n1e308,1e-310\n-1e308,2e-310\n1.7e308,3e-310\n");
  const FeatureCoding coding = make_feature_coding(table, options);
  EXPECT_TRUE(std::isfinite(coding.columns[0].mean) && std::isfinite(coding.columns[0].sd));
  EXPECT_GT(coding.columns[1].sd, 0.0);
  EXPECT_TRUE(coding.encode_dense(table).allFinite());
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return coding.encode_dense(csv("big,small\n1,1\n1,1e300\n")); },
                                      {"new.csv, line 2", "column \"small\"", "too large"}));
}

TEST(FeatureCoding, IdentifiersAreWarnedAbout) {
  const FeatureCoding coding = make_feature_coding(csv("id,x\np1,1\np2,2\np3,3\n"));
  ASSERT_EQ(coding.warnings.size(), 1U);
  EXPECT_NE(coding.warnings[0].find("\"id\""), std::string::npos);
  EXPECT_NE(coding.warnings[0].find("identifier"), std::string::npos);
}

TEST(FeatureCoding, ChoiceOfFeatures) {
  const Table table = csv("a,b,y\n1,2,3\n4,5,6\n");
  FeatureOptions options = without("y");
  options.features = {"b", "a"};
  EXPECT_EQ(make_feature_coding(table, options).names(), (std::vector<std::string>{"b", "a"}));
  const auto choosing = [&](std::vector<std::string> features) {
    options.features = std::move(features);
    return [&table, options] { return choose_features(table, options); };
  };
  EXPECT_TRUE(fails_with<InvalidFile>(choosing({"a", "q"}), {"new.csv", "no column \"q\"", "a, b, y"}));
  EXPECT_TRUE(fails_with<InvalidOption>(choosing({"a", "y"}), {"\"y\"", "target"}));
  EXPECT_TRUE(fails_with<InvalidOption>(choosing({"a", "a"}), {"\"a\"", "twice"}));
  EXPECT_TRUE(fails_with<InvalidFile>([] { return choose_features(csv("y\n1\n"), without("y")); }, {"no feature"}));
  EXPECT_TRUE(fails_with<InvalidOption>(
      [&] {
        options.features = {"a"};
        return choose_features(svm("1 1:1\n"), options);
      },
      {"LIBSVM", "a"}));
}

TEST(FeatureCoding, NewTablesThatDoNotFit) {
  const FeatureCoding coding = make_feature_coding(csv("age,sex\n1,f\n2,m\n"));
  const auto encoding = [&](const char* text) { return [&coding, text] { return coding.encode_dense(csv(text)); }; };
  EXPECT_TRUE(fails_with<InvalidFile>(encoding("Age,sex\n1,f\n"), {"no column \"age\"", "Age, sex"}));
  EXPECT_TRUE(fails_with<InvalidFile>(encoding("age,sex\n1,f\nabc,m\n"),
                                      {"new.csv, line 3, column \"age\": \"abc\" is not a number"}));
  EXPECT_TRUE(fails_with<InvalidFile>(encoding("age,sex\n1,f\n2,x\n"),
                                      {"new.csv, line 3", "column \"sex\"", "level \"x\"", "f, m"}));
  EXPECT_TRUE(fails_with<InvalidFile>(encoding("age,sex\n1,\n"), {"line 2", "column \"sex\"", "missing"}));
  EXPECT_TRUE(fails_with<InvalidFile>(encoding("age,sex\n1,f\nNA,f\n"), {"line 3", "column \"age\"", "missing"}));
  EXPECT_TRUE(
      fails_with<InvalidFile>([&] { return coding.encode_dense(svm("1 1:1\n")); }, {"new.svm", "LIBSVM", "age, sex"}));
  EXPECT_TRUE(fails_with<InvalidFile>([] { return make_feature_coding(csv("a,b\n1,u\n2,\n")).dimension(); },
                                      {"line 3", "column \"b\"", "missing"}));
}

// A text column whose new cells all happen to be numbers is read as numeric.
TEST(FeatureCoding, NumberLikeLevelsAreFoundAgain) {
  const FeatureCoding coding = make_feature_coding(csv("g,x\n1,0\n2,0\nunknown,1\n"));
  const Matrix x = coding.encode_dense(csv("g,x\n2,0\n1.0,0\n"));
  Matrix expected(2, 4);
  expected << 0, 1, 0, 0, 1, 0, 0, 0;
  EXPECT_EQ(x, expected);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return coding.encode_dense(csv("g,x\n3,0\n")); },
                                      {"line 2", "level \"3\"", "1, 2, unknown"}));
  // Two levels of one value: a number cannot tell which is meant.
  const FeatureCoding twins = make_feature_coding(csv("g\n1\n1.0\nz\n"));
  EXPECT_THROW(static_cast<void>(twins.encode_dense(csv("g\n1\n"))), InvalidFile);
  EXPECT_EQ(twins.encode_dense(csv("g\n1.0\nz\n"))(0, 1), 1.0);
}

TEST(FeatureCoding, TooManyCellsAreRefusedBeforeTheyExist) {
  std::vector<std::string> ids;
  for (int i = 0; i < 20000; ++i) ids.push_back("id" + std::to_string(i));
  Table table;
  table.columns = {text_column("id", std::move(ids))};
  const FeatureCoding coding = make_feature_coding(table);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return coding.encode_dense(table); },
                                      {"20000 rows", "cells", "\"id\"", "20000 levels"}));
  EXPECT_EQ(coding.encode_sparse(table).nonzeros(), 20000);
}

TEST(FeatureCoding, SparseTables) {
  const Table table = svm("1 1:2 3:1\n-1 1:4\n1 3:1\n");
  const FeatureCoding coding = make_feature_coding(table);
  EXPECT_EQ(coding.names(), (std::vector<std::string>{"feature[1]", "feature[2]", "feature[3]"}));
  EXPECT_EQ(rows_of(coding.encode_sparse(table)), rows_of(table.features));
  EXPECT_EQ(coding.encode_dense(table), rows_of(table.features));
  const Design narrow = coding.encode_sparse(svm("1 1:5\n"));
  EXPECT_EQ(narrow.cols(), 3);
  EXPECT_EQ(rows_of(narrow)(0, 0), 5.0);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return coding.encode_sparse(svm("1 1:5\n1 4:1\n")); },
                                      {"new.svm, line 2", "index 4", "3 features"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return coding.encode_dense(csv("a\n1\n")); }, {"new.csv", "3 LIBSVM"}));
  EXPECT_EQ(coding.report(), "3 LIBSVM features\n");
}

TEST(FeatureCoding, SparseFeaturesAreSharedUnlessTheyChange) {
  const Table table = svm("1 1:2 3:1\n-1 1:4\n1 3:1\n");
  const Design shared = make_feature_coding(table).encode_sparse(table);
  EXPECT_EQ(shared.entries().sparse, table.features.entries().sparse);
  const Table single = parse_table("1 1:2 3:1\n-1 1:4\n1 3:1\n", "new.svm", {.single = true});
  EXPECT_EQ(make_feature_coding(single).encode_sparse(single).entries().single, single.features.entries().single);
  FeatureOptions options;
  options.scaling = Scaling::scale;
  const Design scaled = make_feature_coding(single, options).encode_sparse(single);
  ASSERT_NE(scaled.entries().single, nullptr);
  EXPECT_LT((rows_of(scaled) - rows_of(make_feature_coding(table, options).encode_sparse(table))).cwiseAbs().maxCoeff(),
            1e-6);
}

TEST(FeatureCoding, SparseScalingEqualsDenseScaling) {
  const Table sparse = svm("1 1:2 2:7 3:1\n-1 1:4 2:7\n1 2:7 3:-1.5\n");
  const Table dense = csv("a,b,c\n2,7,1\n4,7,0\n0,7,-1.5\n");
  for (const Scaling scaling : {Scaling::standardize, Scaling::scale}) {
    FeatureOptions options;
    options.scaling = scaling;
    const FeatureCoding from_sparse = make_feature_coding(sparse, options);
    const FeatureCoding from_dense = make_feature_coding(dense, options);
    EXPECT_LT((from_sparse.encode_dense(sparse) - from_dense.encode_dense(dense)).cwiseAbs().maxCoeff(), 1e-14);
    ASSERT_EQ(from_sparse.warnings.size(), 1U);
    EXPECT_NE(from_sparse.warnings[0].find("1 of 3 features are constant"), std::string::npos);
    if (scaling == Scaling::scale) {
      EXPECT_EQ(rows_of(from_sparse.encode_sparse(sparse)), from_sparse.encode_dense(sparse));
    } else {
      EXPECT_THROW(static_cast<void>(from_sparse.encode_sparse(sparse)), InvalidOption);
    }
  }
}

TEST(FeatureCoding, AColumnThatIsNumericButForAFewCells) {
  const auto table = [](int texts, const TableOptions& options) {
    std::string text = "x,y\n";
    for (int row = 0; row < 20; ++row) text += (row < texts ? "n/a?" : std::to_string(row)) + ",1\n";
    return parse_table(text, "t.csv", options);
  };
  const auto code = [](const Table& from) { return make_feature_coding(from, {.features = {"x"}, .reserved = {}}); };
  EXPECT_TRUE(
      test::fails_with<InvalidFile>([&] { return code(table(2, {})); },
                                    {"t.csv", "\"x\"", "18 of 20", "\"n/a?\" in line 2", "line 3", "--categorical x"}));
  EXPECT_EQ(code(table(3, {})).columns[0].levels.size(), 18U);
  EXPECT_EQ(code(table(1, {.text_columns = {"x"}})).columns[0].levels.size(), 20U);
}

TEST(FeatureCoding, WeightsCountInMeansAndDeviations) {
  const Table weighted = parse_table("x\n1\n2\n7\n", "t.csv");
  const Table repeated = parse_table("x\n1\n2\n2\n2\n7\n7\n", "t.csv");
  FeatureOptions options;
  options.scaling = Scaling::standardize;
  const FeatureColumn copies = make_feature_coding(repeated, options).columns[0];
  options.weights = Vector{{1.0, 3.0, 2.0}};
  const FeatureColumn once = make_feature_coding(weighted, options).columns[0];
  EXPECT_NEAR(once.mean, copies.mean, 1e-14);
  EXPECT_NEAR(once.sd, copies.sd, 1e-14);
}

}  // namespace
}  // namespace gaussmith
