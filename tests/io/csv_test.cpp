#include "io/csv.hpp"

#include "gaussmith/errors.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <string>

namespace gaussmith {
namespace {

using test::fails_with;
using test::TemporaryDirectory;

Table parse(std::string_view text, const TableOptions& options = {}) { return parse_csv(text, "t.csv", options); }

auto parsing(std::string text) {
  return [text = std::move(text)] { return parse(text); };
}

TEST(Csv, NumericAndTextColumns) {
  const Table table = parse("age,sex,y\n31,female,1\n 42.5 , male ,-1e2\n");
  ASSERT_EQ(table.rows(), 2);
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.column("age").type, ColumnType::numeric);
  EXPECT_EQ(table.column("age").numbers, Vector({{31.0, 42.5}}));
  EXPECT_EQ(table.column("sex").type, ColumnType::text);
  EXPECT_EQ(table.column("sex").texts, (std::vector<std::string>{"female", "male"}));
  EXPECT_EQ(table.column("y").numbers[1], -100.0);
  EXPECT_EQ(table.where(1), "t.csv, line 3");
}

TEST(Csv, QuotesAndLineEnds) {
  const Table table = parse("\xEF\xBB\xBF\"a\",\" b \"\r\n\"1\" , \"x, \"\"y\"\"\r\nz\"\r\n2,\" keep \"\r\n");
  EXPECT_EQ(table.column("a").numbers, Vector({{1.0, 2.0}}));
  EXPECT_EQ(table.column("b").texts, (std::vector<std::string>{"x, \"y\"\nz", " keep "}));
  EXPECT_EQ(table.lines, (std::vector<std::int64_t>{2, 4}));
}

TEST(Csv, MissingCells) {
  const Table table = parse("a,b,c\n,x,NA\nNaN,NA,\n3,\"\",nan\n");
  const Column& a = table.column("a");
  EXPECT_TRUE(a.is_missing(0) && a.is_missing(1) && !a.is_missing(2));
  const Column& b = table.column("b");
  EXPECT_EQ(b.type, ColumnType::text);
  EXPECT_TRUE(!b.is_missing(0) && b.is_missing(1) && b.is_missing(2));
  EXPECT_EQ(table.column("c").type, ColumnType::numeric);
  EXPECT_TRUE(table.column("c").numbers.array().isNaN().all());
}

TEST(Csv, FirstCellThatIsNoNumberIsRemembered) {
  const Table table = parse("age\n1\n2\nabc\n3\n");
  EXPECT_EQ(table.column("age").type, ColumnType::text);
  EXPECT_EQ(table.column("age").first_text_row, 2);
  EXPECT_EQ(table.column("age").texts, (std::vector<std::string>{"1", "2", "abc", "3"}));
}

TEST(Csv, BlankLines) {
  const Table wide = parse("\n a,b\n\n1,2\n  \n3,4\n\n\n");
  EXPECT_EQ(wide.rows(), 2);
  EXPECT_EQ(wide.lines, (std::vector<std::int64_t>{4, 6}));
  const Table narrow = parse("a\n1\n\n3\n\n\n");
  ASSERT_EQ(narrow.rows(), 3);
  EXPECT_TRUE(narrow.column("a").is_missing(1));
  EXPECT_EQ(narrow.lines, (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(Csv, TextColumnsByOption) {
  TableOptions options;
  options.text_columns = {"zip"};
  const Table table = parse("zip,x\n01234,1\n,2\n", options);
  EXPECT_EQ(table.column("zip").texts, (std::vector<std::string>{"01234", ""}));
  EXPECT_EQ(table.column("zip").first_text_row, -1);
  options.text_columns = {"zap"};
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return parse("zip\n1\n", options); }, {"no column \"zap\"", "zip"}));
}

TEST(Csv, NumbersDoNotDependOnTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse("a\n1.5\n").column("a").numbers[0], 1.5);
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Csv, RaggedRows) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b,c\n1,2,3\n4,5\n"), {"t.csv, line 3", "found 2", "expected 3"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n1,2,\n"), {"t.csv, line 2", "found 3", "expected 2"}));
}

TEST(Csv, BadHeaders) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b,a\n1,2,3\n"), {"line 1", "\"a\"", "columns 1 and 3"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,,c\n1,2,3\n"), {"line 1", "column 2", "no name"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b,\n1,2,3\n"), {"column 3", "no name"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing(""), {"t.csv", "empty", "header"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("\n\n"), {"t.csv", "empty"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n\n"), {"t.csv", "empty", "no rows"}));
}

TEST(Csv, OtherSeparators) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a;b;c\n1;2;3\n"), {"line 1", "2 semicolons", "commas"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a\tb\n1\t2\n"), {"line 1", "1 tabs", "commas"}));
  EXPECT_EQ(parse("\"a;b\"\n1\n").columns[0].name, "a;b");
}

