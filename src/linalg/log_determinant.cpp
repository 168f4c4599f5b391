#include "linalg/log_determinant.hpp"

#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "linalg/lanczos.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index first_steps = 12;
constexpr Index probes_at_once = 16;
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

Eigenpairs outer_eigenpairs(const LinearMap& b, Index size, Index steps, Random& random) {
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

/// Lanczos' recursions from several vectors side by side, so that products come in blocks. Without orthogonalisation
/// against earlier vectors, eigenvalues of T repeat themselves where they have settled, and share their weight in the
/// quadrature, whose value that does not change.
class Recurrences {
 public:
  Recurrences(LinearMap b, Matrix starts) : b_(std::move(b)), now_(std::move(starts)) {
    for (Index k = 0; k < now_.cols(); ++k) {
      const double length = now_.col(k).norm();
      if (length > 0.0) now_.col(k) /= length;
      steps_.push_back(length > 0.0 ? most : 0);
    }
    before_ = Matrix::Zero(now_.rows(), now_.cols());
  }

  void advance_to(Index steps) {
    for (; done_ < steps; ++done_) {
      Matrix next = b_(now_);
      for (Index k = 0; k < next.cols(); ++k) {
        const double below = done_ > 0 ? off_diagonal_[static_cast<std::size_t>(done_ - 1)](k) : 0.0;
        next.col(k) -= below * before_.col(k);
      }
      Vector middle(next.cols());
      Vector length(next.cols());
      for (Index k = 0; k < next.cols(); ++k) {
        middle(k) = now_.col(k).dot(next.col(k));
        next.col(k) -= middle(k) * now_.col(k);
        length(k) = next.col(k).norm();
        const bool ended = !(length(k) > space_ended * std::abs(middle(k)));
        if (ended) steps_[static_cast<std::size_t>(k)] = std::min(steps_[static_cast<std::size_t>(k)], done_ + 1);
        next.col(k) *= ended ? 0.0 : 1.0 / length(k);
      }
      diagonal_.push_back(std::move(middle));
      off_diagonal_.push_back(std::move(length));
      before_ = std::exchange(now_, std::move(next));
    }
  }

  /// T of a vector.
  [[nodiscard]] Matrix projected(Index k) const {
    const Index size = std::min(done_, steps_[static_cast<std::size_t>(k)]);
    Matrix t = Matrix::Zero(size, size);
    for (Index i = 0; i < size; ++i) {
      t(i, i) = diagonal_[static_cast<std::size_t>(i)](k);
      if (i + 1 < size) t(i, i + 1) = t(i + 1, i) = off_diagonal_[static_cast<std::size_t>(i)](k);
    }
    return t;
  }

 private:
  static constexpr Index most = std::numeric_limits<Index>::max();
  static constexpr double space_ended = 1e-12;

  LinearMap b_;
  Matrix now_, before_;
  std::vector<Vector> diagonal_, off_diagonal_;  // By step.
  std::vector<Index> steps_;                     // That each vector's Krylov space has.
  Index done_ = 0;
};

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
  const LinearMap scaled = [&](const Matrix& x) -> Matrix { return scale.asDiagonal() * a(scale.asDiagonal() * x); };

  LogDeterminantEstimate out;
  Random random(options.seed);
  const Eigenpairs outer = outer_eigenpairs(scaled, size, options.deflation_steps, random);
  const Index rest = size - outer.values.size();
  const Index most = std::min<Index>(options.max_steps, std::max<Index>(1, rest));
  Vector values = Vector::Zero(options.probes);
  Matrix controls = Matrix::Zero(options.probes, 2);
  Vector left = Vector::Zero(options.probes);
  for (Index begin = 0; begin < options.probes; begin += probes_at_once) {
    Matrix z(size, std::min<Index>(probes_at_once, options.probes - begin));
    for (double& sign : z.reshaped()) sign = random_sign(random);
    for (int twice = 0; twice < 2; ++twice) z -= outer.vectors * (outer.vectors.transpose() * z).eval();
    const Vector lengths = z.colwise().squaredNorm();
    Recurrences lanczos(scaled, std::move(z));
    std::vector<bool> open(static_cast<std::size_t>(lengths.size()));
    for (Index k = 0; k < lengths.size(); ++k) {
      controls(begin + k, 0) = lengths(k) - static_cast<double>(rest);
      // Else all eigenpairs are known.
      open[static_cast<std::size_t>(k)] = lengths(k) >= smallest_rest * static_cast<double>(size);
    }
    for (Index steps = std::min(first_steps, most); std::any_of(open.begin(), open.end(), std::identity{});
         steps = std::min(steps + steps / 2, most)) {
      lanczos.advance_to(steps);
      for (Index k = 0; k < lengths.size(); ++k) {
        if (!open[static_cast<std::size_t>(k)]) continue;
        const Matrix t = lanczos.projected(k);
        const std::optional<double> value = quadrature(t, t.cols());
        if (!value) {
          out.positive = false;
          out.value = 0.0;
          return out;
        }
        values(begin + k) = lengths(k) * *value;
        // z'B z less its mean, with tr B = D.
        if (options.exact_diagonal)
          controls(begin + k, 1) = lengths(k) * t(0, 0) - (static_cast<double>(size) - outer.values.sum());
        out.steps = std::max(out.steps, static_cast<int>(t.cols()));
        // The Krylov space has ended: no error is left.
        const bool whole = t.cols() < steps || t.cols() == rest;
        // Leading parts of a positive definite T are positive definite.
        const Index fewer = 3 * steps / 4;
        const bool settled = whole || (fewer > 0 && std::abs(*quadrature(t, fewer) - *value) <= options.tolerance);
        if (!settled && steps == most) out.settled = false;
        if (!whole && fewer > 0) left(begin + k) = lengths(k) * std::abs(*quadrature(t, fewer) - *value);
        open[static_cast<std::size_t>(k)] = !settled && steps < most;
      }
    }
  }
  const auto [mean, error] = mean_with_controls(values, controls);
  out.value = diagonal.array().log().sum() + outer.values.array().log().sum() + mean;
  out.standard_error = error;
  out.unsettled = left.mean();
  return out;
}

}  // namespace gaussmith
