#include "tables/laplace_prior.hpp"

#include "gaussmith/errors.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

template <class Rows>
Design with_unit_rows(const Rows& rows, const std::vector<Index>& columns) {
  const auto added = static_cast<Index>(columns.size());
  if (rows.nonZeros() > std::numeric_limits<int>::max() - added)
    throw InvalidFile("the table has too many entries for a laplace prior, whose sites are further rows");
  Rows out(rows.rows() + added, rows.cols());
  out.resizeNonZeros(rows.nonZeros() + added);
  const auto filled = static_cast<int>(rows.nonZeros());
  std::copy_n(rows.innerIndexPtr(), filled, out.innerIndexPtr());
  std::copy_n(rows.valuePtr(), filled, out.valuePtr());
  std::copy_n(rows.outerIndexPtr(), rows.rows() + 1, out.outerIndexPtr());
  for (int i = 0; i < static_cast<int>(added); ++i) {
    out.innerIndexPtr()[filled + i] = static_cast<int>(columns[static_cast<std::size_t>(i)]);
    out.valuePtr()[filled + i] = 1;
    out.outerIndexPtr()[rows.rows() + i + 1] = filled + i + 1;
  }
  return {std::move(out)};
}

/// The rows with rows of the identity below them, one for each of the columns.
Design with_unit_rows(const Design& rows, const std::vector<Index>& columns) {
  const auto added = static_cast<Index>(columns.size());
  const Matrix* const dense = rows.entries().dense;
  if (dense == nullptr)
    return visit_sparse(rows.entries(), [&](const auto& sparse) { return with_unit_rows(sparse, columns); });
  // An entry of sparse rows takes half as much again as one of dense rows: these pay where most entries are zeros.
  if (added > 2 * dense->rows()) {
    const SparseMatrix sparse = dense->sparseView();
    return with_unit_rows(sparse, columns);
  }
  Matrix out = Matrix::Zero(dense->rows() + added, dense->cols());
  out.topRows(dense->rows()) = *dense;
  for (Index i = 0; i < added; ++i) out(dense->rows() + i, columns[static_cast<std::size_t>(i)]) = 1.0;
  return {std::move(out)};
}

void append(Vector& values, Index count, double value) {
  const Index rows = values.size();
  if (rows == 0) return;
  values.conservativeResize(rows + count);
  values.tail(count).setConstant(value);
}

}  // namespace

std::vector<std::string> put_laplace_prior(const FixedEffects& fixed, LaplaceScale scale, Model& model) {
  std::vector<Index> laplace;
  std::vector<Index> gaussian;
  for (Index j = 0; j < fixed.size(); ++j) (fixed.is_scaled(j) ? laplace : gaussian).push_back(j);
  std::vector<Index> columns = laplace;
  columns.insert(columns.end(), gaussian.begin(), gaussian.end());
  const auto added = static_cast<Index>(columns.size());
  model.design = with_unit_rows(model.design, columns);
  append(model.offset, added, 0.0);
  append(model.weights, added, 1.0);
  model.prior = NoGaussian{fixed.size()};

  std::vector<std::string> kept;
  const auto keep_single = [&](const Vector& values, const char* name) {
    if (values.size() == 1) kept.push_back(fmt::format("sites[{}].{}", model.sites.size() - 1, name));
  };
  if (!laplace.empty()) {
    // The variance of exp(-|w| / b) / (2 b) is 2 b^2.
    Vector b = fixed.sd(laplace) * (fixed.scale / std::numbers::sqrt2);
    if (scale == LaplaceScale::shared) b.conservativeResize(1);
    model.sites.push_back(observe("laplace", Vector::Zero(static_cast<Index>(laplace.size())), {{"scale", b}}));
    if (scale == LaplaceScale::by_coefficient) keep_single(b, "scale");
  }
  if (!gaussian.empty()) {
    const Vector variance = fixed.sd(gaussian).array().square();
    model.sites.push_back(observe("gaussian", fixed.mean(gaussian), {{"variance", variance}}));
    keep_single(variance, "variance");
  }
  return kept;
}

}  // namespace gaussmith
