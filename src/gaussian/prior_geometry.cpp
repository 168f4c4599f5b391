#include "gaussian/prior_geometry.hpp"

#include "base/overloaded.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace gaussmith {

namespace {

/// The prior's diagonal variance, for the priors that have one.
std::optional<Vector> diagonal_variance(const Prior& prior) {
  if (const auto* p = std::get_if<Isotropic>(&prior)) return Vector::Constant(p->mean.size(), p->variance);
  if (const auto* p = std::get_if<Diagonal>(&prior)) return p->variance;
  return std::nullopt;
}

/// Rows [begin, end) of a design as columns of a D x M matrix.
Matrix transposed_rows(const Design& design, Index dimension, Index begin, Index end) {
  return std::visit(
      Overloaded{[&](const Identity&) -> Matrix {
                   Matrix out = Matrix::Zero(dimension, end - begin);
                   for (Index i = begin; i < end; ++i) out(i, i - begin) = 1.0;
                   return out;
                 },
                 [&](const Matrix& h) -> Matrix { return h.middleRows(begin, end - begin).transpose(); },
                 [&](const SparseMatrix& h) -> Matrix { return Matrix(h.middleRows(begin, end - begin)).transpose(); },
                 [&](const std::shared_ptr<const LinearOperator>&) -> Matrix {
                   throw InvalidModel("design: linear operators are not available yet");
                 }},
      design);
}

Index rows_of(const Design& design, Index dimension) {
  return std::visit(Overloaded{[&](const Identity&) { return dimension; }, [](const Matrix& h) { return h.rows(); },
                               [](const SparseMatrix& h) { return h.rows(); },
                               [](const std::shared_ptr<const LinearOperator>& h) { return h->rows(); }},
                    design);
}

}  // namespace

PriorGeometry::PriorGeometry(const Prior& prior, const Design& design, int threads)
    : prior_(&prior), design_(&design), threads_(threads) {
  dimension_ = std::visit(
      Overloaded{[](const Isotropic& p) { return p.mean.size(); }, [](const Diagonal& p) { return p.mean.size(); },
                 [](const DenseGaussian& p) { return p.mean.size(); },
                 [](const GaussianProcess& p) { return p.inputs.rows(); },
                 [](const NoGaussian& p) { return p.dimension; },
                 [](const SparsePrecision& p) { return p.mean.size(); }},
      prior);
  rows_ = rows_of(design, dimension_);
  if (const auto* p = std::get_if<GaussianProcess>(&prior)) p->kernel->gram(p->inputs, covariance_, threads);
  if (const auto* p = std::get_if<DenseGaussian>(&prior))
    covariance_ = 0.5 * (p->covariance + p->covariance.transpose());
}

Vector PriorGeometry::mean() const {
  return std::visit(
      Overloaded{[](const Isotropic& p) -> Vector { return p.mean; },
                 [](const Diagonal& p) -> Vector { return p.mean; },
                 [](const DenseGaussian& p) -> Vector { return p.mean; },
                 [](const GaussianProcess& p) -> Vector { return Vector::Constant(p.inputs.rows(), p.mean); },
                 [](const NoGaussian& p) -> Vector { return Vector::Zero(p.dimension); },
                 [](const SparsePrecision& p) -> Vector { return p.mean; }},
      *prior_);
}

Matrix PriorGeometry::design_times(const Matrix& x) const {
  return std::visit(
      Overloaded{[&](const Identity&) -> Matrix { return x; }, [&](const Matrix& h) -> Matrix { return times(h, x); },
                 [&](const SparseMatrix& h) -> Matrix { return h * x; },
                 [&](const std::shared_ptr<const LinearOperator>&) -> Matrix {
                   throw InvalidModel("design: linear operators are not available yet");
                 }},
      *design_);
}

Matrix PriorGeometry::covariance_times(const Matrix& x) const {
  if (const auto variance = diagonal_variance(*prior_)) return variance->asDiagonal() * x;
  return symmetric_times(covariance_, x);
}

Vector PriorGeometry::row_mean() const { return design_times(mean()); }

