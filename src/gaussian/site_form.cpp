#include "gaussian/site_form.hpp"

namespace gaussmith {

Marginals cavities(const RowMarginals& rows, const Vector& precision, double power) {
  const auto v = rows.variance.array();
  const Eigen::ArrayXd s = rows.share.array() + (1.0 - power) * precision.array() * v;
  return {rows.mean.array() - power * v * rows.dual.array() / s, v / s};
}

Marginals cavities(const RowMarginals& rows, const Vector& precision, const Vector& powers) {
  const auto v = rows.variance.array();
  const Eigen::ArrayXd s = rows.share.array() + (1.0 - powers.array()) * precision.array() * v;
  return {rows.mean.array() - powers.array() * v * rows.dual.array() / s, v / s};
}

SiteApproximation between(const SiteApproximation& a, const SiteApproximation& b, double share) {
  return {a.precision + share * (b.precision - a.precision), a.shift + share * (b.shift - a.shift)};
}

}  // namespace gaussmith
