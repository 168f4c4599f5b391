#include "gaussian/prior_geometry.hpp"

#include "base/overloaded.hpp"
#include "gaussian/distinct_rows.hpp"
#include "model/prior.hpp"
#include "model/sparse_entries.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Rows whose prior variances are computed at once.
constexpr Index row_block = 1024;

/// Whether equal inputs have one value: not under white noise, which is drawn for every row anew.
bool copies_are_equal(const GaussianProcess& process, const DistinctRows& distinct) {
  constexpr double rounding = 1e-14;
  Matrix with_copy;
  Vector own;
  for (Index i = 0; i < process.inputs->rows(); ++i) {
    if (distinct.first[static_cast<std::size_t>(distinct.of[static_cast<std::size_t>(i)])] == i) continue;
    const Matrix input = process.inputs->row(i);
    process.kernel->block(input, input, with_copy);
    process.kernel->diagonal(input, own);
    if (!(own(0) - with_copy(0, 0) <= rounding * own(0))) return false;
  }
  return true;
}

/// One unit entry a row: every weight is one of the distinct ones.
SparseMatrix selection(const DistinctRows& distinct) {
  SparseMatrix out(static_cast<Index>(distinct.of.size()), static_cast<Index>(distinct.first.size()));
  out.reserve(Eigen::VectorXi::Constant(out.rows(), 1));
  for (Index i = 0; i < out.rows(); ++i) out.insert(i, distinct.of[static_cast<std::size_t>(i)]) = 1.0;
  return out;
}

}  // namespace

PriorGeometry::PriorGeometry(const Prior& prior, const Design& design, int threads, Copies copies)
    : prior_(prior),
      spread_(Design().sized(dimension_of(prior))),
      design_(design.sized(dimension_of(prior))),
      threads_(threads),
      has_gaussian_(gaussmith::has_gaussian(prior)) {
  if (auto* process = std::get_if<GaussianProcess>(&prior_);
      process != nullptr && copies == Copies::merged && design_.is_identity()) {
    const DistinctRows distinct = distinct_rows(process->inputs);
    if (distinct.any_copies() && copies_are_equal(*process, distinct)) {
      process->inputs = Matrix((*process->inputs)(distinct.first, Eigen::all));
      spread_ = selection(distinct);
      design_ = spread_;
    }
  }
  mean_ = mean_of(prior_);
  variances_ = independent_variances(prior_);
  blocks_ = block_root(prior_);
  if (has_dense_covariance(prior_)) covariance_ = dense_covariance(prior_, threads);
}

PriorGeometry::PriorGeometry(const GaussianProcess& process, int threads)
    : prior_(process),
      spread_(Design().sized(dimension_of(prior_))),
      design_(spread_),
      threads_(threads),
      has_gaussian_(true),
      mean_(mean_of(prior_)) {}

PriorGeometry::PriorGeometry(std::shared_ptr<const InducingBasis> basis, int threads)
    : PriorGeometry(basis->process(), threads) {
  basis_ = std::move(basis);
}

Matrix PriorGeometry::folded_rows(const NewRows& points, Index begin, Index end) const {
  Matrix rows = points.rows.sized(dimension()).transposed_rows(begin, end);
  return spread_.is_identity() ? std::move(rows) : spread_.transposed_times(rows, threads_);
}

bool PriorGeometry::is_proper() const { return gaussmith::is_proper(prior_); }

Vector PriorGeometry::weight_variances() const {
  if (basis_) return basis_->prior_variances(basis_->process().inputs);
  if (variances_) return *variances_;
  if (blocks_) return Design(*blocks_).row_squares(Vector::Ones(blocks_->cols()));
  return covariance_->diagonal();
}

Matrix PriorGeometry::weight_covariance(Index first, Index size) const {
  if (variances_) return variances_->segment(first, size).asDiagonal();
  if (!blocks_ && covariance_.size() == 0) return block_covariance(prior_, first, size);
  if (!blocks_) return covariance_->block(first, first, size, size);
  Matrix root = Matrix::Zero(size, size);
  for (Index i = 0; i < size; ++i)
    for (SparseMatrix::InnerIterator it(*blocks_, first + i); it; ++it) root(i, it.col() - first) = it.value();
  return root * root.transpose();
}

