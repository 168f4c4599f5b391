#include "gaussmith/errors.hpp"
#include "gaussmith/tables.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

using test::fails_with;

Table column_y(const std::vector<std::string>& cells) {
  std::string text = "x,y\n";
  for (const std::string& cell : cells) text += "0," + cell + "\n";
  return parse_table(text, "t.csv");
}

auto coding(const std::vector<std::string>& cells, ResponseKind kind) {
  return [table = column_y(cells), kind] { return make_target_coding(table, "y", kind); };
}

TEST(TargetCoding, SignsAreKept) {
  const Table table = column_y({"-1", "1", "+1"});
  const TargetCoding target = make_target_coding(table, "y", ResponseKind::sign);
  EXPECT_TRUE(target.note.empty());
  EXPECT_EQ(target.encode(table), Vector({{-1.0, 1.0, 1.0}}));
  EXPECT_EQ(target.label(1.0), "1");
  EXPECT_EQ(target.label(-1.0), "-1");
}

TEST(TargetCoding, OtherPairsAreMappedAndSaySo) {
  struct Case {
    std::vector<std::string> cells;
    const char *negative, *positive;
  };
  for (const Case& c :
       {Case{{"1", "0", "1.0"}, "0", "1"}, Case{{"2", "1", "2"}, "1", "2"}, Case{{"yes", "no", "yes"}, "no", "yes"}}) {
    const Table table = column_y(c.cells);
    const TargetCoding target = make_target_coding(table, "y", ResponseKind::sign);
    EXPECT_EQ(target.encode(table), Vector({{1.0, -1.0, 1.0}}));
    EXPECT_EQ(target.label(-1.0), c.negative);
    EXPECT_EQ(target.label(1.0), c.positive);
    EXPECT_NE(target.note.find(std::string(c.negative) + " -> -1, " + c.positive + " -> 1"), std::string::npos)
        << target.note;
  }
}

TEST(TargetCoding, NewTablesAreMappedTheSameWay) {
  const TargetCoding zero_one = make_target_coding(column_y({"0", "1"}), "y", ResponseKind::sign);
  EXPECT_EQ(zero_one.encode(column_y({"1", "1"})), Vector({{1.0, 1.0}}));
  EXPECT_TRUE(fails_with<InvalidFile>(
      [&] {
        return zero_one.encode(column_y({"1", "-1"}));
      },
      {"t.csv, line 3", "column \"y\"", "label \"-1\"", "0, 1"}));
  EXPECT_TRUE(fails_with<InvalidFile>(
      [&] {
        return zero_one.encode(column_y({"1", "yes"}));
      },
      {"line 3", "label \"yes\"", "0, 1"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return zero_one.encode(column_y({"1", ""})); }, {"line 3", "missing"}));
  const TargetCoding grades = make_target_coding(column_y({"1a", "2"}), "y", ResponseKind::sign);
  EXPECT_EQ(grades.encode(column_y({"2", "2"})), Vector({{1.0, 1.0}}));
}

TEST(TargetCoding, OneClassAndManyClasses) {
  EXPECT_TRUE(fails_with<InvalidFile>(coding(std::vector<std::string>(200, "1"), ResponseKind::sign),
                                      {"t.csv", "\"y\"", "all 200 labels are 1; classification needs both"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"yes", "yes"}, ResponseKind::sign), {"all 2 labels are yes"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "2", "3"}, ResponseKind::sign), {"found 3", "1, 2, 3", "-1 and 1"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "b", "c"}, ResponseKind::sign), {"found 3", "a, b, c"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"3", "7"}, ResponseKind::sign), {"labels 3, 7", "0 and 1"}));
  std::vector<std::string> many;
  for (int i = 0; i < 50; ++i) many.push_back(std::to_string(i));
  EXPECT_TRUE(fails_with<InvalidFile>(coding(many, ResponseKind::sign), {"found 50", "and 40 more"}));
}

TEST(TargetCoding, CountsPositiveReal) {
  EXPECT_EQ(coding({"0", "3"}, ResponseKind::count)().encode(column_y({"2", "5"})), Vector({{2.0, 5.0}}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "-2"}, ResponseKind::count),
                                      {"t.csv, line 3", "column \"y\"", "-2 is not a count", "from 0"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1.5", "2"}, ResponseKind::count), {"line 2", "1.5 is not a count"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "0"}, ResponseKind::positive), {"line 3", "0 is not positive"}));
  EXPECT_EQ(coding({"0.5", "3"}, ResponseKind::positive)().label(0.5), "0.5");
  EXPECT_EQ(coding({"-0.5", "3"}, ResponseKind::real)().encode(column_y({"-7", "0"})), Vector({{-7.0, 0.0}}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "abc"}, ResponseKind::real),
                                      {"line 3", "column \"y\"", "\"abc\" is not a number"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "NA"}, ResponseKind::real), {"line 3", "missing"}));
}