Vector PriorGeometry::row_variances() const {
  if (!has_gaussian()) return Vector::Constant(rows_, std::numeric_limits<double>::infinity());
  const auto variance = diagonal_variance(*prior_);
  if (std::holds_alternative<Identity>(*design_)) return variance ? *variance : Vector(covariance_.diagonal());
  if (variance) {
    const Vector root = variance->cwiseSqrt();
    if (const auto* h = std::get_if<Matrix>(design_)) return (*h * root.asDiagonal()).rowwise().squaredNorm();
    const SparseMatrix scaled = std::get<SparseMatrix>(*design_) * root.asDiagonal();
    return scaled.cwiseAbs2() * Vector::Ones(dimension_);
  }
  const Matrix h_sigma = design_times(covariance_);
  if (const auto* h = std::get_if<Matrix>(design_)) return h->cwiseProduct(h_sigma).rowwise().sum();
  return std::get<SparseMatrix>(*design_).cwiseProduct(h_sigma) * Vector::Ones(dimension_);
}

const Matrix& PriorGeometry::row_covariance() {
  const auto variance = diagonal_variance(*prior_);
  const bool identity = std::holds_alternative<Identity>(*design_);
  if (identity && !variance) return covariance_;
  if (rows_covariance_) return *rows_covariance_;
  Matrix k;
  if (identity) {
    k = variance->asDiagonal();
  } else if (variance) {
    if (const auto* h = std::get_if<SparseMatrix>(design_)) {
      const SparseMatrix scaled = *h * variance->cwiseSqrt().asDiagonal();
      k = Matrix(SparseMatrix(scaled * SparseMatrix(scaled.transpose())));
    } else {
      const Matrix scaled = std::get<Matrix>(*design_) * variance->cwiseSqrt().asDiagonal();
      k = Matrix::Zero(rows_, rows_);
      add_outer(1.0, scaled, 0.0, k);
      mirror_lower(k);
    }
  } else {
    // H Sigma is D x N here, so H (H Sigma)' needs no transposed copy of H.
    const Matrix sigma_ht = design_times(covariance_).transpose();
    k = design_times(sigma_ht);
    k = (0.5 * (k + k.transpose())).eval();
  }
  rows_covariance_ = std::move(k);
  return *rows_covariance_;
}

void PriorGeometry::whiten() {
  if (!has_gaussian()) {
    root_ = Vector::Ones(dimension_);
  } else if (const auto variance = diagonal_variance(*prior_)) {
    root_ = variance->cwiseSqrt();
  } else {
    factor_ = pivoted_cholesky(covariance_);
  }
  rank_ = root_.size() > 0 ? dimension_ : factor_.rank();
  if (root_.size() > 0) {
    if (const auto* h = std::get_if<SparseMatrix>(design_))
      sparse_whitened_ = *h * root_.asDiagonal();
    else if (const auto* h_dense = std::get_if<Matrix>(design_))
      dense_whitened_ = *h_dense * root_.asDiagonal();
    else {
      sparse_whitened_.resize(dimension_, dimension_);
      sparse_whitened_.reserve(Eigen::VectorXi::Ones(dimension_));
      for (Index i = 0; i < dimension_; ++i) sparse_whitened_.insert(i, i) = root_(i);
    }
  } else {
    dense_whitened_ = design_times(factor_.factor);
  }
}

Matrix PriorGeometry::whitened_rows(Index begin, Index end) const {
  if (dense_whitened_.size() > 0) return dense_whitened_.middleRows(begin, end - begin).transpose();
  if (sparse_whitened_.size() > 0) return Matrix(sparse_whitened_.middleRows(begin, end - begin)).transpose();
  return Matrix::Zero(rank_, end - begin);
}

Vector PriorGeometry::whitened_times(const Vector& u) const {
  if (dense_whitened_.size() > 0) return times(dense_whitened_, u);
  if (sparse_whitened_.size() > 0) return sparse_whitened_ * u;
  return Vector::Zero(rows_);
}

Vector PriorGeometry::whitened_transposed_times(const Vector& x) const {
  if (dense_whitened_.size() > 0) return transposed_times(dense_whitened_, x);
  if (sparse_whitened_.size() > 0) return sparse_whitened_.transpose() * x;
  return Vector::Zero(rank_);
}

Index PriorGeometry::count(const NewPoints& points) const {
  return std::visit(Overloaded{[](const NewInputs& p) { return p.inputs->rows(); },
                               [&](const NewRows& p) { return rows_of(*p.rows, dimension_); }},
                    points);
}

