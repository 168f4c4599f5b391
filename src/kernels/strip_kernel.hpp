#pragma once
// Kernels computed strip by strip. A family writes how one strip is filled and contracted; symmetric and rectangular
// matrices, panels and threads are shared.

#include "kernels/named_kernel.hpp"
#include "kernels/panels.hpp"

namespace gaussmith {

class StripKernel : public NamedKernel {
 public:
  void block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const final;
  void gram(const Matrix& x, Matrix& out, int threads) const final;
  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int threads) const final;
  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const final;
  [[nodiscard]] Matrix input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const final;

 protected:
  using NamedKernel::NamedKernel;

  /// Fills strips of k(x_i, z_j), z_j the column. x and z outlive the result and may be one matrix.
  [[nodiscard]] virtual FillStrip filler(const Matrix& x, const Matrix& z) const = 0;

  /// How a strip of weighted derivatives is added, and the columns of scratch that this takes.
  struct Contraction {
    Index scratch_columns;
    AddStrip add;
  };
  /// Adds strips of dk(x_i, z_j)/d log(parameter). x and z outlive the result and may be one matrix.
  [[nodiscard]] virtual Contraction contraction(const Matrix& x, const Matrix& z) const = 0;

  /// The same for derivatives in the points z_j, of families that have them.
  struct PointContraction {
    Index scratch_columns;
    AddPointStrip add;
  };
  [[nodiscard]] virtual PointContraction point_contraction(const Matrix& /*x*/, const Matrix& /*z*/) const {
    return {};
  }
};

}  // namespace gaussmith