Design PriorGeometry::block_rows(const Design& h) const {
  const Design rows = h.in_double();
  if (const SparseMatrix* sparse = rows.entries().sparse) return SparseMatrix(*sparse * *blocks_);
  if (rows.is_identity()) return *blocks_;
  return h.with_entries().times(Matrix(*blocks_), threads_);
}

Matrix PriorGeometry::covariance_times(const Matrix& x) const {
  if (variances_) return variances_->asDiagonal() * x;
  if (blocks_) return *blocks_ * Matrix(blocks_->transpose() * x);
  return symmetric_times(covariance_, x);
}

Vector PriorGeometry::row_variances() const {
  if (!has_gaussian_) return Vector::Constant(rows(), std::numeric_limits<double>::infinity());
  if (basis_) return weight_variances();
  if (variances_) return design_.row_squares(*variances_, threads_);
  if (blocks_) return block_rows(design_).row_squares(Vector::Ones(blocks_->cols()), threads_);
  if (design_.is_identity()) return covariance_->diagonal();
  Vector out(rows());
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    const Matrix h = design_.transposed_rows(begin, end);
    out.segment(begin, end - begin) = h.cwiseProduct(covariance_times(h)).colwise().sum();
  }
  return out;
}

Vector PriorGeometry::absolute_times(const Vector& x) const {
  if (design_.is_identity()) return x;
  if (!design_.has_entries()) return design_.times(x, threads_).cwiseAbs();
  if (design_.entries().is_sparse())
    return visit_sparse(design_.entries(),
                        [&](const auto& rows) -> Vector { return rows.cwiseAbs().template cast<double>() * x; });
  Vector out(rows());
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    out.segment(begin, end - begin) = design_.transposed_rows(begin, end).cwiseAbs().transpose() * x;
  }
  return out;
}

const Matrix& PriorGeometry::row_covariance() {
  if (design_.is_identity() && covariance_.size() > 0) return covariance_;
  if (!rows_covariance_) rows_covariance_ = covariance_of(design_);
  return *rows_covariance_;
}

Matrix PriorGeometry::covariance_of(const Design& h) const {
  if (variances_) return h.outer(*variances_, threads_);
  if (blocks_) return block_rows(h).outer(Vector::Ones(blocks_->cols()), threads_);
  if (h.is_identity()) return covariance_;
  const Matrix k = h.times(Matrix(h.times(*covariance_, threads_).transpose()), threads_);
  return 0.5 * (k + k.transpose());
}

Matrix PriorGeometry::prior_covariance(const NewPoints& points) const {
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    Matrix k;
    process_of(prior_)->kernel->gram(*p->inputs, k, threads_);
    if (p->rows) {
      const Matrix rows = p->rows->transposed_rows(0, p->rows->rows());
      k += rows.transpose() * Matrix(covariance_->topLeftCorner(rows.rows(), rows.rows()) * rows);
    }
    return k;
  }
  const Design& h = std::get<NewRows>(points).rows;
  if (spread_.is_identity()) return covariance_of(h.sized(dimension()));
  return covariance_of(h.is_identity() ? spread_ : Design(folded_rows({h}, 0, h.rows()).transpose()));
}

void PriorGeometry::whiten() {
  if (is_whitened_) return;
  is_whitened_ = true;
  if (basis_) {
    rank_ = basis_->rank();
    return;
  }
  if (!has_gaussian_)
    root_ = Vector::Ones(mean_.size());
  else if (variances_)
    root_ = variances_->cwiseSqrt();
  else if (!blocks_)
    factor_ = pivoted_cholesky(covariance_);
  rank_ = scales() ? root_.size() : blocks_ ? blocks_->cols() : factor_.rank();
}

