#include "gaussian/joint_factor.hpp"

#include "gaussian/block_factor.hpp"
#include "gaussian/star_factor.hpp"

namespace gaussmith {

std::unique_ptr<JointFactor> make_joint_factor(std::shared_ptr<const JointPrior> prior,
                                               const SiteApproximation& sites) {
  if (sites.star.size() > 0 && prior->is_independent()) return std::make_unique<StarFactor>(std::move(prior));
  return std::make_unique<BlockFactor>(std::move(prior));
}

double joint_factor_memory(Index rows, Index functions, Index /*rank*/, bool star) {
  const double n = static_cast<double>(rows);
  const double c = static_cast<double>(functions);
  if (star) return 8.0 * (c + 3.0) * n * n;
  return 8.0 * 2.0 * c * c * n * n;
}

}  // namespace gaussmith
