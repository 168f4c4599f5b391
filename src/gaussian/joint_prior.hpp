#pragma once
// The Gaussian factor of rows with several latents, seen through the design: K = K^x ⊗ K^c over rows and functions, or
// a K_c of its own for every function.
//
// Numbers of rows and functions are N x C matrices here, a column a function; stacked vectors, as in eta, have the C
// numbers of a row side by side.

#include "gaussian/prior_geometry.hpp"
#include "model/latents.hpp"

#include <memory>
#include <vector>

namespace gaussmith {

/// A stacked vector as an N x C matrix, and back.
[[nodiscard]] Matrix by_function(const Vector& stacked, Index width);
[[nodiscard]] Vector stacked(const Matrix& by_function);

/// Whether K is block diagonal by function.
[[nodiscard]] bool has_independent_functions(const Latents& latents);
/// Whether N rows see few enough independent weights for K^x to be known by its root.
[[nodiscard]] bool is_known_by_root(const Prior& prior, Index rows);

class JointPrior {
 public:
  JointPrior(const Prior& prior, const Design& design, const Latents& latents, int threads);

  [[nodiscard]] Index rows() const { return geometries_.front()->rows(); }
  [[nodiscard]] Index functions() const { return latents_.count; }
  [[nodiscard]] int threads() const { return geometries_.front()->threads(); }
  [[nodiscard]] const Latents& latents() const { return latents_; }
  /// Of K^x, or of the kernel of one function.
  [[nodiscard]] const std::shared_ptr<PriorGeometry>& geometry(Index function = 0) const {
    return geometries_[has_own_kernels() ? static_cast<std::size_t>(function) : 0];
  }

  /// Whether every function has a kernel of its own.
  [[nodiscard]] bool has_own_kernels() const { return !latents_.kernels.empty(); }
  /// Whether K is block diagonal by function.
  [[nodiscard]] bool is_independent() const { return independent_; }
  /// K^c; the identity for functions with kernels of their own.
  [[nodiscard]] const Matrix& latent_covariance() const { return latent_covariance_; }

  /// K^x, or K of one function's kernel: N x N. The function's own block of K is scale(c) times that.
  [[nodiscard]] const Matrix& kernel(Index function = 0) const;
  [[nodiscard]] double scale(Index function) const { return latent_covariance_(function, function); }

  /// G, N x rank with K^x = G G', where K^x is known by it and is not formed: few weights, many rows. Otherwise empty.
  [[nodiscard]] const Matrix& root() const { return root_; }
  [[nodiscard]] bool has_root() const { return root_.size() > 0; }

  /// The prior mean of eta without the model's offset, stacked.
  [[nodiscard]] Vector mean() const;
  /// What the means of the functions are multiplied by at new points [begin, end): 1 for a process, the sum of a row of
  /// weights.
  [[nodiscard]] Vector mean_factors(const NewPoints& points, Index begin, Index end) const;
  /// diag K, stacked.
  [[nodiscard]] Vector variances() const;
  /// K a for N x C numbers a.
  [[nodiscard]] Matrix times(const Matrix& a) const;

  /// New points [begin, end) under every kernel: one block for all functions, or one each.
  [[nodiscard]] std::vector<CrossBlock> cross(const NewPoints& points, Index begin, Index end) const;

 private:
  Latents latents_;
  Matrix latent_covariance_;
  bool independent_;
  std::vector<std::shared_ptr<PriorGeometry>> geometries_;
  std::vector<const Matrix*> kernels_;  // Owned by the geometries.
  Matrix root_;
};

}  // namespace gaussmith
