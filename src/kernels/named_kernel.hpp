#pragma once
// What all catalogued kernels but sum and product share: names, parameters and checks of the input dimension.

#include "kernels/family.hpp"

namespace gaussmith {

class NamedKernel : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const final { return family_->info.name; }
  void check_dimension(Index input_dimension) const final;
  [[nodiscard]] std::vector<KernelParameter> parameters() const final;
  [[nodiscard]] KernelHandle with_parameters(ConstSpan values) const final;

 protected:
  /// `family` outlives the kernel; `values` come from resolve_arguments().
  NamedKernel(const Family& family, ArgumentValues values);

  [[nodiscard]] const Family& family() const { return *family_; }
  [[nodiscard]] Index parameter_count() const { return parameter_count_; }
  /// The argument's values: one, or one for each input column.
  [[nodiscard]] const std::vector<double>& values(std::size_t argument) const { return values_[argument]; }
  [[nodiscard]] double value(std::size_t argument) const { return values_[argument].front(); }
  /// Where the argument's first value stands among parameters().
  [[nodiscard]] Index first_parameter(std::size_t argument) const;
  /// The argument's value for every one of `columns` input columns.
  [[nodiscard]] std::vector<double> per_column(std::size_t argument, Index columns) const;

  /// Throws InvalidModel unless x and z have the same number of columns and it suits the kernel.
  void check_inputs(const Matrix& x, const Matrix& z) const;
  /// Throws InvalidModel unless x and z suit the kernel and the weights have a row for each x and a column for each z.
  void check_weights(const Matrix& x, const Matrix& z, const Matrix& weights) const;

 private:
  const Family* family_;
  ArgumentValues values_;
  Index parameter_count_ = 0;
};

}  // namespace gaussmith
