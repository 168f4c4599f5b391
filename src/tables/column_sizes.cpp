#include "tables/column_sizes.hpp"

#include "gaussmith/errors.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr double most = 1e100;
constexpr double least = 1e-100;

}  // namespace

void check_sizes(const Matrix& columns, const std::vector<std::string>& names, const Table& table,
                 const std::string& cure) {
  for (Index j = 0; j < columns.cols(); ++j) {
    double largest = 0.0;
    for (const double value : columns.col(j))
      largest = std::max(largest, std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value));
    if (largest == 0.0 || (largest >= least && largest <= most)) continue;
    throw InvalidFile(
        fmt::format("{}: column {} has numbers {} in size; between {} and {} are accepted: give it in another unit{}",
                    table.name_in_messages(), in_quotes(names[static_cast<std::size_t>(j)]),
                    std::isfinite(largest) ? fmt::format("up to {:.3g}", largest)
                                           : std::string("beyond what double precision holds"),
                    least, most, cure));
  }
}

}  // namespace gaussmith
