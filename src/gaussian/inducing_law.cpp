#include "gaussian/inducing_law.hpp"

#include "base/memory.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

InducingLaw::InducingLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const Matrix> lower,
                         Vector coordinates)
    : PosteriorLaw(std::move(geometry)), lower_(std::move(lower)), coordinates_(std::move(coordinates)) {}

SeenPoints InducingLaw::see_whitened(const NewPoints& points, Index begin, Index end) const {
  SeenPoints seen = see(basis().points(), points, begin, end);
  solve_lower(basis().triangle(), seen.cross);
  return seen;
}

void InducingLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  SeenPoints seen = see_whitened(points, begin, end);
  mean = basis().process().mean * seen.sums + transposed_times(seen.cross, coordinates_);
  variance = (seen.variance - seen.cross.colwise().squaredNorm().transpose()).cwiseMax(0.0);
  solve_lower(*lower_, seen.cross);
  variance += seen.cross.colwise().squaredNorm().transpose();
}

Matrix InducingLaw::joint_covariance(const NewPoints& points) const {
  Matrix joint = prior_covariance(basis().process(), points, geometry_->threads());
  SeenPoints seen = see_whitened(points, 0, geometry_->count(points));
  add_gram(-1.0, seen.cross, 1.0, joint);
  solve_lower(*lower_, seen.cross);
  add_gram(1.0, seen.cross, 1.0, joint);
  mirror_lower(joint);
  return joint;
}

Matrix InducingLaw::weight_root() const {
  const auto n = static_cast<double>(geometry_->dimension());
  if (const double bytes = 8.0 * 3.0 * n * n; bytes > machine_memory())
    throw InvalidOption(
        fmt::format("draws of all {} values of the process together need about {}, more than the {} of this machine; "
                    "draw those at fewer inputs",
                    geometry_->dimension(), memory_in_words(bytes), memory_in_words(machine_memory())));
  return pivoted_cholesky(joint_covariance(NewRows{Identity{}})).factor;
}

void InducingLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::inducing;
  // Of the process only what new points need: its inputs are those of the inducing variables.
  GaussianProcess process = basis().process();
  process.inputs = basis().given_inputs();
  process.inducing.reset();
  out.prior = std::move(process);
  out.pivots = basis().pivots();
  out.noise = basis().noise();
  out.coordinates = coordinates_;
  out.factor = lower_->triangularView<Eigen::Lower>();
}

}  // namespace gaussmith
