#pragma once
// Several latents a row seen through few values of them: with u ~ N(0, I) the whitened inducing variables,
//   f_n = m0 + A_n u + rest_n,  A_n of C x rank,  Cov(rest_n) = R_n = K_nn - A_n A_n',
// the rest independent of u (docs/inducing.md). What there is to do with A depends on how the latents are related.
// Implementations: IndependentInducing, RelatedInducing; make_joint_inducing chooses.

#include "gaussian/seen_points.hpp"
#include "gaussmith/predict.hpp"
#include "model/latents.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gaussmith {

class JointInducing {
 public:
  JointInducing(const GaussianProcess& process, const Latents& latents, int threads);
  JointInducing(const JointInducing&) = delete;
  JointInducing& operator=(const JointInducing&) = delete;
  virtual ~JointInducing() = default;

  [[nodiscard]] Index functions() const { return latents_.count; }
  [[nodiscard]] const GaussianProcess& process() const { return process_; }
  [[nodiscard]] const Latents& latents() const { return latents_; }
  [[nodiscard]] const Matrix& latent_covariance() const { return latent_covariance_; }
  [[nodiscard]] int threads() const { return threads_; }

  /// How many single latents were given, and how many of them count: the others follow from these.
  [[nodiscard]] virtual Index given() const = 0;
  [[nodiscard]] virtual Index rank() const = 0;

  /// Points as the inducing variables see them.
  struct Rows {
    std::vector<Matrix> panels;  ///< A' in the parts that the structure has.
    Matrix variance;             ///< k(x, x) of every kernel: points x 1, or x C.
    Vector sums;                 ///< What means are multiplied by.
    Vector leftover;             ///< R_n, C x C numbers each.

    [[nodiscard]] Index count() const { return variance.rows(); }
  };
  [[nodiscard]] virtual Rows see(const NewPoints& points, Index begin, Index end) const = 0;
  /// All rows of the process, in parallel.
  [[nodiscard]] Rows see_rows() const;
  /// K_nn before any site, C x C numbers a point.
  [[nodiscard]] Vector prior_blocks(const Matrix& variance) const;
  /// m0 of points, stacked.
  [[nodiscard]] Vector prior_means(const Vector& sums) const;
  /// K between all pairs of points, stacked.
  [[nodiscard]] Matrix joint_prior(const NewPoints& points) const;

  /// A u and A'x; stacked numbers of points have C each.
  [[nodiscard]] virtual Vector times(const Rows& rows, const Vector& u) const = 0;
  [[nodiscard]] virtual Vector transposed_times(const Rows& rows, const Vector& x) const = 0;
  /// A'T A for symmetric blocks T, lower triangle.
  [[nodiscard]] virtual Matrix gram(const Rows& rows, const Vector& blocks) const = 0;
  /// The blocks A_n S A_n' + R_n for symmetric S, both halves given.
  [[nodiscard]] virtual Vector covariances(const Rows& rows, const Matrix& s) const = 0;
  /// A itself.
  [[nodiscard]] virtual Matrix matrix(const Rows& rows) const = 0;

  /// What the gradient of a bound that is stationary in q(u) needs: it changes by
  ///   sum_n dual_n'dA_n u - 1/2 sum_n tr T_n dV_n.
  struct Stationary {
    const Rows& rows;
    const Vector& coordinates;  ///< u = A'dual.
    const Vector& dual;
    const Vector& precision;   ///< T.
    const Vector& seen;        ///< A u.
    const Vector& covariance;  ///< V_n.
    Matrix spread;             ///< I - Sigma.
    Matrix pull;               ///< u u' + A'T A + Sigma - I.
  };
  [[nodiscard]] virtual ParameterGradient gradient(const Stationary& at) const = 0;

  /// |L^-1| of the inducing variables' covariance L L': what it makes of rounding.
  [[nodiscard]] virtual double inverse_norm() const = 0;

  /// Writes where the inducing variables stand into the plain form.
  virtual void describe(FittedGaussian& out) const = 0;

 protected:
  /// Puts the gradient in the kernel's parameters, of all latents or of one with its own.
  void put_gradient(Index function, const Vector& kernel, ParameterGradient& out) const;
  /// Whether K^c has parameters.
  [[nodiscard]] bool learns_latents() const;
  /// The process of one latent.
  [[nodiscard]] GaussianProcess process_of_latent(Index function) const;
  [[nodiscard]] bool has_own_kernels() const { return !latents_.kernels.empty(); }

 private:
  GaussianProcess process_;
  Latents latents_;
  Matrix latent_covariance_;
  int threads_;
};

/// Of a process with inducing variables. Throws InvalidModel where none of them counts.
[[nodiscard]] std::unique_ptr<JointInducing> make_joint_inducing(const GaussianProcess& process, const Latents& latents,
                                                                 int threads);
/// That of a saved model; it has no rows of its own. Throws InvalidModel where its parts do not fit together.
[[nodiscard]] std::unique_ptr<JointInducing> make_joint_inducing(const FittedGaussian& fitted, int threads);

/// Bytes that it takes for N rows, with a posterior.
[[nodiscard]] double joint_inducing_memory(const GaussianProcess& process, const Latents& latents);

}  // namespace gaussmith
