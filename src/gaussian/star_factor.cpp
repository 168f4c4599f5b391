#include "gaussian/star_factor.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/weak_sites.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/tiled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gaussmith {

namespace {

/// Columns that are worked on together: enough for BLAS, few enough that those of all functions stay in cache.
constexpr Index column_block = 32;

/// From this order on one function's factorisation keeps several threads busy. Below it functions go side by side,
/// whatever the number of threads, so that results do not depend on it.
constexpr Index tiled_order = 1000;

double cubed(Index n) { return std::pow(static_cast<double>(n), 3); }

/// The entries above the diagonal of `to` from those below that of `from`.
void store_above(const Matrix& from, Matrix& to) {
  constexpr Index tile = 64;
  const Index n = from.rows();
  for (Index j = 0; j < n; j += tile) {
    const Index width = std::min(tile, n - j);
    to.block(j, j, width, width).triangularView<Eigen::StrictlyUpper>() = from.block(j, j, width, width).transpose();
    for (Index i = j + width; i < n; i += tile) {
      const Index height = std::min(tile, n - i);
      to.block(j, i, width, height) = from.block(i, j, height, width).transpose();
    }
  }
}

}  // namespace

StarFactor::StarFactor(std::shared_ptr<const JointPrior> prior) : prior_(std::move(prior)) {}

std::string StarFactor::describe() const {
  return fmt::format("{} factorisations of order {} (independent functions, star sites)", functions() + 1, rows());
}

bool StarFactor::factorise(const SiteApproximation& sites) {
  if (sites.star.size() != rows() * functions()) throw std::logic_error("sites are not stars");
  return set_shares(sites.star) && factorise_functions() && factorise_sum();
}

bool StarFactor::set_shares(const Vector& star) {
  if (!star.allFinite() || (star.array() < 0.0).any()) return false;
  const Matrix pi = by_function(star, functions());
  const Vector total = pi.rowwise().sum();
  if (!total.allFinite()) return false;
  root_ = pi.cwiseSqrt();
  share_.resize(rows(), functions());
  for (Index n = 0; n < rows(); ++n) {
    // Nothing is seen of a row without a site, whatever its shares.
    if (total(n) > 0.0)
      share_.row(n) = (pi.row(n) / total(n)).cwiseSqrt();
    else
      share_.row(n) = Vector::Unit(functions(), 0).transpose();
  }
  return true;
}

bool StarFactor::factorise_functions() {
  const Index n = rows();
  const bool tiles = n >= tiled_order;
  const int threads = threads_for(static_cast<double>(functions()) * cubed(n));
  halves_.resize(static_cast<std::size_t>(functions()));
  inverse_diagonal_.resize(n, functions());
  std::vector<char> definite(static_cast<std::size_t>(functions()), 0);
  parallel_blocks(functions(), 1, tiles ? 1 : threads, [&](Index c, Index /*end*/) {
    const auto root = root_.col(c);
    const Matrix& kernel = prior_->kernel(c);
    Matrix& half = halves_[static_cast<std::size_t>(c)];
    half.resize(n, n);
    for (Index j = 0; j < n; ++j) {
      half.col(j).tail(n - j) = kernel.col(j).tail(n - j).cwiseProduct(root.tail(n - j)) * (prior_->scale(c) * root(j));
      half(j, j) += 1.0;
    }
    if (!(tiles ? tiled::cholesky(half, threads) : serial::cholesky(half))) return;
    Matrix inverse = half;
    if (tiles) {
      tiled::invert_lower(inverse, threads);
      tiled::lower_transposed_times_lower(inverse, threads);
    } else {
      serial::invert_lower(inverse);
      serial::lower_transposed_times_lower(inverse);
    }
    inverse_diagonal_.col(c) = inverse.diagonal();
    store_above(inverse, half);
    definite[static_cast<std::size_t>(c)] = 1;
  });
  return std::find(definite.begin(), definite.end(), 0) == definite.end();
}

