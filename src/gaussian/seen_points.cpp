#include "gaussian/seen_points.hpp"

#include <vector>

namespace gaussmith {

namespace {

/// Rows of w as combinations of the process's values: which of these occur, and by how much in each row.
struct Combinations {
  std::vector<Index> values;
  Matrix by;  // values x rows.
};

Combinations combinations(const Matrix& transposed_rows) {
  Combinations out;
  for (Index i = 0; i < transposed_rows.rows(); ++i)
    if (!transposed_rows.row(i).isZero(0.0)) out.values.push_back(i);
  out.by = transposed_rows(out.values, Eigen::all);
  return out;
}

/// Whether each row is one of the values.
bool is_selection(const Combinations& rows) {
  return ((rows.by.array() == 0.0) || (rows.by.array() == 1.0)).all() && (rows.by.colwise().sum().array() == 1.0).all();
}

}  // namespace

SeenPoints see(const InducingPoints& inducing, const NewPoints& points, Index begin, Index end) {
  const GaussianProcess& process = inducing.process();
  const Index count = end - begin;
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    const Matrix inputs = p->inputs->middleRows(begin, count);
    return {inducing.cross(inputs), Vector::Ones(count), inducing.prior_variances(inputs)};
  }
  const Design rows = std::get<NewRows>(points).rows.sized(process.inputs.rows());
  if (rows.is_identity())
    return {inducing.cross_rows(begin, end), Vector::Ones(count),
            inducing.prior_variances(process.inputs->middleRows(begin, count))};
  const Combinations used = combinations(rows.transposed_rows(begin, end));
  Matrix values(inducing.size(), static_cast<Index>(used.values.size()));
  for (std::size_t i = 0; i < used.values.size(); ++i)
    values.col(static_cast<Index>(i)) = inducing.cross_rows(used.values[i], used.values[i] + 1);
  const Matrix inputs = (*process.inputs)(used.values, Eigen::all);
  SeenPoints out{times(values, used.by), used.by.colwise().sum().transpose(), {}};
  if (is_selection(used)) {
    out.variance = used.by.transpose() * inducing.prior_variances(inputs);
  } else {
    Matrix k;
    process.kernel->gram(inputs, k);
    out.variance = used.by.cwiseProduct(symmetric_times(k, used.by)).colwise().sum();
  }
  return out;
}

Matrix prior_covariance(const GaussianProcess& process, const NewPoints& points, int threads) {
  Matrix k;
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    process.kernel->gram(*p->inputs, k, threads);
    return k;
  }
  const Design rows = std::get<NewRows>(points).rows.sized(process.inputs.rows());
  if (rows.is_identity()) {
    process.kernel->gram(process.inputs, k, threads);
    return k;
  }
  const Combinations used = combinations(rows.transposed_rows(0, rows.rows()));
  process.kernel->gram(Matrix((*process.inputs)(used.values, Eigen::all)), k, threads);
  return transposed_times(used.by, symmetric_times(k, used.by));
}

}  // namespace gaussmith
