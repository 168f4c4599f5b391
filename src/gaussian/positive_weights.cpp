#include "gaussian/positive_weights.hpp"

#include "gaussian/site_form.hpp"
#include "model/tangent_sites.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>

namespace gaussmith {

namespace {

/// Blocks with the absolute values of their eigenvalues: a step along every direction of the block is then one uphill.
SiteApproximation positive_blocks(const Vector& eta, const Vector& first, const Vector& second, Index width) {
  SiteApproximation out{Vector(second.size()), Vector(eta.size()), width};
  const Index square = width * width;
  for (Index n = 0; n < out.rows(); ++n) {
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(
        Eigen::Map<const Matrix>(second.data() + n * square, width, width));
    Eigen::Map<Matrix>(out.precision.data() + n * square, width, width) =
        eigen.eigenvectors() * eigen.eigenvalues().cwiseAbs().asDiagonal() * eigen.eigenvectors().transpose();
  }
  out.shift = first + precision_times(out, eta);
  return out;
}

}  // namespace

SiteApproximation positive_weights(const SiteRows& sites, const Vector& eta, const Vector& first,
                                   const Vector& second) {
  if (sites.width() > 1) return positive_blocks(eta, first, second, sites.width());
  SiteApproximation out{Vector(eta.size()), Vector(eta.size())};
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const SiteTraits& traits = block.traits();
    if (traits.super_gaussian && !traits.log_concave) {
      const auto size = static_cast<std::size_t>(count);
      tangent_sites_at(block, begin, {eta.data() + row, size}, {out.precision.data() + row, size},
                       {out.shift.data() + row, size});
      sites.weigh(row, {out.precision.data() + row, size});
      sites.weigh(row, {out.shift.data() + row, size});
      return;
    }
    for (Index n = row; n < row + count; ++n) {
      out.precision(n) = std::max(0.0, -second(n));
      out.shift(n) = first(n) + out.precision(n) * eta(n);
    }
  });
  return out;
}

}  // namespace gaussmith
