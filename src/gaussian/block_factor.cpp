#include "gaussian/block_factor.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/seen_functions.hpp"
#include "gaussian/weak_sites.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/symmetric_eigen.hpp"
#include "linalg/tiled.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Rows, or points, that are worked on together.
constexpr Index row_block = 16;

/// Precisions of a row below this share of its largest one are rounding.
constexpr double no_precision = 4.0 * std::numeric_limits<double>::epsilon();

/// With a smaller share of the largest eigenvalue of Q'K^c Q dividing by it would lose more than a solve costs.
constexpr double smallest_share = 1e-6;

double product(Index a, Index b, Index c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

/// a(n, :) *= k(n) for the `width` numbers that every row has in a column.
template <class Column>
void scale_rows(Column&& column, Index width, const Eigen::Ref<const Vector>& k) {
  Eigen::Map<Matrix> numbers(column.data(), width, k.size());
  numbers.array().rowwise() *= k.transpose().array();
}

}  // namespace

BlockFactor::BlockFactor(std::shared_ptr<const JointPrior> prior)
    : prior_(std::move(prior)), basis_(Matrix::Identity(functions(), functions())) {}

std::string BlockFactor::describe() const {
  return fmt::format("a factorisation of order {} ({} rows of {} {})", order(), rows(), width(),
                     has_contrasts() ? "contrasts" : "functions");
}

bool BlockFactor::factorise(const SiteApproximation& sites) {
  if (!sites.precision.allFinite()) return false;
  inverse_.resize(0, 0);
  basis_ = basis_for(sites);
  const Vector lambda = set_roots(sites.precision);
  if (!lambda.allFinite()) return false;
  assemble();
  return tiled::cholesky(lower_, threads_for(product(order(), order(), order()) / 3.0)) && down_date(lambda);
}

Vector BlockFactor::set_roots(const Vector& precision) {
  const Index c_count = functions();
  const Index k = width();
  directions_.resize(c_count, order());
  Vector lambda(order());
  parallel_blocks(rows(), row_block, threads_for(20.0 * product(order(), k, k)), [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const Eigen::Map<const Matrix> t(precision.data() + n * c_count * c_count, c_count, c_count);
      const SymmetricEigen eigen = symmetric_eigen(basis_.transpose() * (0.5 * (t + t.transpose())) * basis_);
      const double rounding = no_precision * eigen.values.cwiseAbs().maxCoeff();
      lambda.segment(n * k, k) = (eigen.values.array().abs() > rounding).select(eigen.values, 0.0);
      directions_.middleCols(n * k, k) = basis_ * eigen.vectors;
    }
  });
  root_ = lambda.cwiseMax(0.0).cwiseSqrt();
  roots_ = root_.asDiagonal() * directions_.transpose();
  return lambda;
}

void BlockFactor::assemble() {
  const Index k = width();
  lower_.resize(order(), order());
  parallel_blocks(rows(), row_block, threads_for(product(order(), order(), functions())), [&](Index begin, Index end) {
    const Index top = begin * k;
    const Index left = rows() - begin;
    const auto below = roots_.bottomRows(order() - top);
    auto block = lower_.block(top, top, order() - top, (end - begin) * k);
    if (prior_->has_own_kernels()) {
      block.setZero();
      Vector column(order() - top);
      for (Index c = 0; c < functions(); ++c)
        for (Index j = begin; j < end; ++j) {
          column = below.col(c);
          scale_rows(column, k, prior_->kernel(c).col(j).tail(left));
          block.middleCols((j - begin) * k, k) += column * roots_.block(j * k, c, k, 1).transpose();
        }
    } else {
      const Matrix right = roots_.middleRows(top, (end - begin) * k) * prior_->latent_covariance();
      serial::add_product(1.0, below, As::is, right, As::transposed, 0.0, block);
      for (Index j = 0; j < block.cols(); ++j)
        scale_rows(block.col(j), k, prior_->kernel().col(begin + j / k).tail(left));
    }
    block.diagonal().array() += 1.0;
    // The columns of L^-1 that belong to a row are read as a rectangle.
    for (Index j = 0; j < block.cols(); ++j) block.col(j).head(j).setZero();
  });
}

Matrix BlockFactor::site_columns(const std::vector<Index>& row, const Matrix& x) const {
  const Index k = width();
  Matrix out = Matrix::Zero(order(), x.cols());
  if (!prior_->has_own_kernels())
    serial::add_product(1.0, roots_, As::is, prior_->latent_covariance() * x, As::is, 0.0, out);
  for (Index j = 0; j < x.cols(); ++j) {
    const Index n = row[static_cast<std::size_t>(j)];
    if (!prior_->has_own_kernels()) {
      scale_rows(out.col(j), k, prior_->kernel().col(n));
      continue;
    }
    for (Index c = 0; c < functions(); ++c) {
      Vector column = x(c, j) * roots_.col(c);
      scale_rows(column, k, prior_->kernel(c).col(n));
      out.col(j) += column;
    }
  }
  return out;
}