void StarFactor::copy_inverse_below(Index function, Index begin, Index end, MatrixView out) const {
  const Matrix& half = halves_[static_cast<std::size_t>(function)];
  const Index width = end - begin;
  out = half.block(begin, begin, width, rows() - begin).transpose();
  for (Index j = 0; j < width; ++j) {
    out.col(j).head(j) = half.col(begin + j).segment(begin, j);
    out(j, j) = inverse_diagonal_(begin + j, function);
  }
}

Matrix StarFactor::inverse_columns(Index function, Index begin, Index end) const {
  Matrix out(rows(), end - begin);
  out.topRows(begin) = halves_[static_cast<std::size_t>(function)].block(0, begin, begin, end - begin);
  copy_inverse_below(function, begin, end, out.bottomRows(rows() - begin));
  return out;
}

bool StarFactor::factorise_sum() {
  sum_.resize(rows(), rows());
  const double passes = static_cast<double>(functions() * rows()) * static_cast<double>(rows());
  parallel_blocks(rows(), column_block, threads_for(passes), [&](Index begin, Index end) {
    auto out = sum_.block(begin, begin, rows() - begin, end - begin);
    out.setZero();
    Matrix inverse(rows() - begin, end - begin);
    for (Index c = 0; c < functions(); ++c) {
      const auto share = share_.col(c);
      copy_inverse_below(c, begin, end, inverse);
      out += share.tail(rows() - begin).asDiagonal() * inverse * share.segment(begin, end - begin).asDiagonal();
    }
  });
  return tiled::cholesky(sum_, threads_for(cubed(rows()) / 3.0));
}

double StarFactor::half_log_det() const {
  double sum = half_log_determinant(sum_);
  for (const Matrix& half : halves_) sum += half_log_determinant(half);
  return sum;
}

void StarFactor::half_solve(Index function, MatrixView x) const {
  x.array().colwise() *= root_.col(function).array();
  serial::solve_left(1.0, halves_[static_cast<std::size_t>(function)], As::is, x);
}

void StarFactor::other_half(Index function, MatrixView x) const {
  serial::solve_left(1.0, halves_[static_cast<std::size_t>(function)], As::transposed, x);
}

Matrix StarFactor::dual(const Matrix& r) const {
  // Every row of r is T x + w: x = r / pi where that can be had, and w is what is left over, pi 1'r / t among it, which
  // vanishes for sites that see contrasts alone. (I + T K)^-1 (T x + w) = w + Z (x - K w).
  Matrix scaled = Matrix::Zero(rows(), functions());  // s x.
  Matrix rest = Matrix::Zero(rows(), functions());
  for (Index n = 0; n < rows(); ++n) {
    double sum = 0.0;
    for (Index c = 0; c < functions(); ++c) {
      if (root_(n, c) > smallest_root) {
        scaled(n, c) = r(n, c) / root_(n, c);
        sum += r(n, c);
      } else {
        rest(n, c) = r(n, c);
      }
    }
    rest.row(n) += sum * share_.row(n).cwiseAbs2();
  }
  if (!rest.isZero(0.0)) scaled -= root_.cwiseProduct(prior_->times(rest));
  // Z y = s B^-1 (s y - u M^-1 sum_c u B^-1 s y).
  const double flops = 2.0 * static_cast<double>(functions()) * std::pow(static_cast<double>(rows()), 2);
  const auto solve_functions = [&](Matrix& columns) {
    parallel_blocks(functions(), 1, threads_for(flops), [&](Index c, Index /*end*/) {
      const Matrix& half = halves_[static_cast<std::size_t>(c)];
      Vector column = columns.col(c);
      solve_lower(half, column);
      solve_lower_transposed(half, column);
      columns.col(c) = column;
    });
  };
  solve_functions(scaled);
  Vector seen = share_.cwiseProduct(scaled).rowwise().sum();
  solve_lower(sum_, seen);
  solve_lower_transposed(sum_, seen);
  Matrix correction = seen.asDiagonal() * share_;
  solve_functions(correction);
  return rest + root_.cwiseProduct(scaled - correction);
}

