#include "gaussmith/tables.hpp"

#include "gaussmith/errors.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace gaussmith {
namespace {

using test::fails_with;
using test::TemporaryDirectory;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(ReadTable, FormatByNamePlainAndGzip) {
  const TemporaryDirectory directory;
  for (const char* name : {"a.csv", "a.CSV", "b.csv.gz"}) {
    const bool gzip = std::string_view(name).ends_with(".gz");
    const char* const text = "x,y\n1,2\n";
    const Table table = read_table(gzip ? directory.write_gzip(name, text) : directory.write(name, text));
    EXPECT_FALSE(table.is_sparse);
    EXPECT_EQ(table.column("y").numbers[0], 2.0) << name;
  }
  for (const char* name : {"a.svm", "a.libsvm", "b.svm.gz", "b.t.libsvm.gz"}) {
    const bool gzip = std::string_view(name).ends_with(".gz");
    const Table table = read_table(gzip ? directory.write_gzip(name, "1 2:3\n") : directory.write(name, "1 2:3\n"));
    EXPECT_TRUE(table.is_sparse);
    EXPECT_EQ(table.features.columns(1, 2)(0, 0), 3.0) << name;
  }
}

TEST(ReadTable, OtherNamesNeedAFormat) {
  const TemporaryDirectory directory;
  const auto file = directory.write("table.dat", "x\n1\n");
  EXPECT_TRUE(
      fails_with<InvalidFile>([&] { return read_table(file); }, {"table.dat", ".csv", ".tsv", ".svm", ".libsvm"}));
  TableOptions options;
  options.format = TableFormat::csv;
  EXPECT_EQ(read_table(file, options).rows(), 1);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return read_table(directory.path() / "no.csv"); }, {"no.csv", "No such"}));
}

TEST(Table, ColumnsByName) {
  const Table table = parse_table("a,b c\n1,2\n", "t.csv");
  EXPECT_EQ(table.find("z"), nullptr);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return table.column("z").rows(); }, {"t.csv", "\"z\"", "a, \"b c\""}));
  const Table sparse = parse_table("1 1:1\n", "t.svm");
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return sparse.column("z").rows(); }, {"t.svm", "\"z\"", "LIBSVM"}));
}

TEST(Table, RowsWithoutAFile) {
  Table table;
  table.columns = {numeric_column("x", Vector::Zero(3))};
  EXPECT_EQ(table.where(1), "row 2");
}

TEST(CompleteRows, FirstMissingCellIsNamed) {
  const Table table = parse_table("a,b,c\n1,2,\n3,,5\n6,7,8\n", "t.csv");
  EXPECT_TRUE(fails_with<InvalidFile>(
      [&] {
        return complete_rows(table, {"a", "b"}, false).dropped;
      },
      {"t.csv, line 3", "column \"b\"", "missing", "drop-missing"}));
  EXPECT_EQ(complete_rows(table, {"a"}, false).table.rows(), 3);
}

TEST(CompleteRows, DroppedRowsAreCounted) {
  const Table table = parse_table("a,b,s\n1,2,u\n3,,v\nNA,7,1\n8,9,w\n5,6,\n", "t.csv");
  const CompleteRows complete = complete_rows(table, {"a", "b"}, true);
  EXPECT_EQ(complete.dropped, 2);
  EXPECT_EQ(complete.rows, (std::vector<Index>{0, 3, 4}));
  EXPECT_EQ(complete.table.column("a").numbers, Vector({{1.0, 8.0, 5.0}}));
  EXPECT_EQ(complete.table.column("s").texts, (std::vector<std::string>{"u", "w", ""}));
  EXPECT_EQ(complete.table.where(1), "t.csv, line 5");
  EXPECT_NE(complete.note.find("dropped 2 of 5 rows"), std::string::npos) << complete.note;
  EXPECT_NE(complete.note.find("line 3, column \"b\""), std::string::npos) << complete.note;
  EXPECT_TRUE(complete_rows(table, {}, true).note.empty());
}

