#pragma once
// What another inducing variable would gain, in closed form: the bound of a fit with z_* = f_c(x_r) beside the inducing
// variables that it has, everything else held. With kappa the variance of z_* given those, w = Cov(f, z_* | z) /
// sqrt(kappa), and q(z_*) of variance 1 - delta beside kappa and a mean moved by mu, independent of the rest,
//   m -> m + mu w,  V_n -> V_n - delta w_n w_n',
//   gain = 1/2 (1 + log v - v) - mu^2/2 + sum_n [1/2 log(1 - delta w_n'V_n^-1 w_n) + delta/2 w_n'S_n w_n
//          + mu w_n'e_y - log sum_c b_nc exp(mu w_nc)],  v = 1 - delta,
// S_n = V_n^-1 + T_n and b_n those of the fit. It is zero at v = 1, mu = 0, concave in both, and never more than what a
// new fit gains.

#include "gaussian/joint_inducing.hpp"
#include "gaussmith/infer.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace gaussmith {

/// A single latent of a row.
using InducingSite = std::pair<Index, Index>;

class InducingScores {
 public:
  /// From a fit by kl with inducing variables of several latents.
  InducingScores(const Posterior& fit, int threads);
  /// From the prior: no inducing variable yet.
  InducingScores(const Model& model, int threads);

  [[nodiscard]] Index rows() const { return model_.rows(); }
  [[nodiscard]] Index latents() const { return model_.latents.count; }

  /// The gains of all single latents as these rows alone see them, times the number of all by theirs; row by row. Where
  /// nothing of a latent's variance is left, 0.
  [[nodiscard]] Vector estimates(const std::vector<Index>& subset) const;

  /// z_* as a direction: w, N x C numbers, and how far it goes.
  struct Candidate {
    InducingSite site;
    Vector column;  ///< w; empty: nothing of its variance is left.
    double mean = 0.0;
    double variance = 1.0;
    double gain = 0.0;
  };
  /// The gain of one latent as all rows see it.
  [[nodiscard]] Candidate score(const InducingSite& site) const;
  /// Moves q as this candidate says: the gains of others are then those beside it.
  void take(const Candidate& candidate);

 private:
  void know_rows(const Vector& precision, const Vector& dual);
  /// w of a site by what the fit's own inducing variables leave, not yet divided by sqrt(kappa); kappa.
  [[nodiscard]] std::pair<Vector, double> residual_column(const InducingSite& site) const;
  /// The best mu, v and the gain for the directions of some rows, each counted `scale` times.
  struct Gain {
    double mean, variance, gain;
  };
  [[nodiscard]] Gain best(const std::vector<Index>& rows, const Vector& columns, double scale) const;
  [[nodiscard]] double row_weight(Index row) const { return model_.weights.size() > 0 ? model_.weights(row) : 1.0; }
  [[nodiscard]] GaussianProcess process_at(const InducingSite& site) const;

  Model model_;
  int threads_;
  std::unique_ptr<JointInducing> inducing_;  // None for the prior.
  JointInducing::Rows seen_;
  Matrix latent_covariance_;
  Matrix prior_variance_;  // k(x, x) of every kernel: N x 1 or N x C.
  Vector left_;            // Of every single latent's variance.
  Vector covariance_;      // V_n, then V_n^-1.
  Vector bound_;           // S_n.
  Matrix weights_;         // b, C x N.
  std::vector<Index> labels_, all_;
  std::vector<Candidate> taken_;
};

}  // namespace gaussmith
