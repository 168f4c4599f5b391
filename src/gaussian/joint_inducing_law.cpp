#include "gaussian/joint_inducing_law.hpp"

#include "base/memory.hpp"
#include "gaussian/joint_inducing_core.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/inverse_of_factor.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

JointInducingLaw::JointInducingLaw(std::shared_ptr<const JointInducing> inducing, std::shared_ptr<const Matrix> lower,
                                   Vector coordinates)
    : PosteriorLaw(std::make_shared<PriorGeometry>(inducing->process(), inducing->threads())),
      inducing_(std::move(inducing)),
      lower_(std::move(lower)),
      coordinates_(std::move(coordinates)),
      covariance_(inverse_of_factor(*lower_)) {}

void JointInducingLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  const JointInducing::Rows rows = inducing_->see(points, begin, end);
  mean = inducing_->prior_means(rows.sums) + inducing_->times(rows, coordinates_);
  variance = inducing_->covariances(rows, covariance_);
}

Matrix JointInducingLaw::joint_covariance(const NewPoints& points) const {
  Matrix joint = inducing_->joint_prior(points);
  const Matrix a = inducing_->matrix(inducing_->see(points, 0, geometry_->count(points)));
  Matrix change = covariance_;
  change.diagonal().array() -= 1.0;
  joint += times_transposed(times(a, change), a);
  return 0.5 * (joint + joint.transpose());
}

Matrix JointInducingLaw::weight_root() const {
  const auto n = static_cast<double>(geometry_->dimension() * width());
  if (const double bytes = 8.0 * 4.0 * n * n; bytes > machine_memory())
    throw InvalidOption(
        fmt::format("draws of all {} values of the process together need about {}, more than the {} of this machine; "
                    "draw those at fewer inputs",
                    n, memory_in_words(bytes), memory_in_words(machine_memory())));
  return pivoted_cholesky(joint_covariance(NewRows{Identity{}})).factor;
}

void JointInducingLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::inducing;
  inducing_->describe(out);  // Coordinates tell places that all latents share from single values (joint_inducing.cpp).
  out.latents = inducing_->latents();
  out.coordinates = coordinates_;
  out.factor = lower_->triangularView<Eigen::Lower>();
}

}  // namespace gaussmith
