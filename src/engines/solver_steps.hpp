#pragma once

#include "engines/quasi_newton.hpp"
#include "engines/solver_record.hpp"

namespace gaussmith {

/// Quasi-Newton solvers work with logarithms of precisions; zeros start here.
inline constexpr double least_precision = 1e-12;
/// Their steps are cheap beside what certifies a point: it is looked at after the first few, then every so many.
inline constexpr int steps_between_looks = 5;
/// kl.max_iterations counts factorisations of the site form; these take so many evaluations for one of them.
inline constexpr int evaluations_each = 40;

/// From a vector of variables to the point that it stands for; false where there is none.
using LookAt = std::function<bool(const Vector& x, KlPoint& point)>;

/// Runs the search from x, looks at it now and then, and says how it ended. Iterations are evaluations.
void climb_by(QuasiNewton& search, Vector x, SolverRecord& record, const LookAt& look);

}  // namespace gaussmith