// The row that a later message quotes must survive the dropping of rows before it.
TEST(CompleteRows, OffendingCellMovesWithItsRow) {
  const Table table = parse_table("a,b\n,x\n1,2\n1,y\n", "t.csv");
  const CompleteRows complete = complete_rows(table, {"a"}, true);
  EXPECT_EQ(complete.table.column("b").first_text_row, 1);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return number_column(complete.table, "b"); },
                                      {"t.csv, line 4", "column \"b\"", "\"y\" is not a number"}));
}

TEST(CompleteRows, NothingLeft) {
  const Table table = parse_table("a,b\n1,\n,2\n", "t.csv");
  EXPECT_TRUE(fails_with<InvalidFile>(
      [&] {
        return complete_rows(table, {"a", "b"}, true).dropped;
      },
      {"t.csv", "2 rows", "no row is left"}));
}

TEST(CompleteRows, TablesMadeByHandAreChecked) {
  Table table;
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return complete_rows(table, {}, false).dropped; }, {"empty"}));
  table.columns = {numeric_column("x", Vector::Zero(3)), text_column("s", {"a", "b"})};
  EXPECT_TRUE(
      fails_with<InvalidModel>([&] { return complete_rows(table, {}, false).dropped; }, {"\"s\"", "2 rows", "3"}));
  table.columns = {numeric_column("x", Vector({{1.0, nan, 2.0}}))};
  EXPECT_EQ(complete_rows(table, {"x"}, true).dropped, 1);
  table.lines = {1};
  EXPECT_TRUE(fails_with<InvalidModel>([&] { return complete_rows(table, {}, false).dropped; }, {"line numbers"}));
}

TEST(CompleteRows, SparseTablesPassThrough) {
  const CompleteRows complete = complete_rows(parse_table("1 1:1\n-1 2:1\n", "t.svm"), {}, true);
  EXPECT_EQ(complete.dropped, 0);
  EXPECT_EQ(complete.table.rows(), 2);
}

TEST(ArgumentColumn, EachArgumentHasItsDomain) {
  const Table table = parse_table("t,e,c,o\n1,0.5,0,-1\n3,2,1,0\n", "t.csv");
  const auto argument = [&](const char* column, const char* name) {
    return [&table, column, name] { return argument_column(table, column, *find_column_argument(name)); };
  };
  EXPECT_EQ(argument("t", "trials")(), Vector({{1.0, 3.0}}));
  EXPECT_EQ(argument("e", "exposure")(), Vector({{0.5, 2.0}}));
  EXPECT_EQ(argument("c", "censored")(), Vector({{0.0, 1.0}}));
  EXPECT_EQ(number_column(table, "o"), Vector({{-1.0, 0.0}}));
  EXPECT_TRUE(fails_with<InvalidFile>(argument("e", "trials"), {"line 2", "column \"e\"", "0.5", "trials"}));
  EXPECT_TRUE(fails_with<InvalidFile>(argument("c", "trials"), {"line 2", "0 is not", "from 1"}));
  EXPECT_TRUE(fails_with<InvalidFile>(argument("o", "exposure"), {"line 2", "-1", "exposure", "above 0"}));
  EXPECT_TRUE(fails_with<InvalidFile>(argument("t", "censored"), {"line 3", "3", "0 (seen) or 1 (censored)"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return number_column(table, "z"); }, {"no column \"z\"", "t, e, c, o"}));
  const SiteArgumentInfo& shared = *find_likelihood("gaussian")->find("variance");
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return argument_column(table, "e", shared); }, {"variance"}));
  const Table holes = parse_table("o,x\n1,1\n,1\n", "t.csv");
  EXPECT_TRUE(
      fails_with<InvalidFile>([&] { return number_column(holes, "o"); }, {"line 3", "column \"o\"", "missing"}));
}

}  // namespace
}  // namespace gaussmith
