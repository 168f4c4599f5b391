#pragma once
// What sums and products share: their terms, and parameters called terms[0].signal_sd and so on.

#include "kernels/family.hpp"

#include <functional>

namespace gaussmith {

class Composite : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const final { return family_->info.name; }
  void check_dimension(Index input_dimension) const final;
  [[nodiscard]] std::vector<KernelParameter> parameters() const final;
  [[nodiscard]] KernelHandle with_parameters(ConstSpan values) const final;
  [[nodiscard]] std::vector<KernelHandle> terms() const final { return terms_; }
  [[nodiscard]] std::string_view without_input_gradient() const final;

 protected:
  /// Throws InvalidModel without terms or with an empty handle. `family` outlives the kernel.
  Composite(const Family& family, std::vector<KernelHandle> terms);

  /// The same combination of other terms.
  [[nodiscard]] virtual KernelHandle rebuild(std::vector<KernelHandle> terms) const = 0;

  [[nodiscard]] const std::vector<KernelHandle>& parts() const { return terms_; }
  /// The gradients of all terms, one after the other.
  [[nodiscard]] Vector joined(const std::function<Vector(std::size_t term)>& gradient) const;

 private:
  const Family* family_;
  std::vector<KernelHandle> terms_;
  Index parameter_count_ = 0;
};

}  // namespace gaussmith
