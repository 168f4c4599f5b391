#include "pictures.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace reproduce {
namespace {

std::string read_text(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error(path + " cannot be read");
  std::string text;
  std::array<char, 65536> block{};
  int count = 0;
  while ((count = gzread(file.get(), block.data(), block.size())) > 0)
    text.append(block.data(), static_cast<std::size_t>(count));
  if (count < 0) throw std::runtime_error(path + " is damaged");
  return text;
}

std::vector<double> numbers_in(const std::string& text, const std::string& path) {
  std::vector<double> numbers;
  const char* at = text.c_str();
  while (true) {
    at += std::strspn(at, ", \t\r\n");
    if (*at == '\0') return numbers;
    char* end = nullptr;
    numbers.push_back(std::strtod(at, &end));
    if (end == at) throw std::runtime_error(path + ": a number is wanted at \"" + std::string(at).substr(0, 12) + "\"");
    at = end;
  }
}

using Bytes = std::vector<std::uint8_t>;

void append_number(Bytes& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(number >> shift));
}

/// Length, kind, content, check sum.
void append_chunk(Bytes& png, std::string_view kind, const Bytes& content) {
  append_number(png, static_cast<std::uint32_t>(content.size()));
  Bytes checked(kind.begin(), kind.end());
  checked.insert(checked.end(), content.begin(), content.end());
  png.insert(png.end(), checked.begin(), checked.end());
  append_number(png, static_cast<std::uint32_t>(crc32(0, checked.data(), static_cast<uInt>(checked.size()))));
}

}  // namespace

std::vector<double> read_numbers(const std::string& path, int skipped) {
  std::string text = read_text(path);
  for (int line = 0; line < skipped; ++line) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return numbers_in(text, path);
}

Picture read_picture(const std::string& path) {
  const std::string text = read_text(path);
  if (text.substr(0, 2) != "P2") throw std::runtime_error(path + " is not a plain grey map (P2)");
  const std::vector<double> numbers = numbers_in(text.substr(2), path);
  if (numbers.size() < 3) throw std::runtime_error(path + " ends before its pixels");
  Picture picture{.grid = {.height = static_cast<gs::Index>(numbers[1]), .width = static_cast<gs::Index>(numbers[0])},
                  .pixels = {}};
  if (static_cast<gs::Index>(numbers.size()) != picture.grid.size() + 3)
    throw std::runtime_error(path + " has other than width x height pixels");
  picture.pixels = Eigen::Map<const gs::Vector>(numbers.data() + 3, picture.grid.size()) / numbers[2];
  return picture;
}

Picture middle(const Picture& picture, const gs::Grid& grid) {
  const gs::Index top = (picture.grid.height - grid.height) / 2;
  const gs::Index left = (picture.grid.width - grid.width) / 2;
  Picture out{.grid = grid, .pixels = gs::Vector(grid.size())};
  for (gs::Index i = 0; i < grid.height; ++i)
    out.pixels.segment(i * grid.width, grid.width) =
        picture.pixels.segment((top + i) * picture.grid.width + left, grid.width);
  return out;
}

void write_png(const std::string& path, const std::vector<Picture>& pictures) {
  const gs::Grid grid = pictures.front().grid;
  constexpr gs::Index gap = 4;
  const auto count = static_cast<gs::Index>(pictures.size());
  const gs::Index width = count * grid.width + (count - 1) * gap;
  Bytes lines;
  for (gs::Index i = 0; i < grid.height; ++i) {
    lines.push_back(0);  // No filter.
    for (gs::Index p = 0; p < count; ++p) {
      if (p > 0) lines.insert(lines.end(), gap, 255);
      for (gs::Index j = 0; j < grid.width; ++j) {
        const double grey = pictures[static_cast<std::size_t>(p)].pixels(i * grid.width + j);
        lines.push_back(static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(grey, 0.0, 1.0))));
      }
    }
  }
  uLongf size = compressBound(lines.size());
  Bytes packed(size);
  if (compress2(packed.data(), &size, lines.data(), lines.size(), Z_BEST_COMPRESSION) != Z_OK)
    throw std::runtime_error(path + " could not be compressed");
  packed.resize(size);

  Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  append_number(header, static_cast<std::uint32_t>(width));
  append_number(header, static_cast<std::uint32_t>(grid.height));
  header.insert(header.end(), {8, 0, 0, 0, 0});  // Eight bits, grey, and nothing special.
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", packed);
  append_chunk(png, "IEND", {});
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  if (!file) throw std::runtime_error(path + " cannot be written");
}

double signal_to_noise(const gs::Vector& picture, const gs::Vector& truth) {
  return -10.0 * std::log10((picture - truth).squaredNorm() / static_cast<double>(truth.size()));
}

}  // namespace reproduce
