#include "active/weight_gaussian.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/conjugate_gradients.hpp"
#include "linalg/dense.hpp"
#include "linalg/preconditioners.hpp"
#include "linalg/sparse_square.hpp"
#include "linalg/variance_estimators.hpp"
#include "model/sparse_entries.hpp"

#include <cmath>

namespace gaussmith {

namespace {

/// Rows at a time: bounds the memory beside the pool's own.
constexpr Index rows_at_once = 1024;
constexpr double solve_reduction = 1e-10;

/// h'C h of all rows.
Vector squares(const Design& rows, const Matrix& covariance, int threads) {
  Vector out(rows.rows());
  const DesignEntries stored = rows.entries();
  parallel_blocks(rows.rows(), rows_at_once, threads, [&](Index begin, Index end) {
    if (stored.is_sparse()) {
      visit_sparse(stored, [&](const auto& sparse) {
        for (Index n = begin; n < end; ++n) out(n) = sparse_square(sparse, n, covariance);
      });
      return;
    }
    const Matrix block = rows.transposed_rows(begin, end);
    out.segment(begin, end - begin) = block.cwiseProduct(times(covariance, block)).colwise().sum();
  });
  return out;
}

/// Whether W W' and its squares take fewer products than the rows' with W. Then D^2 is less than the rows' entries.
bool is_cheaper_whole(const Design& rows, const Matrix& root) {
  const double entries = rows.nonzeros();
  const auto dimension = static_cast<double>(root.rows());
  const auto columns = static_cast<double>(root.cols());
  return dimension * dimension * columns + entries * entries / static_cast<double>(rows.rows()) < entries * columns;
}

}  // namespace

WeightGaussian::WeightGaussian(const Design& rows, const Vector& precision, const Vector& shift,
                               const Vector& weight_precision, const GaussianAccess& access)
    : rows_(rows), precision_(precision), weight_precision_(weight_precision), access_(access) {
  const Vector pull = rows.transposed_times(shift, access.threads);
  if (access.lanczos > 0) {
    diagonal_ = rows.column_squares(precision, access.threads) + weight_precision;
    if (pull.size() > access.few_weights) {
      mean_ = solve_by_products(pull);
      return;
    }
  }
  covariance_ = rows.gram(precision, access.threads);
  covariance_.diagonal() += weight_precision;
  if (!cholesky(covariance_)) {
    throw InvalidModel(
        "the precision of the weights is not positive definite in double precision; give the features a common scale");
  }
  invert_lower(covariance_);
  lower_transposed_times_lower(covariance_);
  mirror_lower(covariance_);
  mean_ = covariance_ * pull;
}

Matrix WeightGaussian::precision_times(const Matrix& x) const {
  Matrix hx = rows_.times(x, access_.threads);
  hx.array().colwise() *= precision_.array();
  Matrix out = rows_.transposed_times(hx, access_.threads);
  out.array() += x.array().colwise() * weight_precision_.array();
  if (later_rows_.cols() > 0) out += later_rows_ * (later_rows_.transpose() * x);
  return out;
}

Vector WeightGaussian::solve_by_products(const Vector& b) const {
  return conjugate_gradients([this](const Matrix& x) { return precision_times(x); }, b, {.reduction = solve_reduction},
                             diagonal_preconditioner(diagonal_))
      .solution;
}

Vector WeightGaussian::solve(const Vector& b) const {
  if (covariance_.size() == 0) return solve_by_products(b);
  return covariance_ * b;
}

PrecisionSystem WeightGaussian::system(const Design& rows) const {
  return {.dimension = mean_.size(),
          .times = [this](const Matrix& x) { return precision_times(x); },
          .preconditioner = diagonal_preconditioner(diagonal_),
          .diagonal = diagonal_,
          .rows = rows.rows(),
          .rows_times = [&](const Matrix& x) { return rows.times(x, access_.threads); },
          .rows_transposed_times = [&](const Matrix& x) { return rows.transposed_times(x, access_.threads); }};
}

const Matrix& WeightGaussian::lanczos_root() const {
  if (!root_) {
    const VarianceOptions nothing_else{.rows = false, .weights = false, .seed = access_.seed, .errors = false};
    root_ = estimate_variances(system(rows_), LanczosVariances{.steps = access_.lanczos}, nothing_else).root;
  }
  return *root_;
}

Vector WeightGaussian::variances(const Design& rows) const {
  if (access_.lanczos == 0) return squares(rows, covariance_, access_.threads);
  const Matrix& root = lanczos_root();
  if (is_cheaper_whole(rows, root)) return squares(rows, root * root.transpose(), access_.threads);
  return estimate_variances(system(rows), LanczosVariances{.steps = access_.lanczos},
                            {.weights = false, .seed = access_.seed, .errors = false, .start = &root})
      .rows;
}

Marginals WeightGaussian::marginals(const Design& rows) const {
  return {rows.times(mean_, access_.threads), variances(rows)};
}

void WeightGaussian::include(const Vector& row, const IncludedSite& site, const Vector& solution) {
  const double ratio = 1.0 + site.precision * row.dot(solution);
  mean_ += (site.shift - site.precision * row.dot(mean_)) / ratio * solution;
  if (access_.lanczos > 0) {
    root_.reset();
    diagonal_ += site.precision * row.cwiseAbs2();
    later_rows_.conservativeResize(row.size(), later_rows_.cols() + 1);
    later_rows_.col(later_rows_.cols() - 1) = std::sqrt(site.precision) * row;
  }
  if (covariance_.size() > 0) {
    covariance_.noalias() -= (site.precision / ratio) * solution * solution.transpose();
  }
}

}  // namespace gaussmith
