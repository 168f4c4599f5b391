#include "kernels/strip_kernel.hpp"

namespace gaussmith {

void StripKernel::block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const {
  check_inputs(x, z);
  fill_rectangle(x.rows(), z.rows(), threads, out, filler(x, z));
}

void StripKernel::gram(const Matrix& x, Matrix& out, int threads) const {
  check_dimension(x.cols());
  fill_symmetric(x.rows(), threads, out, filler(x, x));
}

Vector StripKernel::contract(const Matrix& x, const Matrix& weights, int threads) const {
  check_weights(x, x, weights);
  const Contraction strips = contraction(x, x);
  return sum_symmetric(weights, threads, parameter_count(), strips.scratch_columns, strips.add);
}

Vector StripKernel::contract(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const {
  check_weights(x, z, weights);
  const Contraction strips = contraction(x, z);
  return sum_rectangle(weights, threads, parameter_count(), strips.scratch_columns, strips.add);
}

Matrix StripKernel::input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const {
  if (!without_input_gradient().empty()) return NamedKernel::input_gradient(x, z, weights, threads);
  check_weights(x, z, weights);
  const PointContraction strips = point_contraction(x, z);
  return sum_by_column(weights, threads, x.cols(), strips.scratch_columns, strips.add);
}

}  // namespace gaussmith
