#pragma once
// Seeded models of three kinds on which verdicts are tried: easy (plenty of data, log-concave), skewed (rare events,
// few counts, wide priors, sparsity), and conflicting or heavy-tailed rows; up to six weights. And planted pairs of
// modes.

#include <gaussmith/infer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace reproduce {

namespace gs = gaussmith;

enum class ModelKind { easy, skewed, conflicting };

struct VerdictModel {
  ModelKind kind;
  std::string name;
  gs::Model model;
};

/// A third of `count` models of each kind.
[[nodiscard]] std::vector<VerdictModel> verdict_models(int count, std::uint64_t seed);

/// Two weight vectors, `rows` rows drawn around each of them: Student-t, 2 degrees of freedom, scale 0.1.
struct PlantedModes {
  gs::Model model;
  gs::Matrix weights;  ///< The two, as columns.
};
[[nodiscard]] PlantedModes planted_modes(gs::Index dimension, gs::Index rows, std::uint64_t seed);

/// A Gaussian process at as many inputs as rows, log-concave.
[[nodiscard]] gs::Model verdict_process(gs::Index rows, const std::string& likelihood, std::uint64_t seed);

}  // namespace reproduce
