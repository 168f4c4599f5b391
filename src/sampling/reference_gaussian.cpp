#include "sampling/reference_gaussian.hpp"

#include "gaussian/site_form.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "linalg/qr.hpp"
#include "model/site_rows.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// T X for X with a row for each latent.
Matrix precision_times(const SiteApproximation& sites, const Matrix& x) {
  if (sites.width == 1) return sites.precision.asDiagonal() * x;
  Matrix out(x.rows(), x.cols());
  const Index c = sites.width;
  for (Index n = 0; n < sites.rows(); ++n) {
    const Eigen::Map<const Matrix> block(sites.precision.data() + n * c * c, c, c);
    out.middleRows(n * c, c).noalias() = block * x.middleRows(n * c, c);
  }
  return out;
}

/// A = diag(p) + L'T L, lower triangle.
Matrix posterior_precision(const SamplingSpace& space, const SiteApproximation& sites) {
  const Matrix& l = space.rows();
  Matrix a = Matrix::Zero(space.rank(), space.rank());
  if (sites.width == 1 && sites.precision.minCoeff() >= 0.0)
    serial::add_square(1.0, Matrix(sites.precision.cwiseSqrt().asDiagonal() * l), As::transposed, 0.0, a);
  else
    a = transposed_times(l, precision_times(sites, l));
  a.diagonal() += space.prior_precision();
  return a;
}

}  // namespace

std::optional<ReferenceGaussian> ReferenceGaussian::make(std::shared_ptr<const SamplingSpace> space,
                                                         SiteApproximation sites) {
  const BlasThreads one(1);
  ReferenceGaussian out(std::move(space));
  const SamplingSpace& in = *out.space_;
  const Index k = in.rank();
  Matrix factor = posterior_precision(in, sites);
  if (!factor.allFinite() || !cholesky(factor)) return std::nullopt;
  const Vector pull = sites.shift - gaussmith::precision_times(sites, in.latent_mean());
  Vector v = in.rows().transpose() * pull;
  solve_lower(factor, v);
  solve_lower_transposed(factor, v);
  out.mean_ = in.latent_mean() + in.rows() * v;
  out.dual_ = sites.shift - gaussmith::precision_times(sites, out.mean_);
  out.log_prior_at_mean_ = -0.5 * v.cwiseAbs2().dot(in.prior_precision());
  out.log_determinant_ = -half_log_determinant(factor);
  // P' = (L A^-T/2)' = A^-1/2 L'.
  Matrix transposed_root = in.rows().transpose();
  solve_lower(factor, transposed_root);
  if (in.weights_are_latents()) {
    out.weight_mean_ = in.weight_mean() + in.rows() * v;
    // Then a lower triangular root has the same covariance, and products with it cost half.
    out.lower_ = in.latents() == k;
  } else {
    out.weight_mean_ = in.weight_mean() + in.weight_rows() * v;
    Matrix weights = in.weight_rows().transpose();
    solve_lower(factor, weights);
    out.weight_root_ = weights.transpose();
  }
  if (out.lower_)
    out.root_ = triangular_factor(std::move(transposed_root)).transpose();
  else
    out.root_ = transposed_root.transpose();
  out.place_ = std::move(v);
  out.factor_ = std::move(factor);
  out.sites_ = std::move(sites);
  return out;
}

std::optional<ReferenceGaussian> ReferenceGaussian::prior(std::shared_ptr<const SamplingSpace> space) {
  if (space->prior_precision().minCoeff() == 0.0) return std::nullopt;
  const Index n = space->latents();
  const Index c = space->width();
  return make(std::move(space), {Vector::Zero(n * c), Vector::Zero(n), c});
}

std::optional<ReferenceGaussian> ReferenceGaussian::at(std::shared_ptr<const SamplingSpace> space, const Model& model,
                                                       const Vector& eta) {
  const SiteRows rows(model, 1);
  Vector value;
  Vector slope;
  Vector curvature;
  rows.log_density(eta, &value, &slope, &curvature);
  if (!slope.allFinite() || !curvature.allFinite()) return std::nullopt;
  SiteApproximation sites{-curvature, slope, space->width()};
  sites.shift += gaussmith::precision_times(sites, eta);
  return make(std::move(space), std::move(sites));
}

Vector ReferenceGaussian::latent_sd() const { return root_.rowwise().norm(); }

Vector ReferenceGaussian::weight_sd() const {
  if (space_->weights_are_latents()) return latent_sd();
  Vector variance = weight_root_.rowwise().squaredNorm();
  if (space_->unseen_variance().size() > 0) variance += space_->unseen_variance();
  return variance.cwiseSqrt();
}

Vector ReferenceGaussian::coordinates_of(const Vector& v) const {
  const Vector apart = v - place_;
  if (!lower_) return factor_.triangularView<Eigen::Lower>().transpose() * apart;
  Vector x = space_->rows() * apart;
  solve_lower(root_, x);
  return x;
}

double ReferenceGaussian::site_change(ConstSpan d) const {
  const auto size = static_cast<Index>(d.size());
  double sum = 0.0;
  if (sites_.width == 1) {
    for (Index n = 0; n < size; ++n) {
      const double step = d[static_cast<std::size_t>(n)];
      sum += step * (dual_(n) - 0.5 * sites_.precision(n) * step);
    }
    return sum;
  }
  const Eigen::Map<const Vector> step(d.data(), size);
  return step.dot(dual_ - 0.5 * gaussmith::precision_times(sites_, step));
}

void ReferenceGaussian::add_site_gradient(ConstSpan d, double factor, Span gradient) const {
  const Eigen::Map<const Vector> step(d.data(), static_cast<Index>(d.size()));
  Eigen::Map<Vector> out(gradient.data(), static_cast<Index>(gradient.size()));
  if (sites_.width == 1)
    out.array() += factor * (dual_.array() - sites_.precision.array() * step.array());
  else
    out += factor * (dual_ - gaussmith::precision_times(sites_, step));
}

double ReferenceGaussian::log_normaliser() const {
  const double flat = static_cast<double>(rank()) - space_->prior_precision().sum();
  return log_prior_at_mean_ + log_determinant_ + flat * log_sqrt_two_pi;
}

double ReferenceGaussian::log_prior(double x_squared, ConstSpan d) const {
  return log_prior_at_mean_ - 0.5 * x_squared - site_change(d);
}

double ReferenceGaussian::squared_distance(double log_prior, ConstSpan eta) const {
  thread_local Vector d;
  d = Eigen::Map<const Vector>(eta.data(), static_cast<Index>(eta.size())) - mean_;
  return -2.0 * (log_prior - log_prior_at_mean_ + site_change(view(std::as_const(d))));
}

void ReferenceGaussian::spread(Matrix& x, Matrix& out) const {
  if (lower_) {
    serial::multiply_left(1.0, root_, As::is, x);
    out.swap(x);
    return;
  }
  out.resize(root_.rows(), x.cols());
  serial::add_product(1.0, root_, As::is, x, As::is, 0.0, out);
}

}  // namespace gaussmith