Matrix BlockFactor::contracted(const Matrix& a, const Vector& x) const {
  Matrix out(rows(), a.cols());
  for (Index j = 0; j < a.cols(); ++j)
    out.col(j) = Eigen::Map<const Matrix>(a.col(j).data(), functions(), rows()).transpose() * x;
  return out;
}

Matrix BlockFactor::prior_times(const Matrix& x) const {
  const int threads = threads_for(2.0 * product(rows(), rows(), x.cols()));
  Matrix out = Matrix::Zero(x.rows(), x.cols());
  Matrix part(rows(), x.cols());
  for (Index c = 0; c < functions(); ++c) {
    tiled::set_symmetric_product(prior_->kernel(c), contracted(x, Vector::Unit(functions(), c)), part, threads);
    for (Index j = 0; j < x.cols(); ++j) {
      Eigen::Map<Matrix> stacked(out.col(j).data(), functions(), rows());
      stacked += prior_->latent_covariance().col(c) * part.col(j).transpose();
    }
  }
  return out;
}

bool BlockFactor::down_date(const Vector& lambda) {
  const Index k = width();
  negative_.clear();
  std::vector<Index> entries;
  for (Index e = 0; e < lambda.size(); ++e) {
    if (!(lambda(e) < 0.0)) continue;
    entries.push_back(e);
    negative_.push_back(e / k);
  }
  if (entries.empty()) return true;
  negative_root_.resize(functions(), negatives());
  for (Index j = 0; j < negatives(); ++j) {
    const Index e = entries[static_cast<std::size_t>(j)];
    negative_root_.col(j) = std::sqrt(-lambda(e)) * directions_.col(e);
  }
  // F = U - R B^-1 R'K U and V+U = K F.
  const int threads = threads_for(product(order(), order(), negatives()));
  Matrix solved = site_columns(negative_, negative_root_);
  tiled::solve_left(lower_, As::is, solved, threads);
  tiled::solve_left(lower_, As::transposed, solved, threads);
  negative_dual_.resize(rows() * functions(), negatives());
  for (Index n = 0; n < rows(); ++n)
    negative_dual_.middleRows(n * functions(), functions()).noalias() =
        -(roots_.middleRows(n * k, k).transpose() * solved.middleRows(n * k, k));
  const auto row_of = [&](Index j) { return negative_[static_cast<std::size_t>(j)] * functions(); };
  for (Index j = 0; j < negatives(); ++j)
    negative_dual_.col(j).segment(row_of(j), functions()) += negative_root_.col(j);
  negative_cross_ = prior_times(negative_dual_);
  negative_lower_.resize(negatives(), negatives());
  for (Index i = 0; i < negatives(); ++i)
    negative_lower_.row(i) = -(negative_root_.col(i).transpose() * negative_cross_.middleRows(row_of(i), functions()));
  negative_lower_.diagonal().array() += 1.0;
  return tiled::cholesky(negative_lower_, threads_for(product(negatives(), negatives(), negatives()) / 3.0));
}

Matrix BlockFactor::negative_half(const Matrix& a) const {
  Matrix out = a.transpose();
  tiled::solve_left(negative_lower_, As::is, out, threads_for(product(negatives(), negatives(), out.cols())));
  return out;
}

double BlockFactor::half_log_det() const {
  return half_log_determinant(lower_) + (negative_.empty() ? 0.0 : half_log_determinant(negative_lower_));
}

