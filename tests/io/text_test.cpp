#include "io/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace gaussmith {
namespace {

TEST(ParseCell, Numbers) {
  const std::pair<const char*, double> cases[] = {
      {"0", 0.0},
      {"-0", 0.0},
      {"+1", 1.0},
      {" 1.5\t", 1.5},
      {".5", 0.5},
      {"5.", 5.0},
      {"1e3", 1000.0},
      {"1E+3", 1e3},
      {"-2.5e-3", -2.5e-3},
      {"007", 7.0},
      {"1e308", 1e308},
      {"1e-400", 0.0},
      {"-1e-400", 0.0},
      {"0.00e999", 0.0},
      {"0e-99999999999999999999", 0.0},
      {"4.9406564584124654e-324", std::numeric_limits<double>::denorm_min()},
      {"1e-99999999999999999999", 0.0},
  };
  for (const auto& [text, value] : cases) {
    const Cell cell = parse_cell(text);
    EXPECT_EQ(cell.kind, CellKind::number) << text;
    EXPECT_EQ(cell.value, value) << text;
  }
}

TEST(ParseCell, MissingInfiniteText) {
  for (const char* text : {"", "  ", "NA", " NA ", "nan", "NaN", "NAN", "-nan"}) {
    EXPECT_EQ(parse_cell(text).kind, CellKind::missing) << text;
    EXPECT_TRUE(std::isnan(parse_cell(text).value)) << text;
  }
  for (const char* text : {"inf", "-Inf", "+INFINITY", "1e999", "-1e309", "1e99999999999999999999", "12345e305"}) {
    EXPECT_EQ(parse_cell(text).kind, CellKind::infinite) << text;
  }
  for (const char* text : {"abc", "1a", "1 2", "1,5", "0x10", "--1", "+-1", "- 1", "+", ".", "e5", "1e", "na", "N/A",
                           "nan(1)", "infinit", "1_000", "1e5.5"}) {
    EXPECT_EQ(parse_cell(text).kind, CellKind::text) << text;
  }
}

TEST(ParseCell, ShortestTextsComeBack) {
  for (const double x : {0.1, 1.0 / 3.0, -1e-300, 1.7976931348623157e308, 5e-324, 123456789.0}) {
    EXPECT_EQ(parse_cell(number_text(x)).value, x);
  }
}

TEST(Utf8, ValidAndBroken) {
  EXPECT_TRUE(is_valid_utf8("plain"));
  EXPECT_TRUE(is_valid_utf8("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xEE\x80\x80"));
  for (const char* text : {"\xE9", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80",
                           "\xC3", "\xE2\x82", "\x80", "\xE2\x28\xA1", "\xF0\x9F\x98"}) {
    EXPECT_FALSE(is_valid_utf8(text)) << testing::PrintToString(text);
  }
}

TEST(Messages, QuotesStayOnOneLineAndShort) {
  EXPECT_EQ(in_quotes("abc"), "\"abc\"");
  EXPECT_EQ(in_quotes("a\nb\tc\x01\r"), "\"a\\nb\\tc\\x01\\x0d\"");
  EXPECT_EQ(in_quotes("\xE9 \xC3\xA9"), "\"\\xe9 \xC3\xA9\"");
  const std::string cut = in_quotes(std::string(100000, 'x'));
  EXPECT_LT(cut.size(), 60U);
  EXPECT_TRUE(cut.ends_with("...\"")) << cut;
}

TEST(Messages, Lists) {
  EXPECT_EQ(listed({"a", "b c", ""}), "a, \"b c\", \"\"");
  EXPECT_EQ(listed({"1", "2", "3"}, 2), "1, 2 and 1 more");
  EXPECT_EQ(listed({}), "");
}

}  // namespace
}  // namespace gaussmith
