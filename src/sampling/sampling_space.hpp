#pragma once
// The weights of a model in the coordinates that samplers move in: v ~ N(0, I) a priori, eta = m + L v at the model's
// rows, w = mean + W v + what no row sees. Directions of w that no row sees follow the prior whatever the data, so that
// v has no more entries than there are latents; singular covariances only make it shorter. Weights of which the prior
// says nothing have a flat density.
//
// Numbers of rows with several latents are stacked: the C numbers of a row, or of a weight, side by side.

#include "gaussian/joint_prior.hpp"
#include "gaussian/prior_geometry.hpp"
#include "gaussmith/random.hpp"

#include <memory>

namespace gaussmith {

class SamplingSpace {
 public:
  /// Dense: O((N C)^2) memory, a factorisation of the covariance of the weights or of the rows. Throws InvalidModel for
  /// weights that neither prior nor rows determine, InvalidOption where this machine has too little memory.
  explicit SamplingSpace(const Model& model);

  /// N C, the number of latents, and C.
  [[nodiscard]] Index latents() const { return rows_.rows(); }
  [[nodiscard]] Index width() const { return width_; }
  /// D C, the number of weights.
  [[nodiscard]] Index weights() const { return weight_mean_.size(); }
  /// The length of v.
  [[nodiscard]] Index rank() const { return rows_.cols(); }

  /// m, with the model's offset.
  [[nodiscard]] const Vector& latent_mean() const { return latent_mean_; }
  /// L.
  [[nodiscard]] const Matrix& rows() const { return rows_; }
  /// 1 where v_j ~ N(0, 1) a priori, 0 where the prior says nothing.
  [[nodiscard]] const Vector& prior_precision() const { return prior_precision_; }

  /// Whether w is eta without the offset, so that W is L; weight_rows() is then empty.
  [[nodiscard]] bool weights_are_latents() const { return weights_are_latents_; }
  /// w at v = 0.
  [[nodiscard]] const Vector& weight_mean() const { return weight_mean_; }
  /// W.
  [[nodiscard]] const Matrix& weight_rows() const { return weight_rows_; }
  /// The variance of w that no row sees; empty where there is none.
  [[nodiscard]] const Vector& unseen_variance() const { return unseen_variance_; }
  /// Draws of what no row sees, D C x count; zero where there is nothing.
  [[nodiscard]] Matrix unseen_draws(Index count, Random& random) const;

  /// What knows the prior at new points: one for all functions of a row, or one each.
  [[nodiscard]] const std::vector<std::shared_ptr<PriorGeometry>>& geometries() const { return geometries_; }

 private:
  void use_root(const Model& model);
  /// R x for each of the functions of w: x has the rank of all of them, function by function.
  [[nodiscard]] Matrix unwhiten(const Matrix& x) const;
  void reduce_to_span();

  Index width_ = 1;
  std::vector<std::shared_ptr<PriorGeometry>> geometries_;
  std::vector<Index> ranks_;  // Of the functions.
  Matrix between_;            // F of K^c = F F', C x C or less; of one function 1.
  Matrix given_root_;         // R of priors given by a precision; else empty.
  Matrix span_;               // Q of u = Q v + what no row sees; empty where v = u.
  Vector latent_mean_, weight_mean_, prior_precision_, unseen_variance_;
  Matrix rows_, weight_rows_;
  bool weights_are_latents_ = false;
};

}  // namespace gaussmith
