#include "io/svmlight.hpp"

#include "gaussmith/errors.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

using test::fails_with;

Table parse(std::string_view text, const TableOptions& options = {}) { return parse_svmlight(text, "t.svm", options); }

auto parsing(std::string text, TableOptions options = {}) {
  return [text = std::move(text), options] { return parse(text, options); };
}

TEST(Svmlight, RowsCommentsBlankLines) {
  const Table table = parse("# made by hand\n+1 1:0.5 3:-2e1 # note 9:9\n\n-1\r\n \t2.5\t2:1   4:0 \n");
  EXPECT_TRUE(table.is_sparse);
  ASSERT_EQ(table.rows(), 3);
  EXPECT_EQ(table.labels, Vector({{1.0, -1.0, 2.5}}));
  EXPECT_EQ(table.features.cols(), 4);
  EXPECT_EQ(table.features.nonzeros(), 3);
  Matrix expected = Matrix::Zero(3, 4);
  expected(0, 0) = 0.5;
  expected(0, 2) = -20.0;
  expected(2, 1) = 1.0;
  EXPECT_EQ(table.features.transposed_rows(0, table.rows()).transpose(), expected);
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{2, 4, 5}));
}

TEST(Svmlight, NumberOfFeaturesByOption) {
  TableOptions options;
  options.features = 10;
  EXPECT_EQ(parse("1 2:1\n", options).features.cols(), 10);
  EXPECT_EQ(parse("1\n", options).features.cols(), 10);
  options.features = 2;
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 1:1\n1 2:1 3:1\n", options), {"t.svm, line 2", "index 3", "is 2"}));
  options.ignore_larger_indices = true;
  const Table table = parse("1 1:1 7:1\n1 2:1 3:1\n", options);
  EXPECT_EQ(table.features.cols(), 2);
  EXPECT_EQ(table.features.nonzeros(), 2);
  EXPECT_EQ(table.ignored_entries, 2);
  options.features = -1;
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("1 1:1\n", options), {"-1", "accepted"}));
  options.features = max_sparse_features + 1;
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("1 1:1\n", options), {"100000001"}));
  TableOptions text;
  text.text_columns = {"a"};
  EXPECT_TRUE(fails_with<InvalidOption>(parsing("1 1:1\n", text), {"text columns"}));
}

TEST(Svmlight, BadIndices) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 1:1\n1 0:1\n"), {"t.svm, line 2", "index 0", "from 1"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 -3:1\n"), {"line 1", "index -3"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 2:1 2:1\n"), {"index 2 after 2", "increase"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 5:1 2:1\n"), {"index 2 after 5", "increase"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 1.5:1\n"), {"\"1.5\"", "not an integer"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 :1\n"), {"\"\"", "not an integer"}));
  for (const char* index : {"100000001", "2147483648", "9223372036854775808", "99999999999999999999999"}) {
    EXPECT_TRUE(
        fails_with<InvalidFile>(parsing("1 " + std::string(index) + ":1\n"), {index, "too large", "100000000"}));
  }
  EXPECT_EQ(parse("1 100000000:1\n").features.cols(), 100000000);
}

TEST(Svmlight, BadValuesAndLabels) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 1:1\n1 3:abc\n"), {"line 2", "feature 3", "\"abc\""}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 3:\n"), {"feature 3", "\"\""}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 3:inf\n"), {"feature 3", "\"inf\"", "finite"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 3:nan\n"), {"feature 3", "\"nan\"", "finite"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 3:1:2\n"), {"feature 3", "\"1:2\""}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 3\n"), {"\"3\"", "index:value"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("yes 3:1\n"), {"label \"yes\"", "number"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1,2 3:1\n"), {"label \"1,2\""}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("3:1\n"), {"\"3:1\"", "label must come first"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 qid:3 1:1\n"), {"line 1", "qid", "not supported"}));
}

TEST(Svmlight, PlainAndOtherNumbersAreTheSameOnes) {
  const Table table =
      parse("+1 0001:+1.5 2:1e-30 3:123456789012345678901 4:.5 5:-7. 6:1E2\n-1\t2:-0.1\t\t3:9007199254740993 \n");
  Matrix expected = Matrix::Zero(2, 6);
  expected.row(0) << 1.5, 1e-30, 123456789012345678901.0, 0.5, -7.0, 100.0;
  expected.row(1) << 0.0, -0.1, 9007199254740993.0, 0.0, 0.0, 0.0;
  EXPECT_EQ(table.features.transposed_rows(0, 2).transpose(), expected);
}

TEST(Svmlight, LongTablesKeepEveryEntryInItsPlace) {
  // More entries than the first blocks hold, in rows of all lengths.
  std::string text;
  for (int row = 0; row < 3000; ++row) {
    text += "1";
    for (int k = 0; k < row % 23; ++k)
      text += " " + std::to_string(5 * k + row % 5 + 1) + ":" + std::to_string(row + k + 1);
    text += "\n";
  }
  const Table table = parse(text, {.features = 130});
  ASSERT_EQ(table.rows(), 3000);
  EXPECT_GT(table.features.nonzeros(), 30000);
  for (const int row : {0, 22, 500, 1499, 2999}) {
    Vector expected = Vector::Zero(130);
    for (int k = 0; k < row % 23; ++k) expected(5 * k + row % 5) = row + k + 1;
    EXPECT_EQ(Vector(table.features.transposed_rows(row, row + 1)), expected) << row;
  }
}

TEST(Svmlight, SinglePrecisionRoundsValuesOnce) {
  const Table table = parse("1 1:0.1 2:1e-60 3:3.4e38\n", {.single = true});
  const SingleSparseMatrix* const rows = table.features.entries().single;
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->nonZeros(), 2);  // 1e-60 is zero there.
  EXPECT_EQ(rows->coeff(0, 0), 0.1F);
  EXPECT_EQ(rows->coeff(0, 2), 3.4e38F);
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1 1:1\n1 2:1e39\n", {.single = true}),
                                      {"t.svm, line 2", "feature 2", "1e+39", "single precision"}));
  EXPECT_TRUE(fails_with<InvalidOption>([] { return parse_table("a,b\n1,2\n", "t.csv", {.single = true}); },
                                        {"t.csv", "single precision", "LIBSVM"}));
}

TEST(Svmlight, EmptyTables) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing(""), {"t.svm", "empty"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("# nothing\n\n"), {"t.svm", "empty"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1\n-1\n"), {"t.svm", "no line has a feature"}));
}

TEST(Svmlight, RoundTrip) {
  std::string text;
  Matrix expected = Matrix::Zero(40, 17);
  Vector labels(40);
  for (Index i = 0; i < 40; ++i) {
    labels[i] = static_cast<double>(i) / 7.0 - 2.0;
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.17g", labels[i]);
    text += buffer;
    for (Index j = i % 3; j < 17; j += 1 + (i * 5 + j) % 4) {
      expected(i, j) = std::ldexp(1.0 + static_cast<double>(j) / 3.0, static_cast<int>(i) - 20);
      std::snprintf(buffer, sizeof buffer, " %d:%.17g", static_cast<int>(j) + 1, expected(i, j));
      text += buffer;
    }
    text += '\n';
  }
  TableOptions options;
  options.features = 17;
  const Table table = parse(text, options);
  EXPECT_EQ(table.features.transposed_rows(0, table.rows()).transpose(), expected);
  EXPECT_EQ(table.labels, labels);
}

}  // namespace
}  // namespace gaussmith
