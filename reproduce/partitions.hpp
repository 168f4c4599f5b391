#pragma once
// Random partitions of a table, in units of the rows to train on.

#include <gaussmith/gaussmith.hpp>

#include <vector>

namespace reproduce {

namespace gs = gaussmith;

/// A random order of 0 .. count - 1 (Fisher-Yates).
[[nodiscard]] std::vector<gs::Index> shuffled(gs::Index count, gs::Random& random);

/// What a number becomes (number - mean) / sd in.
struct Unit {
  double mean = 0.0;
  double sd = 1.0;
};

/// Mean and standard deviation (divisor N) of the values; a constant keeps a tiny standard deviation.
[[nodiscard]] Unit unit_of(const gs::Vector& values);

[[nodiscard]] gs::Vector in_units(const gs::Vector& values, const Unit& unit);

}  // namespace reproduce
