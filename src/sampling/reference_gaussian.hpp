#pragma once
// A Gaussian in the site form as samplers use it: q(v) ∝ p(v) exp(nu'eta - eta'T eta / 2) with its mean and a root of
// its covariance, v = v_q + S x, eta = eta_q + P x, x ~ N(0, I). With the dual a = nu - T eta_q, v_q = L'a, and

//   p(v) = p(v_q) exp(-|x|^2 / 2 - a'd + d'T d / 2),  d = eta - eta_q,

// so that everything about a point is known from x and eta.

#include "gaussmith/infer.hpp"
#include "sampling/sampling_space.hpp"

#include <memory>
#include <optional>

namespace gaussmith {

class ReferenceGaussian {
 public:
  /// Nothing where these sites and the prior are no distribution. O((N C) k^2), k the rank of the space.
  [[nodiscard]] static std::optional<ReferenceGaussian> make(std::shared_ptr<const SamplingSpace> space,
                                                             SiteApproximation sites);
  /// The prior itself; nothing where it is no distribution.
  [[nodiscard]] static std::optional<ReferenceGaussian> prior(std::shared_ptr<const SamplingSpace> space);
  /// The Gaussian with the curvature of the sites at a point eta: -(log t)'' and what shift makes eta its mean. Nothing
  /// where it is none; `model` is that of the space.
  [[nodiscard]] static std::optional<ReferenceGaussian> at(std::shared_ptr<const SamplingSpace> space,
                                                           const Model& model, const Vector& eta);

  [[nodiscard]] const SamplingSpace& space() const { return *space_; }
  [[nodiscard]] const std::shared_ptr<const SamplingSpace>& shared_space() const { return space_; }
  [[nodiscard]] Index rank() const { return space_->rank(); }
  [[nodiscard]] const SiteApproximation& sites() const { return sites_; }

  [[nodiscard]] const Vector& latent_mean() const { return mean_; }         ///< eta_q.
  [[nodiscard]] const Matrix& latent_root() const { return root_; }         ///< P.
  [[nodiscard]] bool root_is_lower() const { return lower_; }               ///< Whether P is lower triangular.
  [[nodiscard]] const Vector& weight_mean() const { return weight_mean_; }  ///< Of w.
  /// W S; empty where the weights are the latents.
  [[nodiscard]] const Matrix& weight_root() const { return weight_root_; }
  [[nodiscard]] const Vector& dual() const { return dual_; }  ///< a.
  [[nodiscard]] Vector latent_sd() const;
  [[nodiscard]] Vector weight_sd() const;

  /// x of a point v.
  [[nodiscard]] Vector coordinates_of(const Vector& v) const;

  /// log |S|.
  [[nodiscard]] double log_determinant() const { return log_determinant_; }
  /// log p(v_q) without constants: -|v_q|^2 / 2 over the directions that the prior knows.
  [[nodiscard]] double log_prior_at_mean() const { return log_prior_at_mean_; }
  /// log of the integral of p(v) exp(nu'eta - eta'T eta / 2) over v, its integrand's exponential taken relative to that
  /// at the mean: the evidence is this plus log E_q[exp(sum log t - (site_change))].
  [[nodiscard]] double log_normaliser() const;
  /// log p(v) of v = v_q + S x, at its deviation d of eta and |x|^2, without constants.
  [[nodiscard]] double log_prior(double x_squared, ConstSpan d) const;
  /// |x_q(v)|^2 = (v - v_q)'A(v - v_q) of any point with log p(v) and eta.
  [[nodiscard]] double squared_distance(double log_prior, ConstSpan eta) const;
  /// a'd - d'T d / 2.
  [[nodiscard]] double site_change(ConstSpan d) const;
  /// Adds the gradient of that, a - T d.
  void add_site_gradient(ConstSpan d, double factor, Span gradient) const;

  /// eta - eta_q = P x for columns x, which may be overwritten.
  void spread(Matrix& x, Matrix& out) const;

 private:
  explicit ReferenceGaussian(std::shared_ptr<const SamplingSpace> space) : space_(std::move(space)) {}

  std::shared_ptr<const SamplingSpace> space_;
  SiteApproximation sites_;
  Vector mean_, weight_mean_, dual_;
  Vector place_;   // v_q.
  Matrix factor_;  // The lower Cholesky factor of S'^-1 S^-1.
  Matrix root_, weight_root_;
  bool lower_ = false;
  double log_determinant_ = 0.0, log_prior_at_mean_ = 0.0;
};

}  // namespace gaussmith
