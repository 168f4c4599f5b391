#pragma once
// Gaussian latents of several classes where only their differences matter.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Differences of latents as mean + axes diag(variance)^1/2 z, z standard normal: the covariance is centred, so that
/// every axis adds up to zero.
struct LatentDifferences {
  Vector mean;      // Centred.
  double level;     // What centring took off the mean.
  Matrix axes;      // C x (C - 1), orthonormal.
  Vector variance;  // Of the axes, largest first.

  LatentDifferences(Index classes, ConstSpan mean, ConstSpan covariance);

  /// Directions of which z is the standard normal coordinate, largest first, without those whose variance is at most
  /// `least_share` times one plus the largest.
  [[nodiscard]] Matrix directions(double least_share) const;
  /// The same when every latent has independent noise of variance `noise` that is left out.
  [[nodiscard]] Matrix directions_without(const Vector& noise, double least_share) const;
};

/// The largest noise, in sum, that may be split off: V - diag(noise) stays a covariance of differences. An interior
/// point method; noise too small to matter is left where it was.
[[nodiscard]] Vector independent_noise(const LatentDifferences& differences);

}  // namespace gaussmith
