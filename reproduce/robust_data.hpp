#pragma once
// The data sets of the robust regression experiments, drawn or partitioned from a seed.

#include <gaussmith/gaussmith.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace reproduce {

namespace gs = gaussmith;

/// Inputs, responses and, where it is known, the function without noise.
struct Part {
  gs::Matrix x;
  gs::Vector y;
  gs::Vector f = {};
};

struct Split {
  Part train, validation, test;
  double response_sd = 1.0;  ///< What one unit of y was before normalise().
};

struct DataSet {
  std::string name;
  std::function<Split(gs::Random&)> draw;
};

/// Neal, Friedman, Boston or Concrete; with another response or fewer inputs Concrete-slump, Concrete-flow and
/// Concrete-7. Reads what the set needs from the folder. Throws std::invalid_argument for another name.
[[nodiscard]] DataSet make_data_set(const std::string& name, const std::filesystem::path& folder);

/// Partition `set` in units of its training part: mean 0 and standard deviation 1 there, inputs and responses. Drawn
/// from the seed 1000 seed + set, so that more sets leave the earlier ones as they are.
[[nodiscard]] Split draw_split(const DataSet& data, std::uint64_t seed, int set);

}  // namespace reproduce
