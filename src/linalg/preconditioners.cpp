#include "linalg/preconditioners.hpp"

#include "gaussmith/random.hpp"
#include "linalg/dense.hpp"
#include "linalg/incomplete_cholesky.hpp"
#include "linalg/lanczos.hpp"
#include "linalg/serial_blas.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace gaussmith {

namespace {

/// The residual of a Ritz pair, beside its value, up to which it counts as found.
constexpr double largest_ritz_residual = 0.1;

Vector positive_or_one(const Vector& diagonal) {
  return diagonal.unaryExpr([](double value) { return value > 0.0 && std::isfinite(value) ? value : 1.0; });
}

struct Block {
  std::vector<Index> indices;
  Matrix lower;  ///< Its Cholesky factor.
};

}  // namespace

LinearMap diagonal_preconditioner(const Vector& diagonal) {
  return [inverse = Vector(positive_or_one(diagonal).cwiseInverse())](const Matrix& x) -> Matrix {
    return inverse.asDiagonal() * x;
  };
}

std::vector<std::vector<Index>> contiguous_blocks(Index size, Index length) {
  std::vector<std::vector<Index>> out;
  for (Index i = 0; i < size; ++i) {
    if (i % length == 0) out.emplace_back();
    out.back().push_back(i);
  }
  return out;
}

LinearMap block_preconditioner(const SparseMatrix& a, const std::vector<std::vector<Index>>& blocks) {
  auto factors = std::make_shared<std::vector<Block>>();
  std::vector<Index> place(static_cast<std::size_t>(a.cols()), -1);  // Within the block at hand.
  for (const std::vector<Index>& indices : blocks) {
    const auto size = static_cast<Index>(indices.size());
    for (Index i = 0; i < size; ++i) place[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])] = i;
    Matrix block = Matrix::Zero(size, size);
    for (Index i = 0; i < size; ++i)
      for (SparseMatrix::InnerIterator it(a, indices[static_cast<std::size_t>(i)]); it; ++it) {
        const Index j = place[static_cast<std::size_t>(it.col())];
        if (j >= 0) block(i, j) += it.value();
      }
    for (const Index i : indices) place[static_cast<std::size_t>(i)] = -1;
    Matrix lower = block;
    if (!cholesky(lower)) lower = positive_or_one(block.diagonal()).cwiseSqrt().asDiagonal();
    factors->push_back({indices, std::move(lower)});
  }
  return [factors](const Matrix& x) -> Matrix {
    Matrix out(x.rows(), x.cols());
    for (const Block& block : *factors) {
      Matrix part = x(block.indices, Eigen::all);
      solve_lower(block.lower, part);
      solve_lower_transposed(block.lower, part);
      out(block.indices, Eigen::all) = part;
    }
    return out;
  };
}

LinearMap incomplete_cholesky_preconditioner(const SparseMatrix& a) {
  return [factor = std::make_shared<const IncompleteCholesky>(a)](const Matrix& x) { return factor->solve(x); };
}

LinearMap low_rank_preconditioner(const Vector& diagonal, const Matrix& u) {
  const Vector inverse = positive_or_one(diagonal).cwiseInverse();
  const Matrix scaled = inverse.cwiseSqrt().asDiagonal() * u;
  Matrix lower = Matrix::Identity(u.cols(), u.cols());
  add_gram(1.0, scaled, 1.0, lower);
  if (!cholesky(lower)) return diagonal_preconditioner(diagonal);
  // D^-1 U L^-T, so that a product takes one matrix.
  auto factor = std::make_shared<Matrix>((inverse.asDiagonal() * u).transpose());
  solve_lower(lower, *factor);
  return [inverse, factor](const Matrix& x) -> Matrix {
    Matrix out = inverse.asDiagonal() * x;
    out.noalias() -= factor->transpose() * (*factor * x);
    return out;
  };
}

SolvedFirst::SolvedFirst(std::vector<Index> indices, const Matrix& columns) : indices_(std::move(indices)) {
  Matrix block = columns(indices_, Eigen::all);
  if (!block.allFinite() || !cholesky(block)) return;
  lower_ = std::move(block);
  columns_ = columns;
  serial::solve_right(1.0, lower_, As::transposed, columns_);
}

Matrix SolvedFirst::times(const Vector& inverse_diagonal, const Matrix& x) const {
  Matrix seen = x(indices_, Eigen::all);
  serial::solve_left(1.0, lower_, As::is, seen);
  Matrix out = x;
  serial::add_product(-1.0, columns_, As::is, seen, As::is, 1.0, out);
  out = inverse_diagonal.asDiagonal() * out;
  serial::add_product(-1.0, columns_, As::transposed, out, As::is, 1.0, seen);
  serial::solve_left(1.0, lower_, As::transposed, seen);
  for (std::size_t k = 0; k < indices_.size(); ++k) out.row(indices_[k]) += seen.row(static_cast<Index>(k));
  return out;
}

LinearMap solved_first_preconditioner(const Vector& diagonal, std::shared_ptr<const SolvedFirst> first) {
  if (!first || !first->exists()) return diagonal_preconditioner(diagonal);
  return [inverse = Vector(positive_or_one(diagonal).cwiseInverse()), first = std::move(first)](const Matrix& x) {
    return first->times(inverse, x);
  };
}

LinearMap spectral_preconditioner(const LinearMap& a, const Vector& diagonal, Index steps, std::uint64_t seed) {
  const Vector scale = positive_or_one(diagonal).cwiseSqrt().cwiseInverse();
  const auto scaled = [&](const Vector& x) -> Vector { return scale.asDiagonal() * a(scale.asDiagonal() * x); };
  Random random(seed);
  Vector start(scale.size());
  for (double& value : start) value = random.normal();
  // One step more tells what the others leave.
  const LanczosBasis krylov = lanczos(scaled, start, steps + 1);
  const Index used = std::min(steps, krylov.basis.cols());
  const double rest = krylov.basis.cols() > used ? krylov.projected(used, used - 1) : 0.0;
  const SymmetricEigen ritz = symmetric_eigen(krylov.projected.topLeftCorner(used, used));
  std::vector<Index> found;
  double others = 0.0;
  for (Index j = 0; j < used; ++j) {
    if (!(ritz.values(j) > 0.0)) continue;
    if (std::abs(rest * ritz.vectors(used - 1, j)) <= largest_ritz_residual * ritz.values(j))
      found.push_back(j);
    else
      others += ritz.values(j);
  }
  const auto left = static_cast<double>(used) - static_cast<double>(found.size());
  const double goal = others > 0.0 ? others / left : 1.0;
  const auto vectors = std::make_shared<const Matrix>(krylov.basis.leftCols(used) * ritz.vectors(Eigen::all, found));
  const Vector change = goal * ritz.values(found).cwiseInverse().array() - 1.0;
  return [scale, vectors, change](const Matrix& x) -> Matrix {
    Matrix out = scale.asDiagonal() * x;
    const Matrix inner = change.asDiagonal() * (vectors->transpose() * out);
    out.noalias() += *vectors * inner;
    return scale.asDiagonal() * out;
  };
}

}  // namespace gaussmith
