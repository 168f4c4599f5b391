#pragma once
// Star sites diag(pi) - pi pi'/1'pi: what independent functions need for C + 1 factorisations of order N.

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// The star with the diagonal T_cc >= 0 of a block whose rows sum to zero: pi_c (1 - pi_c / 1'pi) = T_cc. With
/// u = pi / 1'pi and s = 1'pi, u_c = (1 -+ sqrt(1 - 4 T_cc / s)) / 2, at most one of them above a half, and sum u = 1
/// is one equation for s.
void star_of_diagonal(ConstSpan diagonal, Span pi);

/// Replaces every block by that star.
void make_stars(SiteApproximation& sites);

/// The blocks of T for sites whose `star` is set.
void set_star_blocks(SiteApproximation& sites);

}  // namespace gaussmith