CrossBlock PriorGeometry::cross(const NewPoints& points, Index begin, Index end) const {
  CrossBlock block;
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    const auto& process = std::get<GaussianProcess>(*prior_);
    const Matrix fresh = p->inputs->middleRows(begin, end - begin);
    Matrix k;
    process.kernel->block(process.inputs, fresh, k, threads_);
    block.covariance = std::holds_alternative<Identity>(*design_) ? std::move(k) : design_times(k);
    block.mean = Vector::Constant(end - begin, process.mean);
    process.kernel->diagonal(fresh, block.variance);
    return block;
  }
  const Design& rows = *std::get<NewRows>(points).rows;
  Matrix sigma_h;
  if (std::holds_alternative<Identity>(rows) && covariance_.size() > 0) {
    sigma_h = covariance_.middleCols(begin, end - begin);
    block.variance = covariance_.diagonal().segment(begin, end - begin);
    block.mean = mean().segment(begin, end - begin);
  } else {
    const Matrix h = transposed_rows(rows, dimension_, begin, end);
    sigma_h = covariance_times(h);
    block.variance = h.cwiseProduct(sigma_h).colwise().sum();
    block.mean = h.transpose() * mean();
  }
  block.covariance = std::holds_alternative<Identity>(*design_) ? sigma_h : design_times(sigma_h);
  return block;
}

WhitenedBlock PriorGeometry::whitened(const NewPoints& points, Index begin, Index end) const {
  WhitenedBlock block;
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    const auto& process = std::get<GaussianProcess>(*prior_);
    const Matrix fresh = p->inputs->middleRows(begin, end - begin);
    Matrix k;
    process.kernel->block(process.inputs, fresh, k, threads_);
    // f_new given w: R restricted to the pivot rows is triangular and carries all of w, even when K is singular.
    block.rows.resize(rank_, end - begin);
    for (Index i = 0; i < rank_; ++i) block.rows.row(i) = k.row(factor_.pivots[static_cast<std::size_t>(i)]);
    solve_lower(pivot_triangle(), block.rows);
    Vector prior_variance;
    process.kernel->diagonal(fresh, prior_variance);
    block.leftover = (prior_variance - block.rows.colwise().squaredNorm().transpose()).cwiseMax(0.0);
    block.mean = Vector::Constant(end - begin, process.mean);
    return block;
  }
  const Matrix h = transposed_rows(*std::get<NewRows>(points).rows, dimension_, begin, end);
  block.rows = root_.size() > 0 ? Matrix(root_.asDiagonal() * h) : transposed_times(factor_.factor, h);
  block.mean = h.transpose() * mean();
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
    Matrix spread = Matrix::Zero(dimension_, end - begin);
    for (Index i = 0; i < rank_; ++i) spread.row(factor_.pivots[static_cast<std::size_t>(i)]) = block.rows.row(i);
    block.rows = std::move(spread);
    block.mean -= transposed_times(block.rows, mean());
    return block;
  }
  block.rows = transposed_rows(*std::get<NewRows>(points).rows, dimension_, begin, end);
  block.mean = Vector::Zero(end - begin);
  block.leftover = Vector::Zero(end - begin);
  return block;
}

Matrix PriorGeometry::unwhiten(const Matrix& u) const {
  return root_.size() > 0 ? Matrix(root_.asDiagonal() * u) : times(factor_.factor, u);
}

Vector PriorGeometry::pull_back(const Vector& row_vector) const {
  return std::visit(Overloaded{[&](const Identity&) -> Vector { return row_vector; },
                               [&](const Matrix& h) -> Vector { return transposed_times(h, row_vector); },
                               [&](const SparseMatrix& h) -> Vector { return h.transpose() * row_vector; },
                               [&](const std::shared_ptr<const LinearOperator>&) -> Vector {
                                 throw InvalidModel("design: linear operators are not available yet");
                               }},
                    *design_);
}

Matrix PriorGeometry::pull_back(Matrix row_weights) const {
  return std::visit(Overloaded{[&](const Identity&) -> Matrix { return std::move(row_weights); },
                               [&](const Matrix& h) -> Matrix { return transposed_times(h, times(row_weights, h)); },
                               [&](const SparseMatrix& h) -> Matrix { return h.transpose() * Matrix(row_weights * h); },
                               [&](const std::shared_ptr<const LinearOperator>&) -> Matrix {
                                 throw InvalidModel("design: linear operators are not available yet");
                               }},
                    *design_);
}

}  // namespace gaussmith
