#pragma once

#include "posterior/posterior_state.hpp"

#include <memory>

namespace gaussmith {

/// One run of a method in the form that the shapes suggest, and another one in the other form where rounding spoils the
/// first; the better of the two.
[[nodiscard]] std::shared_ptr<Posterior::State> fit_accurately(const Model& model, const Method& method, const Run& run,
                                                               int threads);

}  // namespace gaussmith
