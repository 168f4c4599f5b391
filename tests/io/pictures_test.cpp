// Grey maps and PNG files; tests/cli reads PNG files of the tool with a decoder of its own.

#include "gaussmith/pictures.hpp"
#include "gaussmith/errors.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace gaussmith {
namespace {

TEST(Pictures, GreyMapsPlainAndRaw) {
  const Matrix plain = parse_pgm("P2\n# a comment\n3 2\n10\n0 5 10\n1 2 3 # the end\n", "a.pgm");
  const Matrix truth = (Matrix(2, 3) << 0.0, 0.5, 1.0, 0.1, 0.2, 0.3).finished();
  EXPECT_EQ(plain, truth);
  EXPECT_EQ(parse_pgm(std::string("P5 3 2 10\n\x00\x05\x0a\x01\x02\x03", 16), "a.pgm"), truth);
  const Matrix wide = parse_pgm(std::string("P5 2 1 1000\n\x03\xe8\x01\xf4", 16), "a.pgm");
  EXPECT_EQ(wide, (Matrix(1, 2) << 1.0, 0.5).finished());
}

TEST(Pictures, WhatIsNoGreyMapIsRefused) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"P3 1 1 1\n0 0 0", "P2 (plain) and P5 (raw)"},
           {"", "P2 (plain)"},
           {"P2 2 2 255 1 2 3", "ends before a pixel"},
           {"P2 60000 60000 255 1 2 3", "do not fit into 24 bytes"},
           {"P2 2 1 255 1 2 3", "more numbers"},
           {"P2 2 1 255 1 256", "from 0 to 255"},
           {"P2 0 1 255", "the width"},
           {"P2 2 x 255", "the height"},
           {"P5 2 2 255\nab", "4 bytes of pixels are wanted, but 2 are there"},
           {"P5 2 1 10\n\x09\x0b", "a pixel is 11"}}) {
    try {
      (void)parse_pgm(text, "a.pgm");
      ADD_FAILURE() << text;
    } catch (const InvalidFile& error) {
      EXPECT_EQ(std::string(error.what()).rfind("a.pgm: ", 0), 0U);
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
}

TEST(Pictures, PngHoldsThePixels) {
  const Matrix grey = (Matrix(2, 3) << 0.0, 0.5, 1.0, -4.0, 0.2, 7.0).finished();
  const std::string png = format_png(grey);
  ASSERT_EQ(png.substr(1, 3), "PNG");
  const std::size_t data = png.find("IDAT") + 4;
  std::string lines(8, '?');
  uLongf size = lines.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(lines.data()), &size, reinterpret_cast<const Bytef*>(png.data() + data),
                       png.size() - data),
            Z_OK);
  EXPECT_EQ(lines, std::string("\x00\x00\x80\xff\x00\x00\x33\xff", 8));
  EXPECT_THROW((void)format_png(Matrix()), InvalidModel);
  EXPECT_THROW((void)format_png(Matrix::Constant(1, 1, std::nan(""))), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
