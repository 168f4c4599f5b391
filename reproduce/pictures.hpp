#pragma once
// Grey pictures as vectors in row-major order: reading, writing, comparing.

#include <gaussmith/gaussmith.hpp>

#include <string>
#include <vector>

namespace reproduce {

namespace gs = gaussmith;

struct Picture {
  gs::Grid grid;
  gs::Vector pixels;  ///< Black is 0, white is 1.
};

/// All numbers of a text file, plain or gzip, separated by commas or white space, after the first `skipped` lines.
[[nodiscard]] std::vector<double> read_numbers(const std::string& path, int skipped = 0);

/// A portable grey map.
[[nodiscard]] Picture read_picture(const std::string& path);

/// The middle of a picture.
[[nodiscard]] Picture middle(const Picture& picture, const gs::Grid& grid);

/// Pictures of one shape side by side, as a PNG of 8 bits; what is beyond black and white is cut off.
void write_png(const std::string& path, const std::vector<Picture>& pictures);

/// 10 log10 (1 / mean squared error).
[[nodiscard]] double signal_to_noise(const gs::Vector& picture, const gs::Vector& truth);

}  // namespace reproduce