Matrix StarFactor::prior_columns(Index function, Index begin, Index end, Eigen::Ref<Vector> own) const {
  const Matrix& kernel = prior_->kernel(function);
  const double scale = prior_->scale(function);
  Matrix out = inverse_columns(function, begin, end);
  std::vector<Index> weak;
  for (Index n = begin; n < end; ++n) {
    const double root = root_(n, function);
    if (root * root * scale * kernel(n, n) < weak_site) {
      weak.push_back(n);
      continue;
    }
    // B^-1 s K_c = (I - B^-1) / s.
    auto column = out.col(n - begin);
    column *= -1.0 / (root * scale);
    const double left = 1.0 - inverse_diagonal_(n, function);
    column(n) = left / (root * scale);
    own(n - begin) = left / (root * root);
  }
  Matrix columns(rows(), static_cast<Index>(weak.size()));
  for (Index j = 0; j < columns.cols(); ++j) columns.col(j) = kernel.col(weak[static_cast<std::size_t>(j)]);
  half_solve(function, columns);
  for (Index j = 0; j < columns.cols(); ++j) {
    const Index n = weak[static_cast<std::size_t>(j)];
    own(n - begin) = std::max(0.0, scale * kernel(n, n) - scale * scale * columns.col(j).squaredNorm());
  }
  other_half(function, columns);
  for (Index j = 0; j < columns.cols(); ++j) out.col(weak[static_cast<std::size_t>(j)] - begin) = columns.col(j);
  return out;
}

Vector StarFactor::covariances() {
  const Index c_count = functions();
  Vector blocks(rows() * c_count * c_count);
  const int threads = threads_for(static_cast<double>(c_count) * cubed(rows()));
  // DTRMM takes little more than half the time of DTRSM, and there are C N columns.
  Matrix sum_inverse = sum_;
  tiled::invert_lower(sum_inverse, threads_for(cubed(rows()) / 3.0));
  parallel_blocks(rows(), column_block, threads, [&](Index begin, Index end) {
    Matrix seen(rows(), (end - begin) * c_count);  // H K, those of a row side by side.
    Matrix own(end - begin, c_count);
    for (Index c = 0; c < c_count; ++c) {
      Matrix columns = prior_columns(c, begin, end, own.col(c));
      columns.array().colwise() *= prior_->scale(c) * share_.col(c).array();
      serial::multiply_left(1.0, sum_inverse, As::is, columns);
      for (Index j = 0; j < end - begin; ++j) seen.col(j * c_count + c) = columns.col(j);
    }
    Matrix block(c_count, c_count);
    for (Index n = begin; n < end; ++n) {
      block.setZero();
      block.diagonal() = own.row(n - begin).transpose();
      serial::add_square(1.0, seen.middleCols((n - begin) * c_count, c_count), As::transposed, 1.0, block);
      mirror_lower(block);
      blocks.segment(n * c_count * c_count, c_count * c_count) = block.reshaped();
    }
  });
  return blocks;
}

Matrix StarFactor::kernel_precision(Index function) const {
  const Index first = prior_->has_own_kernels() ? function : 0;
  const Index last = prior_->has_own_kernels() ? function + 1 : functions();
  Matrix out = Matrix::Zero(rows(), rows());
  const int threads = threads_for(cubed(rows()));
  for (Index c = first; c < last; ++c) {
    const double weight = prior_->scale(c);
    Matrix seen = inverse_columns(c, 0, rows()) * root_.col(c).asDiagonal();
    out += weight * (root_.col(c).asDiagonal() * seen);
    seen.array().colwise() *= share_.col(c).array();
    tiled::solve_left(sum_, As::is, seen, threads);
    tiled::add_square(-weight, seen, As::transposed, 1.0, out, threads);
  }
  return out;
}

