#pragma once
// A fitted Gaussian in coordinates of its own, z ~ N(0, I): eta = mean + F z at the rows and x = mean + f'z + noise at
// any other point. V = F F', so that what needs V takes it in blocks of columns, and what needs a log joint has it from
// the sites alone: with the sites s that stand for the model's t,
//   log p(z) = -1/2 |z|^2 + sum_n [log t_n(eta_n) - log s_n(eta_n)] + constant.

#include "posterior/posterior_state.hpp"

#include <string>

namespace gaussmith {

struct PosteriorRoot {
  Matrix rows;                ///< F, N x R.
  Matrix weights;             ///< The same of the weights, D x R; empty where they are not asked for.
  std::vector<Index> pivots;  ///< Rows of F that form a lower triangle; empty where F comes from the weights.

  [[nodiscard]] Index rank() const { return rows.cols(); }
};

/// Why the Gaussian has no such coordinates that its rows' sites explain, in words; empty where it has. Several latents
/// a row, inducing variables and estimated variances have none.
[[nodiscard]] std::string why_no_root(const Posterior::State& state);

/// The coordinates: of the weights where they are fewer than the rows, else of the rows. O(N R^2).
[[nodiscard]] PosteriorRoot posterior_root(const Posterior::State& state);

/// Points as the coordinates see them.
struct RootedPoints {
  Vector mean;
  Matrix directions;  ///< f, R x M.
  Vector leftover;    ///< The variance of what does not depend on z.
  [[nodiscard]] Vector variance() const { return directions.colwise().squaredNorm().transpose() + leftover; }
};

/// Rows of the model; their mean has the offset.
[[nodiscard]] RootedPoints rooted_rows(const Posterior::State& state, const PosteriorRoot& root,
                                       const std::vector<Index>& rows);
/// Points anywhere, without offset.
[[nodiscard]] RootedPoints rooted_points(const Posterior::State& state, const PosteriorRoot& root,
                                         const NewPoints& points);

}  // namespace gaussmith
