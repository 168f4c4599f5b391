#pragma once
// The linear-Gaussian core: given precision tau and shift nu of every site, the Gaussian
//   q(w) ∝ N(w | mean, Sigma) exp(nu'eta - eta' diag(tau) eta / 2),  eta = H w + offset.
// The only room that sees structure; engines are site rules on top of it (docs/architecture.md).
//
// With K = H Sigma H', T = diag(tau), prior mean m0 of eta and r = nu - T m0:
//   V = (K^-1 + T)^-1,  mean of eta = m0 + V r,  dual a = K^-1 (mean - m0) = (I + T K)^-1 r.

#include "gaussian/posterior_gaussian.hpp"
#include "gaussmith/infer.hpp"

#include <functional>
#include <memory>
#include <string>

namespace gaussmith {

class GaussianCore : public PosteriorGaussian {
 public:
  GaussianCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  [[nodiscard]] Index rows() const { return prior_mean_.size(); }
  /// m0 = H mean + offset.
  [[nodiscard]] const Vector& prior_mean() const { return prior_mean_; }
  [[nodiscard]] Index numbers_per_point() const override { return rows(); }
  [[nodiscard]] virtual CoreForm form() const = 0;
  /// diag K, the variances of eta before any site; infinite without a Gaussian factor.
  [[nodiscard]] virtual Vector prior_variances() const = 0;

  /// Factorises for these site precisions; false when K^-1 + T is not positive definite, and then nothing below may be
  /// called. Negative precisions are allowed.
  [[nodiscard]] virtual bool factorise(const Vector& precision) = 0;

  /// The point with these coordinates.
  [[nodiscard]] virtual LatentPoint point(Vector coordinates) const = 0;

  /// The mean of q for these shifts, with the factorised precisions.
  [[nodiscard]] virtual LatentPoint mean(const Vector& shift) const = 0;

  /// 1/2 log|I + K T|; without a Gaussian factor 1/2 log|H'T H| - D/2 log 2 pi.
  [[nodiscard]] virtual double half_log_det() const = 0;

  /// diag V. Covariance form: one triangular inverse, kept for covariance_weights(). `slack` gets 1 - tau v, in the
  /// covariance form without cancellation: v / slack is the variance of eta_n without its own site.
  [[nodiscard]] virtual Vector variances(Vector* slack = nullptr) = 0;

  /// The dual a = nu - T eta of the mean for these shifts, again without cancellation where the form allows it.
  [[nodiscard]] virtual Vector dual(const LatentPoint& mean, const Vector& shift) const = 0;

  /// About what rounding leaves uncertain in the eta of a point: the sums of large opposite terms that make it.
  [[nodiscard]] virtual Vector rounding(const LatentPoint& point) const = 0;

  /// Covariance of the coordinates that one-site-at-a-time updates work on: eta itself (covariance form) or u
  /// (precision form), in the lower triangle; and rows [begin, end) of eta in these coordinates, transposed (empty when
  /// they are eta).
  [[nodiscard]] virtual Matrix coordinate_covariance() const = 0;
  [[nodiscard]] virtual Matrix coordinate_rows(Index begin, Index end) const = 0;

  /// V x.
  [[nodiscard]] virtual Vector covariance_times(const Vector& x) const = 0;

  /// The prior's centre as a point, and the inner product of two points under the prior: a'K b or u'v (0 without a
  /// Gaussian factor). Half the inner product of a point with itself is -log N(w) up to its constant.
  [[nodiscard]] virtual LatentPoint centre() const = 0;
  [[nodiscard]] virtual double inner(const LatentPoint& a, const LatentPoint& b) const = 0;

  /// The directional derivative of the log joint at `from` towards `to`, given the gradient of the sites at `from`.
  /// For a Newton step it is the squared gradient norm in posterior standard deviations, g'V g.
  [[nodiscard]] virtual double slope(const LatentPoint& from, const LatentPoint& to,
                                     const Vector& site_gradient) const = 0;

  /// M with d log Z = tr(M dSigma): 1/2 H'(a a' - (K + T^-1)^-1 + g a' + a g')H, the explicit terms at the point `mean`
  /// with shift nu and, through g, an engine's implicit ones (g may be empty). D x D; only
  /// the lower triangle is meant.
  [[nodiscard]] virtual Matrix covariance_weights(const LatentPoint& mean, const Vector& shift,
                                                  const Vector& implicit) const = 0;

 protected:
  Vector prior_mean_;
};

/// What a failed first factorisation says about the model, in one sentence.
[[nodiscard]] std::string why_not_factorised(const GaussianCore& core);

/// The form for a model of these shapes, and the reason in words.
struct FormChoice {
  CoreForm form;
  std::string reason;
};
[[nodiscard]] FormChoice choose_form(const Model& model, CoreForm wanted);

/// Bytes of a model's numbers. A posterior keeps a copy of its model.
[[nodiscard]] double model_memory(const Model& model);

/// Bytes that a core of this form takes beyond the models while an engine runs, to within a factor of about 1.5.
[[nodiscard]] double core_memory(const Model& model, CoreForm form);

/// The core of a model. The model must outlive it.
[[nodiscard]] std::unique_ptr<GaussianCore> make_core(const Model& model, CoreForm form, int threads);

/// Predicts all points in blocks of bounded memory.
[[nodiscard]] Marginals predict_in_blocks(Index count, Index train_rows,
                                          const std::function<void(Index, Index, Vector&, Vector&)>& block);

}  // namespace gaussmith