Matrix StarFactor::latent_traces() const {
  // tr(K Z^cc') = [c = c'] tr(K s B^-1 s) - sum_n (H_c)_n'(H_c' K)_n, a column for every row n.
  const Index c_count = functions();
  const Index blocks = (rows() + column_block - 1) / column_block;
  std::vector<Matrix> parts(static_cast<std::size_t>(blocks));
  const int threads = threads_for(2.0 * static_cast<double>(c_count) * cubed(rows()));
  parallel_blocks(rows(), column_block, threads, [&](Index begin, Index end) {
    const Index width = end - begin;
    Matrix part = Matrix::Zero(c_count, c_count);
    Matrix plain(rows(), width * c_count), seen(rows(), width * c_count);
    Vector own(width);
    for (Index c = 0; c < c_count; ++c) {
      const auto share = share_.col(c).asDiagonal();
      const Matrix columns = prior_columns(c, begin, end, own);
      for (Index j = 0; j < width; ++j) part(c, c) += root_(begin + j, c) * columns(begin + j, j);
      seen.middleCols(c * width, width) = share * columns;
      plain.middleCols(c * width, width) =
          share * inverse_columns(c, begin, end) * root_.col(c).segment(begin, width).asDiagonal();
    }
    serial::solve_left(1.0, sum_, As::is, seen);
    serial::solve_left(1.0, sum_, As::is, plain);
    const Eigen::Map<const Matrix> stacked_plain(plain.data(), rows() * width, c_count);
    const Eigen::Map<const Matrix> stacked_seen(seen.data(), rows() * width, c_count);
    serial::add_product(-1.0, stacked_plain, As::transposed, stacked_seen, As::is, 1.0, part);
    parts[static_cast<std::size_t>(begin / column_block)] = std::move(part);
  });
  Matrix sum = Matrix::Zero(c_count, c_count);
  for (const Matrix& part : parts) sum += part;
  return 0.5 * (sum + sum.transpose());
}

Matrix StarFactor::cross_columns(const std::vector<CrossBlock>& points, Index begin, Index end,
                                 std::vector<Matrix>& direct) const {
  const Index c_count = functions();
  Matrix seen(rows(), (end - begin) * c_count);
  direct.resize(static_cast<std::size_t>(c_count));
  for (Index c = 0; c < c_count; ++c) {
    const Matrix& cross = points[prior_->has_own_kernels() ? static_cast<std::size_t>(c) : 0].covariance;
    Matrix columns = prior_->scale(c) * cross.middleCols(begin, end - begin);
    half_solve(c, columns);
    direct[static_cast<std::size_t>(c)] = columns;
    other_half(c, columns);
    for (Index j = 0; j < end - begin; ++j) seen.col(j * c_count + c) = share_.col(c).cwiseProduct(columns.col(j));
  }
  serial::solve_left(1.0, sum_, As::is, seen);
  return seen;
}

Vector StarFactor::reductions(const std::vector<CrossBlock>& points) const {
  const Index count = points.front().covariance.cols();
  const Index c_count = functions();
  Vector out(count * c_count * c_count);
  const double flops = 3.0 * static_cast<double>(c_count * count) * std::pow(static_cast<double>(rows()), 2);
  parallel_blocks(count, column_block, threads_for(flops), [&](Index begin, Index end) {
    std::vector<Matrix> direct;
    const Matrix seen = cross_columns(points, begin, end, direct);
    Matrix block(c_count, c_count);
    for (Index m = begin; m < end; ++m) {
      block.setZero();
      for (Index c = 0; c < c_count; ++c)
        block(c, c) = direct[static_cast<std::size_t>(c)].col(m - begin).squaredNorm();
      serial::add_square(-1.0, seen.middleCols((m - begin) * c_count, c_count), As::transposed, 1.0, block);
      mirror_lower(block);
      out.segment(m * c_count * c_count, c_count * c_count) = block.reshaped();
    }
  });
  return out;
}

Matrix StarFactor::joint_reduction(const std::vector<CrossBlock>& points) const {
  const Index count = points.front().covariance.cols();
  const Index c_count = functions();
  std::vector<Matrix> direct;
  const Matrix seen = cross_columns(points, 0, count, direct);
  Matrix out = Matrix::Zero(count * c_count, count * c_count);
  const int threads = threads_for(static_cast<double>(out.size() * rows()));
  tiled::add_square(-1.0, seen, As::transposed, 0.0, out, threads);
  for (Index c = 0; c < c_count; ++c) {
    Matrix own = Matrix::Zero(count, count);
    tiled::add_square(1.0, direct[static_cast<std::size_t>(c)], As::transposed, 0.0, own, threads);
    for (Index j = 0; j < count; ++j)
      for (Index i = j; i < count; ++i) out(i * c_count + c, j * c_count + c) += own(i, j);
  }
  mirror_lower(out);
  return out;
}

}  // namespace gaussmith
