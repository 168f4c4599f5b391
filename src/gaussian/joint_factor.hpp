#pragma once
// The factorised block-site form q ∝ N(f | m0, K) exp(nu'f - f'T f / 2), T = blockdiag(T_n), for one structure of K and
// T:
//   V = (K^-1 + T)^-1 = K - K Z K,  Z = T (I + K T)^-1.
// Implementations: StarFactor, BlockFactor, RootFactor; make_joint_factor chooses.

#include "gaussian/joint_prior.hpp"
#include "gaussmith/infer.hpp"

#include <memory>
#include <string>

namespace gaussmith {

class JointFactor {
 public:
  virtual ~JointFactor() = default;

  /// What it is, for reports: "4 factorisations of order 90 (independent functions, star sites)".
  [[nodiscard]] virtual std::string describe() const = 0;

  /// False when K^-1 + T is not positive definite.
  [[nodiscard]] virtual bool factorise(const SiteApproximation& sites) = 0;

  /// (I + T K)^-1 r for N x C numbers r.
  [[nodiscard]] virtual Matrix dual(const Matrix& r) const = 0;
  /// 1/2 log|I + K T|.
  [[nodiscard]] virtual double half_log_det() const = 0;
  /// The blocks V_n, C x C numbers a row. May keep what the functions below use.
  [[nodiscard]] virtual Vector covariances() = 0;

  /// sum_cc' K^c_cc' Z^cc' for functions that share a kernel, Z^cc for those with their own: N x N, lower triangle.
  [[nodiscard]] virtual Matrix kernel_precision(Index function) const = 0;
  /// tr(K^x Z^cc') for functions that share a kernel: C x C.
  [[nodiscard]] virtual Matrix latent_traces() const = 0;

  /// K*'Z K* of new points from their covariances k* with the rows under every kernel (N x M, one or C of them): C x C
  /// numbers a point.
  [[nodiscard]] virtual Vector reductions(const std::vector<CrossBlock>& points) const = 0;
  /// The same between all pairs of points: (M C) x (M C), stacked.
  [[nodiscard]] virtual Matrix joint_reduction(const std::vector<CrossBlock>& points) const = 0;
};

/// The factor for sites of this structure: whether they are stars, and whether their precisions see contrasts alone
/// (T_n 1 = 0).
[[nodiscard]] std::unique_ptr<JointFactor> make_joint_factor(std::shared_ptr<const JointPrior> prior,
                                                             const SiteApproximation& sites);

/// What sites will see: stars, contrasts of the functions, or anything.
enum class SitesSee { stars, contrasts, anything };

/// Bytes that the factor of this model takes for such sites, with the prior's covariances.
[[nodiscard]] double joint_factor_memory(const Model& model, SitesSee sees);

}  // namespace gaussmith
