#include "gaussian/joint_law.hpp"

#include "base/overloaded.hpp"

#include <utility>

namespace gaussmith {

JointLaw::JointLaw(std::shared_ptr<const JointPrior> prior, std::shared_ptr<const JointFactor> factor,
                   SiteApproximation sites, Vector dual)
    : PosteriorLaw(prior->geometry()),
      prior_(std::move(prior)),
      factor_(std::move(factor)),
      sites_(std::move(sites)),
      dual_(by_function(dual, prior_->functions())) {}

Matrix JointLaw::means(const NewPoints& points, const std::vector<CrossBlock>& blocks, Index begin, Index end) const {
  const Index count = end - begin;
  Matrix mean(count, width());
  if (prior_->has_own_kernels()) {
    for (Index c = 0; c < width(); ++c) {
      const CrossBlock& block = blocks[static_cast<std::size_t>(c)];
      mean.col(c) = block.mean + transposed_times(block.covariance, dual_.col(c));
    }
  } else {
    mean = transposed_times(blocks.front().covariance, dual_) * prior_->latent_covariance();
    mean.colwise() += blocks.front().mean;
  }
  if (prior_->latents().mean.size() > 0)
    mean += prior_->mean_factors(points, begin, end) * prior_->latents().mean.transpose();
  return mean;
}

void JointLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  const std::vector<CrossBlock> blocks = prior_->cross(points, begin, end);
  mean = stacked(means(points, blocks, begin, end));
  variance = -factor_->reductions(blocks);
  const Index c_count = width();
  for (Index m = 0; m < end - begin; ++m) {
    Eigen::Map<Matrix> block(variance.data() + m * c_count * c_count, c_count, c_count);
    if (prior_->has_own_kernels())
      for (Index c = 0; c < c_count; ++c) block(c, c) += blocks[static_cast<std::size_t>(c)].variance(m);
    else
      block += blocks.front().variance(m) * prior_->latent_covariance();
    block.diagonal() = block.diagonal().cwiseMax(0.0);
  }
}

Matrix JointLaw::joint_covariance(const NewPoints& points) const {
  const Index c_count = width();
  const Index count = geometry_->count(points);
  Matrix joint = -factor_->joint_reduction(prior_->cross(points, 0, count));
  for (Index c = 0; c < c_count; ++c) {
    if (c > 0 && !prior_->has_own_kernels()) break;
    const Matrix k = prior_->geometry(c)->prior_covariance(points);
    for (Index j = 0; j < count; ++j)
      for (Index i = 0; i < count; ++i) {
        if (prior_->has_own_kernels())
          joint(i * c_count + c, j * c_count + c) += k(i, j);
        else
          joint.block(i * c_count, j * c_count, c_count, c_count) += k(i, j) * prior_->latent_covariance();
      }
  }
  return joint;
}

Matrix JointLaw::weight_root() const { return pivoted_cholesky(joint_covariance(NewRows{Identity{}})).factor; }

void JointLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::covariance;
  out.design = geometry_->design();
  out.latents = prior_->latents();
  out.precision = sites_.precision;
  out.star = sites_.star;
  out.dual = stacked(dual_);
}

}  // namespace gaussmith
