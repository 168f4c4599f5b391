#include "model/operators/adjoint.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "gaussmith/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr Index pairs = 4;

Matrix normal_block(Index rows, Random& random) {
  Matrix out(rows, pairs);
  for (double& value : out.reshaped()) value = random.normal();
  return out;
}

}  // namespace

double adjoint_error(Index rows, Index cols, const LinearMap& times, const LinearMap& transposed_times,
                     std::uint64_t seed) {
  if (rows == 0 || cols == 0) return 0.0;
  Random random(seed);
  const Matrix x = normal_block(cols, random);
  const Matrix y = normal_block(rows, random);
  const Matrix hx = times(x);
  const Matrix hy = transposed_times(y);
  if (!hx.allFinite() || !hy.allFinite()) return std::numeric_limits<double>::infinity();
  // E (y'H x)^2 = |H|_F^2 = E |H x|^2 = E |H'y|^2. Dividing by |y| |H x| would hide errors from large operators.
  const double scale = std::sqrt(std::max(hx.squaredNorm(), hy.squaredNorm()) / static_cast<double>(pairs));
  double error = 0.0;
  for (Index k = 0; k < pairs; ++k)
    error = std::max(error, std::abs(y.col(k).dot(hx.col(k)) - x.col(k).dot(hy.col(k))));
  return error == 0.0 ? 0.0 : error / scale;
}

void refuse_adjoint_error(double error, double tolerance) {
  if (std::isinf(error)) throw InvalidModel("design: a product of the operator is not finite");
  if (error > tolerance)
    throw InvalidModel(
        fmt::format("design: the operator's apply_transposed is not the transpose of its apply: y'(H x) and x'(H'y) "
                    "differ by {:.2g} of their size; at most {:.2g} is accepted",
                    error, tolerance));
}

double adjoint_error(const LinearOperator& h, std::uint64_t seed) {
  const auto times = [&](const Matrix& x) {
    Matrix out(h.rows(), x.cols());
    h.apply(x, out);
    return out;
  };
  const auto transposed_times = [&](const Matrix& x) {
    Matrix out(h.cols(), x.cols());
    h.apply_transposed(x, out);
    return out;
  };
  return adjoint_error(h.rows(), h.cols(), times, transposed_times, seed);
}

void check_adjoint(const LinearOperator& h, std::uint64_t seed, double tolerance) {
  refuse_adjoint_error(adjoint_error(h, seed), tolerance);
}

}  // namespace gaussmith