void PriorGeometry::whiten_rows() {
  whiten();
  if (rows_are_whitened_) return;
  rows_are_whitened_ = true;
  whitened_ = basis_     ? Design(basis_->all_rows(threads_))
              : scales() ? design_.with_entries()
              : blocks_  ? block_rows(design_)
                         : Design(design_.times(factor_.factor, threads_));
}

Matrix PriorGeometry::whitened_rows(Index begin, Index end) const {
  Matrix rows = whitened_.transposed_rows(begin, end);
  if (scales()) rows.array().colwise() *= root_.array();
  return rows;
}

bool PriorGeometry::has_sparse_rows() const {
  constexpr double few = 0.2;
  return rows_are_whitened_ && whitened_.entries().is_sparse() &&
         whitened_.nonzeros() < few * static_cast<double>(whitened_.rows()) * static_cast<double>(whitened_.cols());
}

void PriorGeometry::sparse_row(Index n, std::vector<Entry>& entries) const {
  entries.clear();
  visit_sparse(whitened_.entries(), [&]<class Rows>(const Rows& rows) {
    for (typename Rows::InnerIterator it(rows, n); it; ++it) {
      const double value = it.value();
      entries.push_back({it.col(), scales() ? root_(it.col()) * value : value});
    }
  });
}

Matrix PriorGeometry::whitened_gram(const Vector& weights) const {
  Matrix gram = whitened_.gram(weights, threads_);
  if (scales())
    for (Index j = 0; j < gram.cols(); ++j) gram.col(j).array() *= root_(j) * root_.array();
  return gram;
}

Vector PriorGeometry::whitened_column_squares(const Vector& weights) const {
  Vector squares = whitened_.column_squares(weights, threads_);
  if (scales()) squares.array() *= root_.array().square();
  return squares;
}

Vector PriorGeometry::whitened_times(const Vector& u) const {
  return whitened_.times(scales() ? Vector(root_.cwiseProduct(u)) : u, threads_);
}

Vector PriorGeometry::whitened_transposed_times(const Vector& x) const {
  Vector out = whitened_.transposed_times(x, threads_);
  if (scales()) out.array() *= root_.array();
  return out;
}

Index PriorGeometry::count(const NewPoints& points) const {
  return std::visit(Overloaded{[](const NewInputs& p) { return p.inputs->rows(); },
                               [&](const NewRows& p) { return p.rows.sized(dimension()).rows(); }},
                    points);
}

PriorGeometry::FreshInputs PriorGeometry::fresh_inputs(const NewInputs& points, Index begin, Index end) const {
  const GaussianProcess& process = *process_of(prior_);
  const Matrix inputs = points.inputs->middleRows(begin, end - begin);
  FreshInputs out;
  process.kernel->block(process.inputs, inputs, out.covariance, threads_);
  process.kernel->diagonal(inputs, out.variance);
  out.mean = Vector::Constant(end - begin, process.mean);
  if (!points.rows) return out;
  const Matrix rows = points.rows->transposed_rows(begin, end);
  const Index weights = rows.rows();
  Matrix with_all(mean_.size(), end - begin);
  with_all.topRows(weights) = covariance_->topLeftCorner(weights, weights) * rows;
  with_all.bottomRows(mean_.size() - weights) = out.covariance;
  out.covariance = std::move(with_all);
  out.variance += rows.cwiseProduct(out.covariance.topRows(weights)).colwise().sum().transpose();
  out.mean += rows.transpose() * mean_.head(weights);
  return out;
}

