#include "engines/anderson.hpp"

#include <Eigen/QR>

namespace gaussmith {

namespace {

/// Directions that contribute less than this are noise of earlier ones.
constexpr double smallest_pivot = 1e-10;

}  // namespace

void AndersonMixing::clear() {
  points_.clear();
  residuals_.clear();
}

Vector AndersonMixing::next(const Vector& x, const Vector& f, const Vector& weight, double damping) {
  Vector step = damping * f;
  const auto past = static_cast<Index>(points_.size());
  if (past > 0) {
    Matrix differences(f.size(), past);
    for (Index i = 0; i < past; ++i)
      differences.col(i) = weight.cwiseProduct(f - residuals_[static_cast<std::size_t>(i)]);
    Eigen::ColPivHouseholderQR<Matrix> qr;
    qr.setThreshold(smallest_pivot);
    const Vector gamma = qr.compute(differences).solve(weight.cwiseProduct(f));
    for (Index i = 0; i < past; ++i) {
      const auto k = static_cast<std::size_t>(i);
      step -= gamma(i) * ((x - points_[k]) + damping * (f - residuals_[k]));
    }
  }
  points_.push_front(x);
  residuals_.push_front(f);
  if (static_cast<int>(points_.size()) > depth_) {
    points_.pop_back();
    residuals_.pop_back();
  }
  return x + step;
}

}  // namespace gaussmith
