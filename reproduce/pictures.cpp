#include "pictures.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

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

}  // namespace

std::vector<double> read_numbers(const std::string& path, int skipped) {
  std::string text = read_text(path);
  for (int line = 0; line < skipped; ++line) text.erase(0, std::min(text.find('\n'), text.size() - 1) + 1);
  return numbers_in(text, path);
}

Picture read_picture(const std::string& path) {
  const gs::Matrix by_columns = gs::read_pgm(path).transpose();
  return {.grid = {.height = by_columns.cols(), .width = by_columns.rows()}, .pixels = by_columns.reshaped()};
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
  gs::Matrix all = gs::Matrix::Ones(grid.height, count * grid.width + (count - 1) * gap);
  for (gs::Index p = 0; p < count; ++p)
    all.middleCols(p * (grid.width + gap), grid.width) =
        Eigen::Map<const gs::Matrix>(pictures[static_cast<std::size_t>(p)].pixels.data(), grid.width, grid.height)
            .transpose();
  gs::write_file(path, gs::format_png(all));
}

double signal_to_noise(const gs::Vector& picture, const gs::Vector& truth) {
  return -10.0 * std::log10((picture - truth).squaredNorm() / static_cast<double>(truth.size()));
}

}  // namespace reproduce
