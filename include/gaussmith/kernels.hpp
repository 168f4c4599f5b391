#pragma once
// Covariance functions. A kernel is an immutable value with named positive parameters; learning works on their
// logarithms.

#include "gaussmith/types.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// One positive parameter of a kernel, e.g. {"lengthscale[1]", 0.5}.
struct KernelParameter {
  std::string name;
  double value;
};

/// k(x, x') over rows of input matrices (N x d). All evaluations are block-wise; nothing stores N x N x P.
/// Results do not depend on the number of threads, to the last bit.
class Kernel {
 public:
  virtual ~Kernel() = default;

  /// The name under which the catalogue, JSON and the command line know it, e.g. "matern32".
  [[nodiscard]] virtual std::string_view name() const = 0;

  /// Throws InvalidModel unless inputs of this many columns suit the kernel (an ARD kernel fixes d).
  virtual void check_dimension(Index input_dimension) const = 0;

  /// out(i, j) = k(x_i, z_j); x and z are taken as different points even where they coincide (white noise is 0 here).
  virtual void block(const Matrix& x, const Matrix& z, Matrix& out, int threads = 1) const = 0;

  /// out(i, j) = k(x_i, x_j), exactly symmetric, white noise on the diagonal. Cost O(N^2 d).
  virtual void gram(const Matrix& x, Matrix& out, int threads = 1) const = 0;

  /// out_i = k(x_i, x_i), white noise included.
  virtual void diagonal(const Matrix& x, Vector& out) const = 0;

  /// The gradient of sum_ij W_ij k(x_i, x_j) in the logarithm of every parameter, W symmetric (the lower triangle is
  /// read). Cost O(N^2 (d + P)), memory O(N^2) once, never N x N x P.
  [[nodiscard]] virtual Vector contract(const Matrix& x, const Matrix& weights, int threads = 1) const = 0;

  /// The gradient of sum_ij W_ij k(x_i, z_j) in the logarithm of every parameter, W of any N x M numbers; x and z are
  /// different points as in block(), so that white noise adds nothing. Cost O(N M (d + P)), memory O(N M) once.
  [[nodiscard]] virtual Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights,
                                        int threads = 1) const = 0;

  /// The gradient of sum_i w_i k(x_i, x_i) in the logarithm of every parameter, white noise included. Cost O(N (d +
  /// P)).
  [[nodiscard]] Vector contract_diagonal(const Matrix& x, const Vector& weights) const;

  /// The part of the kernel that has no derivative in its inputs, by name, e.g. "matern12"; empty: it has one.
  [[nodiscard]] virtual std::string_view without_input_gradient() const { return name(); }

  /// The gradient of sum_ij W_ij k(x_i, z_j) in z_j, M x d; x and z are different points as in block(). Cost O(N M d).
  /// Throws InvalidModel where the kernel has no derivative in its inputs.
  [[nodiscard]] virtual Matrix input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights,
                                              int threads = 1) const;

  [[nodiscard]] virtual std::vector<KernelParameter> parameters() const = 0;

  /// The same kernel with other parameter values, in the order of parameters().
  [[nodiscard]] virtual std::shared_ptr<const Kernel> with_parameters(ConstSpan values) const = 0;

  /// The parts of a sum or product; empty otherwise.
  [[nodiscard]] virtual std::vector<std::shared_ptr<const Kernel>> terms() const { return {}; }

  /// The columns of the inputs that it sees, from 0; empty: all of them.
  [[nodiscard]] virtual std::vector<Index> columns() const { return {}; }
};

using KernelHandle = std::shared_ptr<const Kernel>;

/// Values of a kernel's arguments by name: one number, or d numbers for an ARD length-scale.
using KernelArguments = std::map<std::string, std::vector<double>, std::less<>>;

/// A kernel of the catalogue: make_kernel("se", {{"signal_sd", {1}}, {"lengthscale", {0.5, 2}}}).
/// Arguments left out take the defaults of the catalogue. Throws InvalidModel naming what would be accepted.
[[nodiscard]] KernelHandle make_kernel(std::string_view name, const KernelArguments& arguments = {});

/// k1 + k2 + ...; parameters are called terms[0].signal_sd and so on.
[[nodiscard]] KernelHandle sum(std::vector<KernelHandle> terms);

/// k1 * k2 * ...
[[nodiscard]] KernelHandle product(std::vector<KernelHandle> terms);

/// The kernel over these columns of the inputs alone, from 0; its parameters keep their names.
[[nodiscard]] KernelHandle on_columns(KernelHandle kernel, std::vector<Index> columns);

/// One argument of a catalogued kernel.
struct KernelArgumentInfo {
  std::string_view name;
  double default_value;
  bool per_dimension;  ///< Accepts d values (ARD).
  std::string_view help;
};

/// One line of `gaussmith kernels`.
struct KernelInfo {
  std::string_view name;
  std::string_view formula;
  std::string_view summary;
  std::vector<KernelArgumentInfo> arguments;
};

/// Everything make_kernel knows, then sum and product, which have terms instead of arguments.
[[nodiscard]] const std::vector<KernelInfo>& kernel_catalogue();

}  // namespace gaussmith
