#pragma once

#include "engines/posterior_state.hpp"

namespace gaussmith {

/// eta_n under q without `power` times its own site: v / s and m - power v a / s with s = 1 - power tau v and
/// a = nu - tau m. Nothing cancels when a site outweighs everything else; a variance that is not positive says that
/// there is no such distribution.
[[nodiscard]] Marginals cavities(const Vector& mean, const Vector& variance, const Vector& slack, const Vector& dual,
                                 const Vector& precision, double power);

/// Leave-one-out predictions from the site approximations.
[[nodiscard]] LeaveOneOut leave_one_out(const Posterior::State& state);

}  // namespace gaussmith
