// Plain decimals against the C library's correctly rounded strtod, bit for bit.

#include "io/plain_number.hpp"

#include "gaussmith/random.hpp"
#include "io/text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <string>

namespace gaussmith {
namespace {

/// What is read, where all of the text is; nothing otherwise.
bool reads(const std::string& text, double& value) {
  const char* const end = text.data() + text.size();
  return read_plain_number(text.data(), end, value) == end;
}

std::string random_digits(Random& random, std::size_t count) {
  std::string out;
  for (std::size_t k = 0; k < count; ++k) out += static_cast<char>('0' + random.bits() % 10);
  return out;
}

TEST(PlainNumber, IsRoundedAsStrtodRounds) {
  Random random(7);
  int read = 0;
  const int numbers = 1000000;
  for (int k = 0; k < numbers; ++k) {
    std::string text = random_digits(random, random.bits() % 10);
    text += random.bits() % 4 == 0 ? "" : "." + random_digits(random, random.bits() % 14);
    if (random.bits() % 3 == 0) {
      text += random.bits() % 2 == 0 ? "e" : "E-";
      text += std::to_string(random.bits() % 30);
    }
    double value = 0.0;
    if (!reads(text, value)) continue;
    ++read;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
        << text;
  }
  EXPECT_GT(read, numbers / 2);
}

TEST(PlainNumber, LeavesWhatItCannotRoundExactly) {
  double value = 0.0;
  for (const char* text : {"", ".", "-1", "+1", "e5", "1e", "1e+", "1e1234", "9007199254740993", "1e23", "1e-23",
                           "0.00000000000000000001", "12345678901234567890", "1_0", "nan", "inf", "0x10"})
    EXPECT_FALSE(reads(text, value)) << text;
  EXPECT_TRUE(reads("9007199254740992", value));
  EXPECT_EQ(value, 9007199254740992.0);
  EXPECT_TRUE(reads("5.", value));
  EXPECT_EQ(value, 5.0);
  // Stops where the number does.
  const std::string more = "0.25:7";
  EXPECT_EQ(read_plain_number(more.data(), more.data() + more.size(), value), more.data() + 4);
  EXPECT_EQ(value, 0.25);
}

TEST(PlainNumber, CellsAreTheSameNumbersBothWays) {
  for (const char* text : {"9007199254740993", "1e23", "123456789012345678901234567890", "-0.1", "+2.50", "4.9e-324",
                           "0.3000000000000000000000000001", "1.7976931348623157e308"}) {
    const Cell cell = parse_cell(text);
    ASSERT_EQ(cell.kind, CellKind::number) << text;
    EXPECT_EQ(cell.value, std::strtod(text, nullptr)) << text;
  }
}

}  // namespace
}  // namespace gaussmith
