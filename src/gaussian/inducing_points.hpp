#pragma once
// Where the inducing variables of a process stand, and their covariances with its rows and with new inputs.
//
// Values at given inputs are those without white noise of their own. Values that are rows of the process (sites) are
// these rows' own, white noise included.

#include "gaussmith/model.hpp"

#include <functional>
#include <vector>

namespace gaussmith {

class InducingPoints {
 public:
  /// Rows of the process that are handled at once.
  static constexpr Index row_block = 1024;

  /// Those that the process has; its own inputs where it has none.
  explicit InducingPoints(const GaussianProcess& process);
  /// Values of the process at any inputs.
  InducingPoints(const GaussianProcess& process, Matrix inputs) : process_(process), inputs_(std::move(inputs)) {}

  [[nodiscard]] const GaussianProcess& process() const { return process_; }
  [[nodiscard]] Index size() const { return inputs_.rows(); }
  /// size x d.
  [[nodiscard]] const Matrix& inputs() const { return inputs_; }
  /// These of them, in this order.
  [[nodiscard]] InducingPoints selected(const std::vector<Index>& which) const;

  /// k(z, z), both halves.
  [[nodiscard]] Matrix covariance() const;
  /// k(z, x) of new inputs.
  [[nodiscard]] Matrix cross(const Matrix& x) const;
  /// k(z, x_n) for the process's rows [begin, end), whatever white noise they share.
  [[nodiscard]] Matrix cross_rows(Index begin, Index end) const;
  /// k(x, x), white noise included.
  [[nodiscard]] Vector prior_variances(const Matrix& x) const;
  /// What of the variances of z is white noise of sites.
  [[nodiscard]] Vector white_variances() const;

  /// How a number changes with the covariances: by sum W_zz dk(z, z) + sum W_zx dk(z, x) + sum w dk(x, x).
  struct Weights {
    Matrix within;                                          ///< W_zz, symmetric.
    std::function<Matrix(Index begin, Index end)> to_rows;  ///< W_zx for rows [begin, end).
    Vector rows;                                            ///< w.
  };
  struct Gradient {
    Vector kernel;  ///< In the logarithms of the kernel's parameters.
    Matrix inputs;  ///< In the inputs, size x d; empty where not asked for.
  };
  /// Strips of rows, no N x M x P numbers. `to_rows` is called from several threads.
  [[nodiscard]] Gradient contract(const Weights& weights, bool in_inputs, int threads) const;

 private:
  GaussianProcess process_;
  std::vector<Index> rows_;  // The row that each value is, for sites; else empty.
  Matrix inputs_;
};

}  // namespace gaussmith
