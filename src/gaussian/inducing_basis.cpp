#include "gaussian/inducing_basis.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"

#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Rows of the process that are handled at once.
constexpr Index row_block = 1024;

}  // namespace

double dependent_share(Index values) {
  return 64.0 * std::numeric_limits<double>::epsilon() * static_cast<double>(values);
}

InducingBasis::InducingBasis(const GaussianProcess& process) : given_(process), points_(given_) {
  Matrix all = given_.covariance();
  all.diagonal().array() += process.inducing->noise;
  mirror_lower(all);
  pivots_ = pivoted_cholesky(all, dependent_share(given())).pivots;
  if (pivots_.empty()) throw InvalidModel("prior.inducing: the process has no variance at any of the inducing inputs");
  points_ = given_.selected(pivots_);
  factorise(all(pivots_, pivots_));
}

InducingBasis::InducingBasis(const GaussianProcess& process, std::vector<Index> pivots, const Vector& noise)
    : given_(process), pivots_(std::move(pivots)), points_(given_.selected(pivots_)) {
  Matrix all = points_.covariance();
  all.diagonal() += noise;
  factorise(std::move(all));
}

Vector InducingBasis::noise() const {
  Matrix without;
  process().kernel->block(points_.inputs(), points_.inputs(), without);
  return (variances_ - without.diagonal()).cwiseMax(0.0);
}

void InducingBasis::factorise(Matrix covariance) {
  variances_ = covariance.diagonal();
  triangle_ = std::move(covariance);
  if (!cholesky(triangle_))
    throw InvalidModel("prior.inducing: the covariance of the inducing variables is not positive definite");
  triangle_ = triangle_.triangularView<Eigen::Lower>().toDenseMatrix();
}

Matrix InducingBasis::at_rows(Index begin, Index end) const {
  Matrix a = points_.cross_rows(begin, end);
  solve_lower(triangle_, a);
  return a;
}

Matrix InducingBasis::all_rows(int threads) const {
  Matrix out(process().inputs.rows(), rank());
  parallel_blocks(out.rows(), row_block, threads, [&](Index begin, Index end) {
    out.middleRows(begin, end - begin) = at_rows(begin, end).transpose();
  });
  return out;
}

InducingBasis::Gradient InducingBasis::contract(const Weights& weights, bool in_inputs, int threads) const {
  Gradient out = points_.contract(weights, in_inputs, threads);
  if (!in_inputs) return out;
  const Matrix counted = std::move(out.inputs);
  out.inputs = Matrix::Zero(given(), counted.cols());
  for (std::size_t j = 0; j < pivots_.size(); ++j) out.inputs.row(pivots_[j]) = counted.row(static_cast<Index>(j));
  return out;
}

}  // namespace gaussmith
