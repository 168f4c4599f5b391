#pragma once
// Inducing form of the core, for processes of thousands of rows: eta = m0 + A u + rest, u ~ N(0, I) the whitened values
// of the process at its M inducing inputs (InducingBasis). Sites act upon A u alone, so that q(u) is that of the
// precision form with G = A; a row's variance is that of A_n u and of the rest,
//   v_n = A_n Sigma A_n' + R_n,  Sigma = (I + A'T A)^-1,  R_n = k(x_n, x_n) - |A_n|^2,
// and the bound of kl is Titsias' (2009) for any site,
//   sum e_n(m_n, v_n) - 1/2 |u|^2 - 1/2 log|I + A'T A| + 1/2 sum tau_n (v_n - R_n).
// Cost: N M^2 a factorisation and N M^2 for all variances; memory N x M.

#include "gaussian/inducing_basis.hpp"
#include "gaussian/precision_core.hpp"

namespace gaussmith {

class InducingCore final : public PrecisionCore {
 public:
  /// The geometry is that of a basis.
  InducingCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  [[nodiscard]] const InducingBasis& basis() const { return *geometry_->basis(); }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] const Vector& leftover() const override { return leftover_; }
  [[nodiscard]] std::unique_ptr<SequentialGaussian> sweep(const LatentPoint& /*mean*/) const override {
    return nullptr;
  }
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  /// Of a bound that is stationary in q(u): through A and R, one row at a time; in the inputs where the model asks for
  /// that.
  [[nodiscard]] ParameterGradient prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                 const Vector& implicit) const override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

 protected:
  void find_variances(Vector& variance, Vector& share) override;

 private:
  /// Sigma.
  [[nodiscard]] Matrix covariance() const;
  /// B = u u' + A'T A + Sigma - I: the bound changes with k(z, z) by -1/2 tr(L^-T B L^-1 dk(z, z)).
  [[nodiscard]] Matrix pull(const Vector& u, const Matrix& covariance) const;

  Vector leftover_;  // R.
};

}  // namespace gaussmith
