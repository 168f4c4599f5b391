#pragma once
// Which of many starts are worth a search: short searches from all of them, longer ones from those that lead.

#include "learn/evaluation.hpp"
#include "learn/explore.hpp"

#include <functional>
#include <vector>

namespace gaussmith {

struct RaceOptions {
  int first_round = 6;             ///< Evaluations for every start.
  int later_rounds = 12;           ///< Evaluations for those that go on.
  std::size_t finalists = 3;       ///< At most so many are left.
  int max_evaluations = 200;       ///< In all.
  std::vector<Index> narrow = {};  ///< Coordinates with narrow maxima: they stay until the last round.
};

/// Rounds of short searches inside a box, after each of which the better third goes on, without those that have come to
/// where a better one is. What is left after the last round, best first; empty when every start failed.
[[nodiscard]] std::vector<Evaluated> race(const PartialFunction& f, const std::function<bool()>& stop,
                                          const std::vector<Vector>& starts, const Vector& lower, const Vector& upper,
                                          const RaceOptions& options);

}  // namespace gaussmith
