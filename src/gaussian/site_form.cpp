#include "gaussian/site_form.hpp"

#include <Eigen/LU>

#include <limits>

namespace gaussmith {

Marginals cavities(const RowMarginals& rows, const Vector& precision, double power) {
  return cavities(rows, precision, Vector::Constant(precision.size(), power));
}

Marginals cavities(const RowMarginals& rows, const Vector& precision, const Vector& powers) {
  const bool some_left = rows.leftover.size() > 0;
  const Vector seen = some_left ? Vector(rows.variance - rows.leftover) : rows.variance;
  const auto v = seen.array();
  const Eigen::ArrayXd s = rows.share.array() + (1.0 - powers.array()) * precision.array() * v;
  Marginals out{rows.mean.array() - powers.array() * v * rows.dual.array() / s, v / s};
  if (some_left) out.variance += rows.leftover;
  return out;
}

Marginals joint_cavities(const RowMarginals& rows, const SiteApproximation& sites) {
  const Index c = sites.width;
  const Index square = c * c;
  Marginals out{Vector(rows.mean.size()), Vector(rows.mean.size()), Vector(rows.covariance.size())};
  for (Index n = 0; n < sites.rows(); ++n) {
    // Of what sites act upon.
    Matrix v = Eigen::Map<const Matrix>(rows.covariance.data() + n * square, c, c);
    if (rows.leftover.size() > 0) v -= Eigen::Map<const Matrix>(rows.leftover.data() + n * square, c, c);
    const Eigen::Map<const Matrix> t(sites.precision.data() + n * square, c, c);
    const Matrix left = Matrix::Identity(c, c) - t * v;
    Matrix cavity = left.transpose().partialPivLu().solve(v);
    cavity = 0.5 * (cavity + cavity.transpose()).eval();
    out.mean.segment(n * c, c) = rows.mean.segment(n * c, c) - cavity * rows.dual.segment(n * c, c);
    if (rows.leftover.size() > 0) cavity += Eigen::Map<const Matrix>(rows.leftover.data() + n * square, c, c);
    if (!(left.determinant() > 0.0) || !(cavity.diagonal().minCoeff() > 0.0)) {
      cavity.setConstant(std::numeric_limits<double>::quiet_NaN());
      out.mean.segment(n * c, c).setConstant(std::numeric_limits<double>::quiet_NaN());
    }
    Eigen::Map<Matrix>(out.covariance.data() + n * square, c, c) = cavity;
    out.variance.segment(n * c, c) = cavity.diagonal();
  }
  return out;
}

Vector precision_times(const SiteApproximation& sites, const Vector& eta) {
  const Index c = sites.width;
  if (c == 1) return sites.precision.cwiseProduct(eta);
  Vector out(eta.size());
  for (Index n = 0; n < eta.size() / c; ++n)  // The shifts may not be known yet.
    out.segment(n * c, c).noalias() =
        Eigen::Map<const Matrix>(sites.precision.data() + n * c * c, c, c) * eta.segment(n * c, c);
  return out;
}

Vector diagonals(const Vector& blocks, Index width) {
  if (width == 1) return blocks;
  const Index rows = blocks.size() / (width * width);
  Vector out(rows * width);
  for (Index n = 0; n < rows; ++n)
    out.segment(n * width, width) =
        Eigen::Map<const Matrix>(blocks.data() + n * width * width, width, width).diagonal();
  return out;
}

SiteApproximation between(const SiteApproximation& a, const SiteApproximation& b, double share) {
  return {a.precision + share * (b.precision - a.precision), a.shift + share * (b.shift - a.shift)};
}

}  // namespace gaussmith
