#include "gaussian/inducing_points.hpp"

#include "base/parallel_blocks.hpp"

#include <utility>

namespace gaussmith {

InducingPoints::InducingPoints(const GaussianProcess& process) : process_(process), inputs_(process.inputs) {
  if (!process.inducing) return;
  for (const auto& [row, latent] : process.inducing->sites) rows_.push_back(row);
  inputs_ = rows_.empty() ? Matrix(process.inducing->inputs) : Matrix((*process.inputs)(rows_, Eigen::all));
}

InducingPoints InducingPoints::selected(const std::vector<Index>& which) const {
  InducingPoints out(process_, inputs_(which, Eigen::all));
  for (const Index i : which)
    if (!rows_.empty()) out.rows_.push_back(rows_[static_cast<std::size_t>(i)]);
  return out;
}

Matrix InducingPoints::covariance() const {
  Matrix out;
  if (rows_.empty())
    process_.kernel->block(inputs_, inputs_, out);
  else
    process_.kernel->gram(inputs_, out);
  return out;
}

Matrix InducingPoints::cross(const Matrix& x) const {
  if (size() == 0) return Matrix(0, x.rows());
  Matrix k;
  process_.kernel->block(inputs_, x, k);
  return k;
}

Matrix InducingPoints::cross_rows(Index begin, Index end) const {
  const Matrix x = process_.inputs->middleRows(begin, end - begin);
  Matrix k = cross(x);
  for (std::size_t j = 0; j < rows_.size(); ++j)
    if (rows_[j] >= begin && rows_[j] < end)
      k(static_cast<Index>(j), rows_[j] - begin) = prior_variances(x.row(rows_[j] - begin))(0);
  return k;
}

Vector InducingPoints::prior_variances(const Matrix& x) const {
  Vector out;
  process_.kernel->diagonal(x, out);
  return out;
}

Vector InducingPoints::white_variances() const {
  if (rows_.empty()) return Vector::Zero(size());
  Matrix without;
  process_.kernel->block(inputs_, inputs_, without);
  return (prior_variances(inputs_) - without.diagonal()).cwiseMax(0.0);
}

InducingPoints::Gradient InducingPoints::contract(const Weights& weights, bool in_inputs, int threads) const {
  const Kernel& kernel = *process_.kernel;
  const Index n = process_.inputs.rows();
  const Index blocks = (n + row_block - 1) / row_block;
  Vector own = weights.rows;
  Matrix by_block = Matrix::Zero(static_cast<Index>(kernel.parameters().size()), blocks);
  Matrix inputs_by_block = Matrix::Zero(in_inputs ? inputs_.size() : 0, blocks);
  parallel_blocks(n, row_block, threads, [&](Index begin, Index end) {
    const Matrix x = process_.inputs->middleRows(begin, end - begin);
    Matrix w = weights.to_rows(begin, end);
    // Where a value is the row itself, its covariance with it is the row's variance.
    for (std::size_t j = 0; j < rows_.size(); ++j)
      if (rows_[j] >= begin && rows_[j] < end)
        own(rows_[j]) += std::exchange(w(static_cast<Index>(j), rows_[j] - begin), 0.0);
    const Index block = begin / row_block;
    by_block.col(block) = kernel.contract(inputs_, x, w);
    if (in_inputs) inputs_by_block.col(block) = kernel.input_gradient(x, inputs_, w.transpose()).reshaped();
  });
  Gradient out;
  out.kernel = kernel.contract_diagonal(process_.inputs, own);
  out.kernel += rows_.empty() ? kernel.contract(inputs_, inputs_, weights.within, threads)
                              : kernel.contract(inputs_, weights.within, threads);
  for (Index b = 0; b < blocks; ++b) out.kernel += by_block.col(b);
  if (!in_inputs) return out;
  // Both places of k(z, z) move.
  out.inputs = 2.0 * kernel.input_gradient(inputs_, inputs_, weights.within, threads);
  for (Index b = 0; b < blocks; ++b) out.inputs += inputs_by_block.col(b).reshaped(inputs_.rows(), inputs_.cols());
  return out;
}

}  // namespace gaussmith