CrossBlock PriorGeometry::cross(const NewPoints& points, Index begin, Index end) const {
  CrossBlock block;
  Matrix with_weights;
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    FreshInputs fresh = fresh_inputs(*p, begin, end);
    with_weights = std::move(fresh.covariance);
    block.mean = std::move(fresh.mean);
    block.variance = std::move(fresh.variance);
  } else if (const auto& rows_of = std::get<NewRows>(points);
             rows_of.rows.is_identity() && spread_.is_identity() && covariance_.size() > 0) {
    with_weights = covariance_->middleCols(begin, end - begin);
    block.variance = covariance_->diagonal().segment(begin, end - begin);
    block.mean = mean_.segment(begin, end - begin);
  } else if (rows_of.rows.is_identity() && spread_.is_identity() && variances_) {
    // Unit rows of thousands of weights would cost the square of their number.
    block.variance = variances_->segment(begin, end - begin);
    block.mean = mean_.segment(begin, end - begin);
    block.covariance = design_.columns(begin, end) * block.variance.asDiagonal();
    return block;
  } else {
    const Matrix rows = folded_rows(rows_of, begin, end);
    with_weights = covariance_times(rows);
    block.variance = rows.cwiseProduct(with_weights).colwise().sum();
    block.mean = rows.transpose() * mean_;
  }
  block.covariance = design_.is_identity() ? std::move(with_weights) : design_.times(with_weights, threads_);
  return block;
}

WhitenedBlock PriorGeometry::whitened(const NewPoints& points, Index begin, Index end) const {
  WhitenedBlock block;
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    FreshInputs fresh = fresh_inputs(*p, begin, end);
    // f_new given w: R restricted to the pivot rows is triangular and carries all of w, even when K is singular.
    block.rows.resize(rank_, end - begin);
    for (Index i = 0; i < rank_; ++i)
      block.rows.row(i) = fresh.covariance.row(factor_.pivots[static_cast<std::size_t>(i)]);
    solve_lower(pivot_triangle(), block.rows);
    block.leftover = (fresh.variance - block.rows.colwise().squaredNorm().transpose()).cwiseMax(0.0);
    block.mean = std::move(fresh.mean);
    return block;
  }
  const Matrix h = folded_rows(std::get<NewRows>(points), begin, end);
  block.rows = root_transposed_times(h);
  block.mean = h.transpose() * mean_;
  block.leftover = Vector::Zero(end - begin);
  return block;
}

Matrix PriorGeometry::pivot_triangle() const {
  Matrix triangle(rank_, rank_);
  for (Index i = 0; i < rank_; ++i) triangle.row(i) = factor_.factor.row(factor_.pivots[static_cast<std::size_t>(i)]);
  return triangle;
}

WhitenedBlock PriorGeometry::weight_rows(const NewPoints& points, Index begin, Index end) const {
  WhitenedBlock block;
  if (std::holds_alternative<NewInputs>(points)) {
    block = whitened(points, begin, end);
    // g'u with u = L^-1 (w - mean) at the pivots.
    solve_lower_transposed(pivot_triangle(), block.rows);
    Matrix spread = Matrix::Zero(mean_.size(), end - begin);
    for (Index i = 0; i < rank_; ++i) spread.row(factor_.pivots[static_cast<std::size_t>(i)]) = block.rows.row(i);
    block.rows = std::move(spread);
    block.mean -= transposed_times(block.rows, mean_);
    return block;
  }
  block.rows = folded_rows(std::get<NewRows>(points), begin, end);
  block.mean = Vector::Zero(end - begin);
  block.leftover = Vector::Zero(end - begin);
  return block;
}

Matrix PriorGeometry::unwhiten(const Matrix& u) const {
  Matrix w = scales() ? Matrix(root_.asDiagonal() * u) : blocks_ ? Matrix(*blocks_ * u) : times(factor_.factor, u);
  return spread_.is_identity() ? std::move(w) : spread_.times(w, threads_);
}

Matrix PriorGeometry::root_transposed_times(const Matrix& x) const {
  if (scales()) return root_.asDiagonal() * x;
  return blocks_ ? Matrix(blocks_->transpose() * x) : transposed_times(factor_.factor, x);
}

Matrix PriorGeometry::pull_back(const Matrix& row_weights) const {
  // H'(H'M)', M symmetric.
  return design_.transposed_times(Matrix(design_.transposed_times(row_weights, threads_).transpose()), threads_);
}

}  // namespace gaussmith
