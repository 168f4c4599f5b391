#pragma once
// Choosing the inducing variables of a process, alone or interleaved with learning (docs/inducing.md).

#include "gaussmith/learn.hpp"
#include "gaussmith/model.hpp"

#include <string>
#include <utility>
#include <vector>

namespace gaussmith {

/// What a selection chose, and the model that has it.
struct ChosenInducing {
  Model model;
  std::vector<std::pair<Index, Index>> sites;  ///< Row and latent of each, in the order of the choice.
  /// Of `active`: the variance of each before it was chosen, given those before it; of several latents what it adds to
  /// the bound beside those, with all else held.
  std::vector<double> scores;
  std::string how;  ///< In words.
};

/// Chooses inducing inputs among those of the rows. `active`: always the row whose value the ones before tell least
/// about, at the kernel's parameters (greedy conditional variance, a pivoted Cholesky factorisation), which needs no
/// responses and no seed; ends early where all rows follow from those chosen. `random`: by the run's seed. Cost N M^2.
/// Those that the process has are replaced, and are as learnable as they were.
///
/// Several latents a row have single latents of rows chosen. `active`: a block of those that the bound gains most by,
/// in closed form, then a new fit, and so on; of all latents the `filter` best as a random `subset` of rows sees them
/// are looked at by all rows. Throws InvalidOption for a model that is not a process seen at its own inputs.
[[nodiscard]] ChosenInducing choose_inducing(const Model& model, const InducingSelection& selection,
                                             const Run& run = {});

struct LearnedInducing {
  Learned learned;
  ChosenInducing chosen;  ///< What the learned posterior has.
  int rounds = 1;         ///< Of choosing and learning.
};

/// Chooses, learns, chooses anew at what was learned and learns on from there, as long as that raises the objective;
/// the best round is returned. A random choice is made once.
[[nodiscard]] LearnedInducing learn_inducing(const Model& model, const InducingSelection& selection,
                                             const Method& method, const LearnOptions& options = {},
                                             const Run& run = {});

}  // namespace gaussmith
