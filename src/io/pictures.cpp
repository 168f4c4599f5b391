#include "gaussmith/pictures.hpp"

#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "io/text.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace gaussmith {

namespace {

constexpr std::size_t most_picture_bytes = std::size_t{1} << 30;
constexpr Index largest_side = 65535;

void append_big_endian(std::string& out, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(static_cast<std::uint8_t>(number >> shift));
}

/// Length, kind, content, CRC of the last two.
void append_chunk(std::string& png, std::string_view kind, std::string_view content) {
  append_big_endian(png, static_cast<std::uint32_t>(content.size()));
  const std::string checked = std::string(kind) + std::string(content);
  png += checked;
  append_big_endian(png, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                                                          static_cast<uInt>(checked.size()))));
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                Z_BEST_COMPRESSION) != Z_OK)
    throw std::bad_alloc();
  out.resize(size);
  return out;
}

/// The header of a grey map and where its pixels begin.
class GreyMap {
 public:
  GreyMap(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  [[nodiscard]] Matrix read() {
    const std::string_view kind = text_.substr(0, 2);
    if (kind != "P2" && kind != "P5")
      fail(fmt::format("not a portable grey map: starts with {}; P2 (plain) and P5 (raw) are accepted",
                       in_quotes(kind)));
    at_ = 2;
    const Index width = number("the width", 1, largest_side);
    const Index height = number("the height", 1, largest_side);
    const Index white = number("the value of white", 1, 65535);
    // Every pixel takes a byte or more: a few bytes must not ask for all memory.
    if (static_cast<std::size_t>(height) > text_.size() / static_cast<std::size_t>(width))
      fail(fmt::format("{} x {} pixels do not fit into {} bytes", width, height, text_.size()));
    Matrix out(height, width);
    if (kind == "P5") {
      raw(white, out);
    } else {
      for (Index i = 0; i < height; ++i)
        for (Index j = 0; j < width; ++j) out(i, j) = static_cast<double>(number("a pixel", 0, white));
      skip();
      if (at_ < text_.size()) fail("more numbers than its width and height say");
    }
    return out / static_cast<double>(white);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InvalidFile(fmt::format("{}: {}", file_, what)); }

  /// White space and comments.
  void skip() {
    while (at_ < text_.size() && (text_[at_] == '#' || std::isspace(static_cast<unsigned char>(text_[at_])) != 0)) {
      if (text_[at_] == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        ++at_;
    }
  }

  Index number(const char* what, Index lowest, Index highest) {
    skip();
    Index value = -1;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (at_ >= text_.size()) fail(fmt::format("ends before {}", what));
    if (code != std::errc() || value < lowest || value > highest)
      fail(fmt::format("{} is {}; a whole number from {} to {} is accepted", what,
                       in_quotes(text_.substr(at_, std::min<std::size_t>(12, text_.size() - at_))), lowest, highest));
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  void raw(Index white, Matrix& out) {
    const std::size_t bytes = white > 255 ? 2 : 1;
    const std::size_t begin = at_ + 1;
    const auto wanted = static_cast<std::size_t>(out.size()) * bytes;
    if (begin + wanted != text_.size())
      fail(fmt::format("{} bytes of pixels are wanted, but {} are there", wanted,
                       text_.size() > begin ? text_.size() - begin : 0));
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text_[begin + k]); };
    std::size_t k = 0;
    for (Index i = 0; i < out.rows(); ++i)
      for (Index j = 0; j < out.cols(); ++j, k += bytes) {
        const unsigned value = bytes == 2 ? 256U * byte(k) + byte(k + 1) : byte(k);
        if (value > static_cast<unsigned>(white)) fail(fmt::format("a pixel is {}, but white is {}", value, white));
        out(i, j) = value;
      }
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
};

}  // namespace

std::string format_png(const Matrix& grey) {
  if (grey.size() == 0 || !grey.allFinite() || std::max(grey.rows(), grey.cols()) > largest_side)
    throw InvalidModel(fmt::format("a picture of {} x {} pixels that are not all finite, or too many or none",
                                   grey.rows(), grey.cols()));
  std::string lines;
  lines.reserve(static_cast<std::size_t>(grey.size() + grey.rows()));
  for (Index i = 0; i < grey.rows(); ++i) {
    lines += '\0';  // No filter.
    for (Index j = 0; j < grey.cols(); ++j)
      lines += static_cast<char>(static_cast<std::uint8_t>(std::lround(255.0 * std::clamp(grey(i, j), 0.0, 1.0))));
  }
  std::string png = "\x89PNG\r\n\x1a\n";
  std::string header;
  append_big_endian(header, static_cast<std::uint32_t>(grey.cols()));
  append_big_endian(header, static_cast<std::uint32_t>(grey.rows()));
  header += std::string("\x08\0\0\0\0", 5);  // Eight bits, grey, and nothing special.
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", deflated(lines));
  append_chunk(png, "IEND", {});
  return png;
}

Matrix parse_pgm(std::string_view text, std::string_view name) { return GreyMap(text, name).read(); }

Matrix read_pgm(const std::filesystem::path& path) {
  return parse_pgm(read_text_file(path, most_picture_bytes), path.string());
}

}  // namespace gaussmith
