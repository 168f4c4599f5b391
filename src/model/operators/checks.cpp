#include "model/operators/checks.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <limits>

namespace gaussmith {

void check_grid(std::string_view who, const Grid& grid) {
  // FFTW counts in int, and so does the index of a sparse row.
  constexpr Index most = std::numeric_limits<int>::max();
  if (grid.height < 1 || grid.width < 1 || grid.height > most / grid.width)
    throw InvalidModel(
        fmt::format("{}: the grid is {} x {}; both sides must be at least 1 and their product at most {}", who,
                    grid.height, grid.width, most));
}

void check_handle(std::string_view who, const OperatorHandle& handle) {
  if (!handle) throw InvalidModel(fmt::format("{}: an operator is null", who));
}

}  // namespace gaussmith
