#include "linalg/log_determinant.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "linalg/lanczos.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index first_steps = 16;
/// The residual of a Ritz pair, beside its value, below which it is an eigenpair; its square is the error that it
/// makes.
constexpr double largest_ritz_residual = 1e-6;
/// A share of z that is rounding.
constexpr double smallest_rest = 1e-12;

/// sum_i s_1i^2 log theta_i of the leading `steps` x `steps` part of T; nothing where T is not positive definite.
std::optional<double> quadrature(const Matrix& t, Index steps) {
  const SymmetricEigen e = symmetric_eigen(t.topLeftCorner(steps, steps));
  if (!(e.values(0) > 0.0)) return std::nullopt;
  return e.vectors.row(0).cwiseAbs2().dot(Vector(e.values.array().log()));
}

/// Eigenpairs of B that Lanczos' recursion finds.
struct Eigenpairs {
  Matrix vectors;
  Vector values;
};

Eigenpairs outer_eigenpairs(const std::function<Vector(const Vector&)>& b, Index size, Index steps, Random& random) {
  if (steps < 1) return {Matrix(size, 0), Vector()};
  Vector start(size);
  for (double& value : start) value = random.normal();
  // One step more tells what the others leave.
  const LanczosBasis krylov = lanczos(b, start, steps + 1);
  const Index used = std::min(steps, krylov.basis.cols());
  const double rest = krylov.basis.cols() > used ? krylov.projected(used, used - 1) : 0.0;
  const SymmetricEigen ritz = symmetric_eigen(krylov.projected.topLeftCorner(used, used));
  std::vector<Index> found;
  for (Index j = 0; j < used; ++j)
    if (std::abs(rest * ritz.vectors(used - 1, j)) <= largest_ritz_residual * ritz.values(j)) found.push_back(j);
  return {krylov.basis.leftCols(used) * ritz.vectors(Eigen::all, found), ritz.values(found)};
}

/// The mean of the values and its standard error, with controls, one a column, whose true means are zero: values are
/// regressed on them, orthogonalised one against the other, and what controls tell of the mean is taken off.
std::pair<double, double> mean_with_controls(Vector values, Matrix controls) {
  const auto count = static_cast<double>(values.size());
  const auto centred = [](const Vector& x) -> Vector { return x.array() - x.mean(); };
  double freedom = count - 1.0;
  double leverage = 1.0 / count;
  for (Index c = 0; c < controls.cols(); ++c) {
    const Vector control = controls.col(c);
    const Vector spread = centred(control);
    const double squares = spread.squaredNorm();
    if (!(squares > smallest_rest * control.squaredNorm()) || freedom < 2.0) continue;
    values -= spread.dot(values) / squares * control;
    for (Index later = c + 1; later < controls.cols(); ++later)
      controls.col(later) -= spread.dot(controls.col(later)) / squares * control;
    freedom -= 1.0;
    leverage += control.mean() * control.mean() / squares;
  }
  return {values.mean(), std::sqrt(centred(values).squaredNorm() / freedom * leverage)};
}

}  // namespace

LogDeterminantEstimate log_determinant(const LinearMap& a, const Vector& diagonal,
                                       const LogDeterminantOptions& options) {
  if (options.probes < 3 || options.max_steps < 1)
    throw InvalidOption(fmt::format("log-determinant: {} probes and {} steps; at least 3 and 1 are needed",
                                    options.probes, options.max_steps));
  const Index size = diagonal.size();
  if (size == 0) return {};
  const Vector scale = diagonal.cwiseSqrt().cwiseInverse();
  const auto scaled = [&](const Vector& x) -> Vector { return scale.asDiagonal() * a(scale.asDiagonal() * x); };

  LogDeterminantEstimate out;
  Random random(options.seed);
  const Eigenpairs outer = outer_eigenpairs(scaled, size, options.deflation_steps, random);
  const Index most = std::min<Index>(options.max_steps, std::max<Index>(1, size - outer.values.size()));
  Vector values = Vector::Zero(options.probes);
  Matrix controls = Matrix::Zero(options.probes, 2);
  Index steps = std::min(first_steps, most);  // Probes are alike: each begins with what the last one took.
  for (Index k = 0; k < options.probes; ++k) {
    Vector z(size);
    for (double& sign : z) sign = random.bits() >> 63 == 0 ? -1.0 : 1.0;
    for (int twice = 0; twice < 2; ++twice) z -= outer.vectors * (outer.vectors.transpose() * z).eval();
    const double length = z.squaredNorm();
    controls(k, 0) = length - static_cast<double>(size - outer.values.size());
    if (length < smallest_rest * static_cast<double>(size)) continue;  // All eigenpairs are known.
    for (;; steps = std::min(2 * steps, most)) {
      const Matrix t = lanczos(scaled, z, steps).projected;
      const std::optional<double> value = quadrature(t, t.cols());
      if (!value) {
        out.positive = false;
        out.value = 0.0;
        return out;
      }
      values(k) = length * *value;
      // z'B z less its mean, with tr B = D.
      if (options.exact_diagonal) controls(k, 1) = length * t(0, 0) - (static_cast<double>(size) - outer.values.sum());
      out.steps = std::max(out.steps, static_cast<int>(t.cols()));
      const bool whole =
          t.cols() < steps || t.cols() == size - outer.values.size();  // The Krylov space has ended: no error is left.
      if (whole) break;
      // Leading parts of a positive definite T are positive definite.
      const Index fewer = 3 * steps / 4;
      if (fewer > 0 && std::abs(*quadrature(t, fewer) - *value) <= options.tolerance) break;
      if (steps == most) {
        out.settled = false;
        break;
      }
    }
  }
  const auto [mean, error] = mean_with_controls(values, controls);
  out.value = diagonal.array().log().sum() + outer.values.array().log().sum() + mean;
  out.standard_error = error;
  return out;
}

}  // namespace gaussmith