Matrix BlockFactor::dual(const Matrix& r) const {
  // Every row of r is R x + w, w along directions with next to no precision and, beside contrasts, along 1.
  // (I + R R'K)^-1 (R x + w) = w + R B^-1 (x - R'K w).
  const Index k = width();
  Vector x = Vector::Zero(order());
  Matrix rest = Matrix::Zero(rows(), functions());
  for (Index n = 0; n < rows(); ++n) {
    if (has_contrasts()) rest.row(n).setConstant(r.row(n).mean());
    for (Index e = n * k; e < (n + 1) * k; ++e) {
      const double along = r.row(n).dot(directions_.col(e));
      if (root_(e) > smallest_root)
        x(e) = along / root_(e);
      else
        rest.row(n) += along * directions_.col(e).transpose();
    }
  }
  if (!rest.isZero(0.0)) {
    const Matrix moved = prior_->times(rest);
    for (Index n = 0; n < rows(); ++n) x.segment(n * k, k) -= roots_.middleRows(n * k, k) * moved.row(n).transpose();
  }
  solve_lower(lower_, x);
  solve_lower_transposed(lower_, x);
  for (Index n = 0; n < rows(); ++n) rest.row(n) += x.segment(n * k, k).transpose() * roots_.middleRows(n * k, k);
  if (negative_.empty()) return rest;
  // Woodbury on the negative part: a + F C^-1 (V+U)'r.
  Vector correction = negative_cross_.transpose() * stacked(r);
  solve_lower(negative_lower_, correction);
  solve_lower_transposed(negative_lower_, correction);
  return rest + by_function(negative_dual_ * correction, functions());
}

Matrix BlockFactor::prior_block(Index n) const {
  if (!prior_->has_own_kernels()) return prior_->kernel()(n, n) * prior_->latent_covariance();
  Vector diagonal(functions());
  for (Index c = 0; c < functions(); ++c) diagonal(c) = prior_->kernel(c)(n, n);
  return diagonal.asDiagonal();
}

BlockFactor::Whole BlockFactor::whole() const {
  const Index c_count = functions();
  if (!has_contrasts()) return {Matrix::Identity(c_count, c_count), Matrix::Zero(c_count, c_count)};
  if (prior_->has_own_kernels()) return {};
  const SeenFunctions seen = seen_functions(prior_->latent_covariance(), basis_);
  if (seen.values.size() < width() || !(seen.values(0) > smallest_share * seen.values(width() - 1))) return {};
  return {seen.half * seen.values.cwiseSqrt().cwiseInverse().asDiagonal() * seen.along.transpose(), seen.left};
}

void BlockFactor::set_seen(Index begin, Index end, const Whole& whole, Vector& blocks) const {
  const Index k = width();
  const Index c_count = functions();
  std::vector<Index> place(static_cast<std::size_t>((end - begin) * k), -1);  // Of weak directions among the solved.
  std::vector<Index> weak, weak_rows;
  for (Index n = begin; n < end; ++n) {
    const Matrix prior = prior_block(n);
    for (Index e = n * k; e < (n + 1) * k; ++e) {
      const double variance = directions_.col(e).dot(prior * directions_.col(e));
      if (root_(e) * root_(e) * variance >= weak_site) continue;
      place[static_cast<std::size_t>(e - begin * k)] = static_cast<Index>(weak.size());
      weak.push_back(e);
      weak_rows.push_back(n);
    }
  }
  Matrix along(c_count, static_cast<Index>(weak.size()));
  for (Index j = 0; j < along.cols(); ++j) along.col(j) = directions_.col(weak[static_cast<std::size_t>(j)]);
  Matrix solved = site_columns(weak_rows, along);  // y = L^-1 R'K e.
  serial::solve_left(1.0, lower_, As::is, solved);

  Matrix seen(k, k), squares(k, k), out(c_count, c_count);
  for (Index n = begin; n < end; ++n) {
    const Index at = n * k;
    const Index left = order() - at;
    const auto strong = inverse_.block(at, at, left, k);
    const Matrix prior = directions_.middleCols(at, k).transpose() * prior_block(n) * directions_.middleCols(at, k);
    serial::add_square(1.0, strong, As::transposed, 0.0, squares);
    for (Index a = 0; a < k; ++a)
      for (Index b = 0; b <= a; ++b) {
        const Index place_a = place[static_cast<std::size_t>(at + a - begin * k)];
        const Index place_b = place[static_cast<std::size_t>(at + b - begin * k)];
        const double identity = a == b ? 1.0 : 0.0;
        if (place_a < 0 && place_b < 0)
          seen(a, b) = (identity - squares(a, b)) / (root_(at + a) * root_(at + b));
        else if (place_a < 0)  // B^-1 R'K e for one weak e.
          seen(a, b) = solved.col(place_b).tail(left).dot(strong.col(a)) / root_(at + a);
        else if (place_b < 0)
          seen(a, b) = solved.col(place_a).tail(left).dot(strong.col(b)) / root_(at + b);
        else
          seen(a, b) = prior(a, b) - solved.col(place_a).dot(solved.col(place_b));
      }
    mirror_lower(seen);
    const Matrix up = whole.weights * directions_.middleCols(at, k);
    out = up * seen * up.transpose() + prior_->kernel()(n, n) * whole.left;
    blocks.segment(n * c_count * c_count, c_count * c_count) = out.reshaped();
  }
}

