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

double joint_factor_memory(const Model& model, SitesSee sees) {
  const auto n = static_cast<double>(model.rows());
  const auto c = static_cast<double>(model.latents.count);
  const double seen = sees == SitesSee::anything ? c : c - 1.0;
  double numbers = 0.0;
  if (is_known_by_root(model.prior, model.rows())) {
    const auto rank = static_cast<double>(model.dimension());
    numbers = 2.0 * rank * rank * seen * seen + n * (2.0 * rank + 2.0 * c * c);  // L, and weights of the rows.
  } else {
    const double kernels = model.latents.kernels.empty() ? 1.0 : c;
    const bool stars = sees == SitesSee::stars && has_independent_functions(model.latents);
    // C + 2 matrices, or L and L^-1.
    numbers = (kernels + (stars ? c + 2.0 : 2.0 * seen * seen)) * n * n;
  }
  return static_cast<double>(sizeof(double)) * numbers;
}

}  // namespace gaussmith
