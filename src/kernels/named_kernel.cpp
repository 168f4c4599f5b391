#include "kernels/named_kernel.hpp"

#include "gaussmith/errors.hpp"
#include "kernels/arguments.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace gaussmith {

NamedKernel::NamedKernel(const Family& family, ArgumentValues values) : family_(&family), values_(std::move(values)) {
  for (const auto& argument : values_) parameter_count_ += static_cast<Index>(argument.size());
}

void NamedKernel::check_dimension(Index input_dimension) const {
  if (input_dimension < 1) throw InvalidModel("a kernel needs inputs with at least one column, found none");
  for (std::size_t a = 0; a < values_.size(); ++a) {
    const auto size = static_cast<Index>(values_[a].size());
    if (size == 1 || size == input_dimension) continue;
    throw InvalidModel(fmt::format("kernel.{} has {} values but the inputs have {} {}; give one value{}",
                                   family_->info.arguments[a].name, size, input_dimension,
                                   input_dimension == 1 ? "column" : "columns",
                                   input_dimension == 1 ? "" : fmt::format(" or {}", input_dimension)));
  }
}

std::vector<KernelParameter> NamedKernel::parameters() const {
  std::vector<KernelParameter> all;
  for (std::size_t a = 0; a < values_.size(); ++a) {
    const std::string_view argument = family_->info.arguments[a].name;
    for (std::size_t k = 0; k < values_[a].size(); ++k) {
      all.push_back(
          {values_[a].size() == 1 ? std::string(argument) : fmt::format("{}[{}]", argument, k), values_[a][k]});
    }
  }
  return all;
}

KernelHandle NamedKernel::with_parameters(ConstSpan values) const {
  check_parameters(name(), parameters(), values);
  ArgumentValues changed = values_;
  std::size_t next = 0;
  for (auto& argument : changed) {
    for (double& value : argument) value = values[next++];
  }
  return family_->make(*family_, std::move(changed));
}

Index NamedKernel::first_parameter(std::size_t argument) const {
  std::size_t before = 0;
  for (std::size_t a = 0; a < argument; ++a) before += values_[a].size();
  return static_cast<Index>(before);
}

std::vector<double> NamedKernel::per_column(std::size_t argument, Index columns) const {
  const std::vector<double>& given = values_[argument];
  return given.size() == 1 ? std::vector<double>(static_cast<std::size_t>(columns), given.front()) : given;
}

void NamedKernel::check_inputs(const Matrix& x, const Matrix& z) const {
  if (x.cols() != z.cols()) {
    throw InvalidModel(
        fmt::format("the two sets of kernel inputs must have the same columns, found {} and {}", x.cols(), z.cols()));
  }
  check_dimension(x.cols());
}

void NamedKernel::check_weights(const Matrix& x, const Matrix& z, const Matrix& weights) const {
  check_inputs(x, z);
  if (weights.rows() == x.rows() && weights.cols() == z.rows()) return;
  const std::string inputs = &x == &z ? fmt::format("{}", x.rows()) : fmt::format("{} and {}", x.rows(), z.rows());
  throw InvalidModel(fmt::format("the weights of a contraction over {} inputs must be {} x {}, found {} x {}", inputs,
                                 x.rows(), z.rows(), weights.rows(), weights.cols()));
}

}  // namespace gaussmith
