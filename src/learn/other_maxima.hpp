#pragma once
// Whether there is a better maximum than the one that a search has found: a few evaluations say where one may be, and
// searches from there end early if they come back or stay behind.

#include "learn/climber.hpp"

namespace gaussmith {

/// With few parameters: at shorter or longer length-scales, or on the other side of a parameter that the data leave
/// open. One evaluation to either side shows whether the objective falls as the curvature here says.
[[nodiscard]] Maximum look_beyond(Climber& climber, Maximum found);

/// With a length-scale for every feature: slopes in a length-scale vanish with its square, so one that went out of
/// sight while the others were on their way stays there, though it may be wanted back. At the edge of sight slopes
/// still say so.
[[nodiscard]] Maximum look_back(Climber& climber, Maximum found);

/// With a length-scale for every feature: from `start`, where length-scales are not tied to one another.
[[nodiscard]] Maximum look_untied(Climber& climber, Maximum found, const Vector& start);

/// With a length-scale for every feature: where one feature matters on a shorter scale or no more, or where two have
/// exchanged their parts.
[[nodiscard]] Maximum look_among_features(Climber& climber, Maximum found);

}  // namespace gaussmith