Vector BlockFactor::covariances() {
  const Index c_count = functions();
  const Whole way = whole();
  Vector blocks(rows() * c_count * c_count);
  if (way.weights.size() == 0) {
    blocks = -reductions_of(kernels());
    for (Index n = 0; n < rows(); ++n)
      blocks.segment(n * c_count * c_count, c_count * c_count) += prior_block(n).reshaped();
  } else {
    if (inverse_.size() == 0) {
      inverse_ = lower_;
      tiled::invert_lower(inverse_, threads_for(product(order(), order(), order()) / 3.0));
    }
    parallel_blocks(rows(), row_block, threads_for(product(order(), order(), width())),
                    [&](Index begin, Index end) { set_seen(begin, end, way, blocks); });
    if (!negative_.empty()) {
      const Matrix update = negative_half(negative_cross_);
      for (Index n = 0; n < rows(); ++n) {
        const auto part = update.middleCols(n * c_count, c_count);
        blocks.segment(n * c_count * c_count, c_count * c_count) += Matrix(part.transpose() * part).reshaped();
      }
    }
  }
  // Rounding can leave -1e-17 where the data pin a function down completely; a variance is not negative.
  for (Index n = 0; n < rows(); ++n)
    for (Index c = 0; c < c_count; ++c) {
      double& variance = blocks((n * c_count + c) * c_count + c);
      variance = std::max(0.0, variance);
    }
  return blocks;
}

const Matrix& BlockFactor::inverse(Matrix& storage) const {
  if (inverse_.size() > 0) return inverse_;
  storage = lower_;
  tiled::invert_lower(storage, threads_for(product(order(), order(), order()) / 3.0));
  return storage;
}

Matrix BlockFactor::contracted_root(const Matrix& inverse, const Vector& x) const {
  const Index k = width();
  const Vector along = roots_ * x;
  Matrix out = Matrix::Zero(order(), rows());
  parallel_blocks(rows(), row_block, threads_for(product(order(), order(), 1)), [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      const Index left = order() - n * k;
      // Columns of a triangle: the first k entries have zeros among them.
      for (Index a = 0; a < k; ++a)
        out.col(n).tail(left - a) += along(n * k + a) * inverse.col(n * k + a).tail(left - a);
    }
  });
  return out;
}

Matrix BlockFactor::kernel_precision(Index function) const {
  Matrix vectors;
  if (prior_->has_own_kernels()) {
    vectors = Vector::Unit(functions(), function);
  } else {
    // K^c = sum r r' in the basis, and Z+ between r and r is a square.
    const SeenFunctions seen = seen_functions(prior_->latent_covariance(), basis_);
    vectors = seen.along * seen.values.cwiseSqrt().asDiagonal();
  }
  Matrix storage;
  const Matrix& inverted = inverse(storage);
  Matrix out = Matrix::Zero(rows(), rows());
  Matrix duals;
  if (!negative_.empty()) duals = negative_half(negative_dual_).transpose();
  for (Index d = 0; d < vectors.cols(); ++d) {
    tiled::add_square(1.0, contracted_root(inverted, vectors.col(d)), As::transposed, 1.0, out,
                      threads_for(product(rows(), rows(), order())));
    if (!negative_.empty())
      tiled::add_square(-1.0, contracted(duals, vectors.col(d)), As::is, 1.0, out,
                        threads_for(product(rows(), rows(), negatives())));
  }
  return out;
}

Matrix BlockFactor::latent_traces() const {
  // tr(K Z^cc') = tr(A_c K A_c'') for Z^cc' = A_c'A_c', in the basis.
  const Index k = width();
  Matrix storage;
  const Matrix& inverted = inverse(storage);
  const Matrix& kernel = prior_->kernel();
  const auto traces = [&](const Matrix& all) {
    const Index height = all.rows() / rows();
    const int threads = threads_for(2.0 * product(rows(), rows(), height));
    Matrix out(k, k);
    Matrix moved(rows(), height);
    for (Index d = 0; d < k; ++d) {
      tiled::set_symmetric_product(kernel, Eigen::Map<const Matrix>(all.col(d).data(), rows(), height), moved, threads);
      out.col(d) = all.transpose() * moved.reshaped();
    }
    return out;
  };
  Matrix all(rows() * order(), k);
  for (Index d = 0; d < k; ++d) all.col(d) = contracted_root(inverted, basis_.col(d)).transpose().reshaped();
  Matrix sum = traces(all);
  if (!negative_.empty()) {
    const Matrix duals = negative_half(negative_dual_).transpose();
    all.resize(rows() * negatives(), k);
    for (Index d = 0; d < k; ++d) all.col(d) = contracted(duals, basis_.col(d)).reshaped();
    sum -= traces(all);
  }
  return basis_ * (0.5 * (sum + sum.transpose())) * basis_.transpose();
}

