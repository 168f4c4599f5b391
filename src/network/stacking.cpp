#include "network/stacking.hpp"

#include <cmath>

namespace gaussmith {

namespace {

constexpr int most_steps = 1000;
constexpr double settled = 1e-8;
constexpr double negligible = 1e-3;

}  // namespace

Vector stacking_weights(const Matrix& log_density) {
  const Index parts = log_density.cols();
  Vector weights = Vector::Constant(parts, 1.0 / static_cast<double>(parts));
  // Densities of a row over the largest of them: the same optimum.
  Matrix density(log_density.rows(), parts);
  Index rows = 0;
  for (Index i = 0; i < log_density.rows(); ++i)
    if (log_density.row(i).allFinite())
      density.row(rows++) = (log_density.row(i).array() - log_density.row(i).maxCoeff()).exp();
  if (rows == 0 || parts == 1) return weights;
  for (int step = 0; step < most_steps; ++step) {
    const Vector mixture = density.topRows(rows) * weights;
    const Vector next =
        weights.cwiseProduct(density.topRows(rows).transpose() * mixture.cwiseInverse()) / static_cast<double>(rows);
    const double change = (next - weights).cwiseAbs().maxCoeff();
    weights = next;
    if (change < settled) break;
  }
  weights = (weights.array() < negligible * weights.maxCoeff()).select(0.0, weights);
  return weights / weights.sum();
}

}  // namespace gaussmith
