#include "engines/anderson.hpp"

#include <Eigen/QR>

namespace gaussmith {

namespace {

/// Columns of the least squares that are dependent to this accuracy count as one.
constexpr double dependent_columns = 1e-10;

}  // namespace

Vector Anderson::next(const Vector& x, const Vector& f, const Vector& weights) {
  steps_.push_back({x, f});
  if (steps_.size() > depth_ + 1) steps_.pop_front();
  Vector out = x + f;
  const auto count = static_cast<Index>(steps_.size()) - 1;
  if (count == 0) return out;
  // Differences of neighbours; gamma minimises |W (f - dF gamma)|, and the next x is x + f - (dX + dF) gamma.
  Matrix df(x.size(), count);
  for (Index j = 0; j < count; ++j) {
    const auto i = static_cast<std::size_t>(j);
    df.col(j) = weights.cwiseProduct(steps_[i + 1].f - steps_[i].f);
  }
  Eigen::ColPivHouseholderQR<Matrix> qr;
  qr.setThreshold(dependent_columns);
  qr.compute(df);
  const Vector gamma = qr.solve(weights.cwiseProduct(f));
  if (!gamma.allFinite()) return out;
  for (Index j = 0; j < count; ++j) {
    const auto i = static_cast<std::size_t>(j);
    out -= gamma(j) * (steps_[i + 1].x - steps_[i].x + steps_[i + 1].f - steps_[i].f);
  }
  return out;
}

}  // namespace gaussmith
