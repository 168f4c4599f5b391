#pragma once
// The core of rows with several latents: coordinates are the dual a, N C numbers, eta = m0 + K a. How K and the sites'
// blocks are factorised is the business of a JointFactor, chosen by their structure.

#include "gaussian/core.hpp"
#include "gaussian/joint_factor.hpp"

namespace gaussmith {

class JointCore final : public GaussianCore {
 public:
  JointCore(std::shared_ptr<const JointPrior> prior, const Vector& offset);

  [[nodiscard]] const JointPrior& prior() const { return *prior_; }
  /// How the last sites were factorised, for reports.
  [[nodiscard]] std::string description() const override { return factor_ ? factor_->describe() : std::string(); }

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override { return prior_->variances(); }
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override { return {factor_->half_log_det()}; }
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  [[nodiscard]] ParameterGradient prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                 const Vector& implicit) const override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

  /// The dual (I + T K)^-1 r of a right-hand side, stacked.
  [[nodiscard]] Vector dual_of(const Vector& r) const;

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] const Vector& row_covariances() const override { return covariances_; }
  [[nodiscard]] Vector dual(const LatentPoint& at) const override { return at.coordinates; }
  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 private:
  std::shared_ptr<const JointPrior> prior_;
  std::shared_ptr<JointFactor> factor_;  // Shared with the laws made of it.
  Vector covariances_;
};

}  // namespace gaussmith
