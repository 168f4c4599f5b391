#pragma once
// All engines: the one list of their headers.

#include "engines/ep.hpp"
#include "engines/exact.hpp"
#include "engines/kl.hpp"
#include "engines/laplace.hpp"
#include "engines/vb.hpp"
#include "engines/vmf.hpp"

namespace gaussmith {

template <class Variant>
inline constexpr bool all_registered = false;
template <class... Options>
inline constexpr bool all_registered<std::variant<Options...>> = (RegisteredEngine<Options> && ...);
static_assert(all_registered<Method>, "a method without an Engine specialisation in one of these headers");

}  // namespace gaussmith
