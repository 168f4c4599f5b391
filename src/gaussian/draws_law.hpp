#pragma once
// A posterior known by draws of the weights. Moments are those of the draws; a new input of a process given draw s has
// mean k'K^-1 (w_s - mean) and variance k** - k'K^-1 k. Several latents a row: the C numbers of a weight side by side.

#include "gaussian/posterior_law.hpp"

#include <vector>

namespace gaussmith {

class DrawsLaw final : public PosteriorLaw {
 public:
  /// `geometries` know the prior at new points: one for all functions of a row, or one each. `weights` are the moments
  /// of w where they are known better than by these draws; else empty.
  DrawsLaw(std::vector<std::shared_ptr<PriorGeometry>> geometries, Latents latents, Matrix draws,
           Marginals weights = {});

  /// Draws that predictions and saved models have of it, D C x at most most_kept, evenly spaced.
  static constexpr Index most_kept = 400;
  [[nodiscard]] Matrix kept() const;

  using PosteriorLaw::predict;
  [[nodiscard]] Index width() const override { return latents_.count; }
  [[nodiscard]] Index numbers_per_point() const override { return draws_.rows() + draws_.cols() * width(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Marginals weights() const override { return weights_; }
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  [[nodiscard]] Matrix weight_root() const override;
  /// The draws themselves, in an order that chance takes; all of them before one comes again.
  [[nodiscard]] Matrix weight_deviations(int draws, Random& random) const override;
  [[nodiscard]] std::vector<Marginals> by_draw(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;

 private:
  /// What draws say about points [begin, end): C x S numbers a point, and what they leave open, one number a function.
  struct Seen {
    Matrix values;    // M C x S.
    Matrix leftover;  // M x C.
  };
  [[nodiscard]] Seen see(const NewPoints& points, Index begin, Index end, const Matrix& draws) const;
  /// Adds what draws leave open to the blocks of covariances of points.
  void add_leftover(const Matrix& leftover, Vector& blocks) const;

  std::vector<std::shared_ptr<PriorGeometry>> geometries_;
  Latents latents_;
  Matrix latent_covariance_;
  Matrix draws_;
  Marginals weights_;
};

/// Mean, variance and for several latents covariance of a point's numbers over equally weighted columns.
[[nodiscard]] Marginals moments_of_draws(const Matrix& draws, Index width);

}  // namespace gaussmith
