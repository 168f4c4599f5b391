#include "engines/anderson.hpp"

#include <Eigen/QR>

#include <utility>

namespace gaussmith {

namespace {

/// Columns of the least squares that are dependent to this accuracy count as one.
constexpr double dependent_columns = 1e-10;

}  // namespace

void Anderson::remember(Vector x, Vector f) {
  pairs_.push_back({std::move(x), std::move(f)});
  if (pairs_.size() > depth_) pairs_.pop_front();
}

Vector Anderson::next(const Vector& x, const Vector& f, const Vector& weights) const {
  Vector out = x + f;
  const auto count = static_cast<Index>(pairs_.size());
  if (count == 0) return out;
  // gamma minimises |W (f + dF gamma)|, and the next x is x + f + (dX + dF) gamma. Columns are scaled to one length, so
  // that pairs far away do not make near ones look dependent.
  Matrix df(x.size(), count);
  for (Index j = 0; j < count; ++j) df.col(j) = weights.cwiseProduct(pairs_[static_cast<std::size_t>(j)].f - f);
  const Vector length = df.colwise().norm().transpose().unaryExpr([](double l) { return l > 0.0 ? l : 1.0; });
  df = df * length.cwiseInverse().asDiagonal();
  Eigen::ColPivHouseholderQR<Matrix> qr;
  qr.setThreshold(dependent_columns);
  qr.compute(df);
  const Vector gamma = Vector(qr.solve(-weights.cwiseProduct(f))).cwiseQuotient(length);
  if (!gamma.allFinite()) return out;
  for (Index j = 0; j < count; ++j) {
    const Pair& pair = pairs_[static_cast<std::size_t>(j)];
    out += gamma(j) * (pair.x - x + pair.f - f);
  }
  return out;
}

}  // namespace gaussmith
