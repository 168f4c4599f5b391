#pragma once
// All engines: the one list of their headers.

#include "engines/annealed.hpp"
#include "engines/elliptical.hpp"
#include "engines/ep.hpp"
#include "engines/exact.hpp"
#include "engines/importance.hpp"
#include "engines/kl.hpp"
#include "engines/laplace.hpp"
#include "engines/no_u_turn.hpp"
#include "engines/vb.hpp"
#include "engines/vmf.hpp"

namespace gaussmith {

template <class Variant>
inline constexpr bool all_registered = false;
template <class... Options>
inline constexpr bool all_registered<std::variant<Options...>> = (RegisteredEngine<Options> && ...);
static_assert(all_registered<Method>, "a method without an Engine specialisation in one of these headers");

}  // namespace gaussmith