TEST(TargetCoding, NamesOfTheTarget) {
  const Table table = column_y({"1", "-1"});
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return make_target_coding(table, "z", ResponseKind::real); },
                                      {"no column \"z\"", "x, y"}));
  EXPECT_TRUE(
      fails_with<InvalidOption>([&] { return make_target_coding(table, "", ResponseKind::real); }, {"target column"}));
}

TEST(TargetCoding, LabelsOfSparseTables) {
  const Table table = parse_table("1 1:1\n\n0 1:1\n", "t.svm");
  const TargetCoding target = make_target_coding(table, "", ResponseKind::sign);
  EXPECT_EQ(target.encode(table), Vector({{1.0, -1.0}}));
  EXPECT_EQ(make_target_coding(table, "label", ResponseKind::count).encode(table), Vector({{1.0, 0.0}}));
  EXPECT_TRUE(fails_with<InvalidOption>([&] { return make_target_coding(table, "y", ResponseKind::sign); },
                                        {"\"y\"", "LIBSVM"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return make_target_coding(table, "", ResponseKind::positive); },
                                      {"t.svm, line 3", "0 is not positive"}));
}

TEST(TargetCoding, ClassesOfTextAreInByteOrder) {
  const Table table = column_y({"b", "a", "B", "b", "a"});
  const TargetCoding target = make_target_coding(table, "y", ResponseKind::label);
  EXPECT_EQ(target.classes, (std::vector<std::string>{"B", "a", "b"}));
  EXPECT_EQ(target.encode(table), Vector({{2.0, 1.0, 0.0, 2.0, 1.0}}));
  EXPECT_EQ(target.label(2.0), "b");
  EXPECT_EQ(target.note, "labels of \"y\": B -> 0, a -> 1, b -> 2");
}

TEST(TargetCoding, ClassesOfIntegersAscend) {
  const Table table = column_y({"10", "2", "-1", "10.0"});
  const TargetCoding target = make_target_coding(table, "y", ResponseKind::label);
  EXPECT_EQ(target.classes, (std::vector<std::string>{"-1", "2", "10"}));
  EXPECT_EQ(target.encode(table), Vector({{2.0, 1.0, 0.0, 2.0}}));
}

TEST(TargetCoding, ClassesCanBeGiven) {
  const Table table = column_y({"b", "a", "b"});
  const TargetCoding target = make_target_coding(table, "y", ResponseKind::label, {"c", "b", "a"});
  EXPECT_EQ(target.classes, (std::vector<std::string>{"c", "b", "a"}));
  EXPECT_EQ(target.encode(table), Vector({{1.0, 2.0, 1.0}}));
  // One label alone is enough where others are named.
  EXPECT_EQ(make_target_coding(column_y({"a", "a"}), "y", ResponseKind::label, {"b", "a"}).classes.size(), 2U);
}

TEST(TargetCoding, ClassesThatAreRefused) {
  const auto given = [](const std::vector<std::string>& cells, const std::vector<std::string>& classes) {
    return [table = column_y(cells), classes] { return make_target_coding(table, "y", ResponseKind::label, classes); };
  };
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "2.5", "1"}, ResponseKind::label), {"t.csv, line 3"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"1", "2.5", "1"}, ResponseKind::label), {"2.5 is not a label"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "a"}, ResponseKind::label), {"all 2 labels up to here are a"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "b", "c"}, ResponseKind::label), {"each of the 3 rows"}));
  EXPECT_TRUE(fails_with<InvalidFile>(given({"a", "b", "a", "d"}, {"a", "b", "c"}), {"t.csv, line 5"}));
  EXPECT_TRUE(fails_with<InvalidFile>(given({"a", "b", "a", "d"}, {"a", "b", "c"}), {"the labels are a, b, c"}));
  EXPECT_TRUE(fails_with<InvalidOption>(given({"a", "b", "a"}, {"a", "b", "a"}), {"named twice"}));
  EXPECT_TRUE(fails_with<InvalidOption>(given({"a", "a"}, {"a"}), {"two names or more"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "", "b"}, ResponseKind::label), {"line 3"}));
  const TargetCoding target = make_target_coding(column_y({"a", "b", "a"}), "y", ResponseKind::label);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return target.encode(column_y({"a", "x"})); }, {"\"x\" is unknown"}));
}

TEST(TargetCoding, MoreThanTwoSignsNameTheOtherLikelihoods) {
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "b", "c"}, ResponseKind::sign), {"found 3: a, b, c"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "b", "c"}, ResponseKind::sign), {"multinomial-logit"}));
  EXPECT_TRUE(fails_with<InvalidFile>(coding({"a", "b", "c"}, ResponseKind::sign), {"multinomial-probit"}));
}

}  // namespace
}  // namespace gaussmith