TEST(Csv, BadQuotes) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n1,2\n3,\"x\n4,5\n"), {"line 3", "never ends"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n1,\"x\"y\n"), {"line 2", "cell 2", "after its closing quote"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n1,5\" pipe\n"), {"line 2", "cell 2", "quote inside"}));
}

TEST(Csv, InfinityIsRefusedInNumericColumnsOnly) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n1,2\n3,-inf\n"), {"line 3", "column \"b\"", "\"-inf\"", "finite"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a\n1e999\n"), {"line 2", "column \"a\"", "\"1e999\""}));
  EXPECT_EQ(parse("a\ninf\nbob\n").column("a").texts[0], "inf");
}

TEST(Csv, BadBytes) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a\n\xE9t\xE9\n"), {"line 2", "UTF-8"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing(std::string("a\n1\n\0\n"sv)), {"line 3", "NUL"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\r1,2\r3,4\r"), {"line 1", "carriage return"}));
}

TEST(Csv, TooManyColumns) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing(std::string(std::size_t{1} << 20, ',') + "\n"),
                                      {"line 1", "1048577 columns", "1048576"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("a,b\n" + std::string(3000000, ',') + "\n"),
                                      {"line 2", "found 3000001", "expected 2"}));
}

TEST(Csv, RoundTripOfAwkwardValues) {
  const std::vector<double> values{0.1, -1.0 / 3.0, 5e-324, 1.7976931348623157e308, 1e22, -0.0};
  std::string text = "x,\"we\"\"ird, na\nme\"\n";
  for (const double v : values) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.17g", v);
    text += std::string(buffer) + ",\"a\"\"b,\nc\"\n";
  }
  const Table table = parse(text);
  EXPECT_EQ(table.columns[1].name, "we\"ird, na\nme");
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(table.columns[0].numbers[static_cast<Index>(i)], values[i]);
    EXPECT_EQ(table.columns[1].texts[i], "a\"b,\nc");
  }
}

TEST(Csv, TabsInPlaceOfCommas) {
  TableOptions tabs;
  tabs.format = TableFormat::tsv;
  const Table table = parse("a\tb c\td\n 1 \tx, y\t\n\t\"q\t\"\"r\"\"\"\t3\n", tabs);
  EXPECT_EQ(table.column("a").numbers[0], 1.0);
  EXPECT_TRUE(table.column("a").is_missing(1));
  EXPECT_EQ(table.column("b c").texts, (std::vector<std::string>{"x, y", "q\t\"r\""}));
  EXPECT_TRUE(table.column("d").is_missing(0));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return parse("a,b\n1,2\n", tabs); }, {"line 1", "1 commas", "no tab"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return parse("a\tb\n\"1\",2\n", tabs); }, {"line 2", "a tab or the end"}));
  tabs.format = TableFormat::csv_or_tsv;
  EXPECT_EQ(parse("\n  \na\tb\n1,5\t2\n", tabs).columns.size(), 2U);
  EXPECT_EQ(parse("a,b\n1,2\t\n", tabs).column("b").numbers[0], 2.0);
}

TEST(Csv, NumbersInPlaceOfAHeader) {
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("5.1,3.5,1.4\n4.9,3,1\n"), {"line 1", "5.1, 3.5, 1.4", "header"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("1,1\n2,2\n"), {"line 1", "header"}));
  EXPECT_TRUE(fails_with<InvalidFile>(parsing("7\n8\n"), {"line 1", "header"}));
  EXPECT_EQ(parse("2001,2002,2003\n1,2,3\n").columns.size(), 3U);
  EXPECT_EQ(parse("0,1\n1,2\n").columns.size(), 2U);
  EXPECT_EQ(parse("5.1,y\n1,2\n").columns.size(), 2U);
}

TEST(Csv, ColumnsKeptAsTheyAreWritten) {
  TableOptions options;
  options.verbatim_columns = {"id", "not there"};
  const Table table = parse("id,x\n007,1\n1e3,2\n", options);
  EXPECT_EQ(table.column("id").texts, (std::vector<std::string>{"007", "1e3"}));
  EXPECT_FALSE(table.column("id").categorical);
}

}  // namespace
}  // namespace gaussmith