BlockFactor::Crosses BlockFactor::kernels() const {
  Crosses out;
  for (Index c = 0; c < (prior_->has_own_kernels() ? functions() : 1); ++c) out.push_back(&prior_->kernel(c));
  return out;
}

BlockFactor::Crosses BlockFactor::crosses(const std::vector<CrossBlock>& points) const {
  Crosses out;
  for (const CrossBlock& block : points) out.push_back(&block.covariance);
  return out;
}

Matrix BlockFactor::lift() const {
  if (prior_->has_own_kernels()) return Matrix::Identity(functions(), functions());
  return basis_.transpose() * prior_->latent_covariance();
}

Matrix BlockFactor::cross_columns(const Crosses& cross, Index begin, Index end) const {
  const bool own = prior_->has_own_kernels();
  const Matrix columns = own ? roots_ : Matrix(roots_ * basis_);
  Matrix out(order(), (end - begin) * columns.cols());
  for (Index m = begin; m < end; ++m)
    for (Index d = 0; d < columns.cols(); ++d) {
      auto column = out.col((m - begin) * columns.cols() + d);
      column = columns.col(d);
      scale_rows(column, width(), cross[own ? static_cast<std::size_t>(d) : 0]->col(m));
    }
  return out;
}

Matrix BlockFactor::negative_columns(const Crosses& cross, Index begin, Index end) const {
  const Index c_count = functions();
  Matrix out(negatives(), (end - begin) * c_count);
  out.setZero();
  for (Index c = 0; c < c_count; ++c) {
    const Matrix dual = contracted(negative_dual_, Vector::Unit(c_count, c));
    const Matrix& points = *cross[prior_->has_own_kernels() ? static_cast<std::size_t>(c) : 0];
    Matrix part(negatives(), end - begin);
    serial::add_product(1.0, dual, As::transposed, points.middleCols(begin, end - begin), As::is, 0.0, part);
    for (Index m = 0; m < end - begin; ++m)
      out.middleCols(m * c_count, c_count) += part.col(m) * prior_->latent_covariance().row(c);
  }
  serial::solve_left(1.0, negative_lower_, As::is, out);
  return out;
}

Vector BlockFactor::reductions_of(const Crosses& cross) const {
  const Index count = cross.front()->cols();
  const Index c_count = functions();
  const Matrix up = lift();
  Vector out(count * c_count * c_count);
  const double flops = product(order(), order(), count * up.rows());
  parallel_blocks(count, row_block, threads_for(flops), [&](Index begin, Index end) {
    Matrix columns = cross_columns(cross, begin, end);
    serial::solve_left(1.0, lower_, As::is, columns);
    Matrix negative;
    if (!negative_.empty()) negative = negative_columns(cross, begin, end);
    for (Index m = begin; m < end; ++m) {
      const auto own = columns.middleCols((m - begin) * up.rows(), up.rows());
      Matrix block = up.transpose() * (own.transpose() * own) * up;
      if (!negative_.empty()) {
        const auto part = negative.middleCols((m - begin) * c_count, c_count);
        block -= part.transpose() * part;
      }
      out.segment(m * c_count * c_count, c_count * c_count) = block.reshaped();
    }
  });
  return out;
}

Vector BlockFactor::reductions(const std::vector<CrossBlock>& points) const { return reductions_of(crosses(points)); }

Matrix BlockFactor::joint_reduction(const std::vector<CrossBlock>& points) const {
  const Crosses cross = crosses(points);
  const Index count = cross.front()->cols();
  const Index c_count = functions();
  const Matrix up = lift();
  Matrix columns = cross_columns(cross, 0, count);
  tiled::solve_left(lower_, As::is, columns, threads_for(product(order(), order(), columns.cols())));
  Matrix lifted(order(), count * c_count);
  for (Index m = 0; m < count; ++m)
    lifted.middleCols(m * c_count, c_count).noalias() = columns.middleCols(m * up.rows(), up.rows()) * up;
  Matrix out = Matrix::Zero(count * c_count, count * c_count);
  const int threads = threads_for(product(order(), out.rows(), out.rows()));
  tiled::add_square(1.0, lifted, As::transposed, 0.0, out, threads);
  if (!negative_.empty()) tiled::add_square(-1.0, negative_columns(cross, 0, count), As::transposed, 1.0, out, threads);
  mirror_lower(out);
  return out;
}

}  // namespace gaussmith
