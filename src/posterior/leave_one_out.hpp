#pragma once

#include "posterior/posterior_state.hpp"

namespace gaussmith {

/// Leave-one-out predictions from the law's rows without their own sites.
[[nodiscard]] LeaveOneOut leave_one_out(const Posterior::State& state);

}  // namespace gaussmith
