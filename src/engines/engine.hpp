#pragma once
// How an engine makes itself known: one specialisation of Engine beside it, and one alternative in Method. Catalogue,
// command line and infer() are made from the two, so that they cannot disagree.

#include "posterior/posterior_state.hpp"

#include <concepts>
#include <string_view>

namespace gaussmith {

/// What the library knows of a method: its line of the catalogue, a check of the model before any work (throws
/// InvalidOption), and the run, which fills sites, law, gradient, evidence and report of the state.
template <class Options>
struct Engine;

template <class Options>
concept RegisteredEngine = requires(const Options& options, const Model& model, const Run& run,
                                    Posterior::State& state) {
  { Engine<Options>::name } -> std::convertible_to<std::string_view>;
  { Engine<Options>::evidence } -> std::convertible_to<std::string_view>;
  { Engine<Options>::sites } -> std::convertible_to<std::string_view>;
  { Engine<Options>::summary } -> std::convertible_to<std::string_view>;
  Engine<Options>::check(model);
  Engine<Options>::run(options, run, state);
};

/// Throws InvalidOption for an option outside its range.
void check_options(const Method& method);

}  // namespace gaussmith
