#pragma once
// Grey pictures: what reconstructions of images are read from and written to.

#include "gaussmith/types.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace gaussmith {

/// A picture as PNG, 8 bits a pixel, one grey channel: 0 is black, 1 is white, what is beyond is cut off. Not empty,
/// all finite (InvalidModel).
[[nodiscard]] std::string format_png(const Matrix& grey);

/// A portable grey map, plain (P2) or raw (P5), 8 or 16 bits, `name` in messages: height x width numbers from 0 to 1.
/// Throws InvalidFile.
[[nodiscard]] Matrix parse_pgm(std::string_view text, std::string_view name);
/// The same from a file, plain or gzip.
[[nodiscard]] Matrix read_pgm(const std::filesystem::path& path);

}  // namespace gaussmith
