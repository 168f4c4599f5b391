#include "io/checksum.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

// Published test vectors of FNV-1a, 64 bits.
TEST(Checksum, PublishedVectors) {
  EXPECT_EQ(checksum_hex(""), "cbf29ce484222325");
  EXPECT_EQ(checksum_hex("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(checksum_hex("foobar"), "85944171f73967e8");
}

TEST(Checksum, EveryChangeOfOneByteIsSeen) {
  const std::string text = "gaussmith-model/1 \xFF\x80 0.1";
  const auto expected = checksum(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      ASSERT_NE(checksum(changed), expected) << i << ' ' << flip;
    }
  }
}

TEST(Checksum, LengthCounts) {
  EXPECT_NE(checksum(std::string(1, '\0')), checksum(""));
  EXPECT_EQ(checksum_hex(std::string(3, '\0')).size(), 16U);
}

}  // namespace
}  // namespace gaussmith
