#include "gaussian/root_factor.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/tiled.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace gaussmith {

namespace {

/// Columns that are solved for together.
constexpr Index column_block = 32;

double flops(Index a, Index b, Index c) {
  return 2.0 * static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// op(a) b by slices, whatever the number of threads.
Matrix sliced(const Matrix& a, As as, const Matrix& b) {
  Matrix out(as == As::is ? a.rows() : a.cols(), b.cols());
  tiled::set_product(a, as, b, As::is, out, threads_for(flops(a.rows(), a.cols(), b.cols())));
  return out;
}

}  // namespace

RootFactor::RootFactor(std::shared_ptr<const JointPrior> prior) : prior_(std::move(prior)) {}

std::string RootFactor::describe() const {
  return fmt::format("a factorisation of order {} ({} weights of {} functions)", order(), rank(), width());
}

Eigen::Map<const Matrix> RootFactor::precision(Index n) const {
  return {precision_.data() + n * functions() * functions(), functions(), functions()};
}

Matrix RootFactor::weights(const Matrix& left, const Matrix& right) const {
  Matrix out(rows(), left.cols() * right.cols());
  for (Index n = 0; n < rows(); ++n)
    out.row(n) = Matrix(left.transpose() * precision(n) * right).reshaped().transpose();
  return out;
}

void RootFactor::set_grams(const Matrix& weights, Index block_rows, bool lower_alone, Matrix& out) const {
  if (weights.cols() == 0) return out.resize(0, lower_alone ? 0 : functions() * rank());
  const Matrix& g = prior_->root();
  out.resize(block_rows * rank(), weights.cols() / block_rows * rank());
  const double work = flops(rows(), rank(), rank()) * static_cast<double>(weights.cols());
  parallel_blocks(weights.cols(), 1, threads_for(work), [&](Index entry, Index /*end*/) {
    const Index i = entry % block_rows;
    const Index j = entry / block_rows;
    if (lower_alone && i < j) return;
    const Matrix scaled = weights.col(entry).asDiagonal() * g;
    serial::add_product(1.0, g, As::transposed, scaled, As::is, 0.0, out.block(i * rank(), j * rank(), rank(), rank()));
  });
}

bool RootFactor::factorise(const SiteApproximation& sites) {
  if (!sites.precision.allFinite()) return false;
  precision_ = sites.precision;
  seen_ = seen_functions(prior_->latent_covariance(), basis_for(sites));
  set_grams(weights(seen_.half, seen_.half), width(), true, lower_);
  lower_.diagonal().array() += 1.0;
  return tiled::cholesky(lower_, threads_for(flops(order(), order(), order()) / 6.0));
}

double RootFactor::half_log_det() const { return half_log_determinant(lower_); }

Matrix RootFactor::dual(const Matrix& r) const {
  // (I + T K)^-1 = I - T V.
  const Matrix& g = prior_->root();
  Matrix seen = sliced(g, As::transposed, r * seen_.half);
  Vector u = seen.reshaped();
  solve_lower(lower_, u);
  solve_lower_transposed(lower_, u);
  const Matrix moved = sliced(g, As::is, u.reshaped(rank(), width())) * seen_.half.transpose();
  Matrix out = r;
  for (Index n = 0; n < rows(); ++n) out.row(n) -= moved.row(n) * precision(n);
  return out;
}

Matrix RootFactor::half_solved(const Matrix& g) const {
  const Index count = g.cols();
  Matrix out = Matrix::Zero(order(), width() * count);
  for (Index a = 0; a < width(); ++a) {
    // Nothing comes before the rows of entry a.
    const Index at = a * rank();
    auto block = out.block(at, a * count, order() - at, count);
    block.topRows(rank()) = g;
    serial::solve_left(1.0, lower_.bottomRightCorner(order() - at, order() - at), As::is, block);
  }
  return out;
}

Vector RootFactor::covariances_of(const Matrix& g) const {
  const Index c_count = functions();
  const Index q = width();
  Vector out(g.cols() * c_count * c_count);
  const double work = flops(order(), order(), q * g.cols()) / 6.0;
  parallel_blocks(g.cols(), column_block, threads_for(work), [&](Index begin, Index end) {
    const Index count = end - begin;
    const Matrix solved = half_solved(g.middleCols(begin, count));
    Matrix block(q, q);
    for (Index m = 0; m < count; ++m) {
      for (Index a = 0; a < q; ++a)
        for (Index b = 0; b <= a; ++b) {
          const Index left = order() - a * rank();
          block(a, b) = block(b, a) = solved.col(a * count + m).tail(left).dot(solved.col(b * count + m).tail(left));
        }
      const double square = g.col(begin + m).squaredNorm();
      const Matrix whole = seen_.half * block * seen_.half.transpose() + square * seen_.left;
      out.segment((begin + m) * c_count * c_count, c_count * c_count) = whole.reshaped();
    }
  });
  return out;
}

Vector RootFactor::covariances() { return covariances_of(prior_->root().transpose()); }

Matrix RootFactor::kernel_precision(Index /*function*/) const {
  throw std::logic_error("a prior that is known by its root has no kernel");
}

Matrix RootFactor::latent_traces() const {
  // Z = T - T X A^-1 X'T, and tr(K^x Z^cc') = tr(G'Z^cc'G).
  const Index c_count = functions();
  Matrix crossed;  // X'T(G ⊗ I).
  set_grams(weights(seen_.half, Matrix::Identity(c_count, c_count)), width(), false, crossed);
  tiled::solve_left(lower_, As::is, crossed, threads_for(flops(order(), order(), crossed.cols()) / 2.0));
  const Vector squares = prior_->root().rowwise().squaredNorm();
  Matrix out = Matrix::Zero(c_count, c_count);
  for (Index n = 0; n < rows(); ++n) out += squares(n) * precision(n);
  const Eigen::Map<const Matrix> by_entry(crossed.data(), order() * rank(), c_count);
  Matrix reduced = Matrix::Zero(c_count, c_count);
  serial::add_square(1.0, by_entry, As::transposed, 0.0, reduced);
  mirror_lower(reduced);
  return out - reduced;
}

Vector RootFactor::reductions(const std::vector<CrossBlock>& points) const {
  const Index c_count = functions();
  const Matrix& g = points.front().whitened;
  Vector out = -covariances_of(g);
  for (Index m = 0; m < g.cols(); ++m)
    out.segment(m * c_count * c_count, c_count * c_count) +=
        g.col(m).squaredNorm() * prior_->latent_covariance().reshaped();
  return out;
}

Matrix RootFactor::joint_reduction(const std::vector<CrossBlock>& points) const {
  // K*'Z K* = (g ⊗ half)'(I - A^-1)(g ⊗ half).
  const Index c_count = functions();
  const Matrix& g = points.front().whitened;
  const Index count = g.cols();
  const Matrix solved = half_solved(g);
  Matrix seen(order(), count * c_count);
  Matrix plain(rank() * width(), count * c_count);
  for (Index m = 0; m < count; ++m) {
    Matrix own(order(), width());
    for (Index a = 0; a < width(); ++a) own.col(a) = solved.col(a * count + m);
    seen.middleCols(m * c_count, c_count) = own * seen_.half.transpose();
    for (Index a = 0; a < width(); ++a)
      plain.block(a * rank(), m * c_count, rank(), c_count) = g.col(m) * seen_.half.col(a).transpose();
  }
  Matrix out = Matrix::Zero(count * c_count, count * c_count);
  const int threads = threads_for(flops(order(), out.rows(), out.rows()) / 2.0);
  tiled::add_square(1.0, plain, As::transposed, 0.0, out, threads);
  tiled::add_square(-1.0, seen, As::transposed, 1.0, out, threads);
  mirror_lower(out);
  return out;
}

}  // namespace gaussmith
