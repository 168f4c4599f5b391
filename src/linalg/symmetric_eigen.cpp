#include "linalg/symmetric_eigen.hpp"

#include "linalg/blas_memory.hpp"

#include <lapacke.h>

#include <cassert>
#include <limits>
#include <utility>
#include <vector>

namespace gaussmith {

SymmetricEigen symmetric_eigen(Matrix a) {
  assert(a.rows() == a.cols());
  const auto size = static_cast<lapack_int>(a.rows());
  Vector values(a.rows());
  if (size == 0) return {std::move(values), std::move(a)};
  const auto solve = [&](double* work, lapack_int length, lapack_int* whole, lapack_int whole_length) {
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', size, a.data(), size, values.data(), work, length, whole,
                               whole_length);
  };
  double wanted = 0.0;
  lapack_int whole_wanted = 0;
  bool solved = a.triangularView<Eigen::Lower>().toDenseMatrix().allFinite();
  if (solved) {
    prepare_blas();
    solve(&wanted, -1, &whole_wanted, -1);
    Vector work(static_cast<Index>(wanted));
    std::vector<lapack_int> whole(static_cast<std::size_t>(whole_wanted));
    solved = solve(work.data(), static_cast<lapack_int>(work.size()), whole.data(), whole_wanted) == 0;
  }
  if (!solved) {
    values.setConstant(std::numeric_limits<double>::quiet_NaN());
    a.setConstant(std::numeric_limits<double>::quiet_NaN());
  }
  return {std::move(values), std::move(a)};
}

}  // namespace gaussmith
