#include "measurement/operator_entries.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index columns_at_once = 64;
constexpr double most_stored = 0.25;

}  // namespace

Design with_few_entries(const Design& design) {
  if (design.has_entries()) return design;
  std::vector<Eigen::Triplet<double>> found;
  const double most = most_stored * design.nonzeros();
  for (Index begin = 0; begin < design.cols(); begin += columns_at_once) {
    const Index end = std::min(design.cols(), begin + columns_at_once);
    const Matrix columns = design.columns(begin, end);
    for (Index j = 0; j < columns.cols(); ++j)
      for (Index i = 0; i < columns.rows(); ++i)
        if (columns(i, j) != 0.0) found.emplace_back(i, begin + j, columns(i, j));
    if (static_cast<double>(found.size()) > most) return design.with_entries();
  }
  SparseMatrix out(design.rows(), design.cols());
  out.setFromTriplets(found.begin(), found.end());
  return {std::move(out)};
}

}  // namespace gaussmith
