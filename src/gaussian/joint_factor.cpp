#include "gaussian/joint_factor.hpp"

#include "gaussian/block_factor.hpp"
#include "gaussian/root_factor.hpp"
#include "gaussian/star_factor.hpp"

namespace gaussmith {

std::unique_ptr<JointFactor> make_joint_factor(std::shared_ptr<const JointPrior> prior,
                                               const SiteApproximation& sites) {
  if (prior->has_root()) return std::make_unique<RootFactor>(std::move(prior));
  if (sites.star.size() > 0 && prior->is_independent()) return std::make_unique<StarFactor>(std::move(prior));
  return std::make_unique<BlockFactor>(std::move(prior));
}

double joint_factor_memory(Index rows, Index functions, Index rank, bool star) {
  const double n = static_cast<double>(rows);
  const double c = static_cast<double>(functions);
  const double order = static_cast<double>(rank) * c;
  double numbers = 2.0 * c * c * n * n;  // L and L^-1.
  if (rank > 0)
    numbers = 2.0 * order * order + n * (2.0 * static_cast<double>(rank) + 2.0 * c * c);  // L, and weights of the rows.
  else if (star)
    numbers = (c + 3.0) * n * n;
  return static_cast<double>(sizeof(double)) * numbers;
}

}  // namespace gaussmith
