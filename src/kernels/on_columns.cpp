#include "gaussmith/errors.hpp"
#include "gaussmith/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gaussmith {

namespace {

/// A kernel of some columns of the inputs. The chosen columns are copied, O(N d) beside the kernel's O(N^2 d).
class OnColumns final : public Kernel {
 public:
  OnColumns(KernelHandle inner, std::vector<Index> columns) : inner_(std::move(inner)), columns_(std::move(columns)) {
    if (!inner_) throw InvalidModel("a kernel on columns needs a kernel");
    if (columns_.empty()) throw InvalidModel("a kernel on columns needs at least one column");
    for (const Index column : columns_)
      if (column < 0) throw InvalidModel(fmt::format("a kernel has no column {}; columns count from 0", column));
    inner_->check_dimension(static_cast<Index>(columns_.size()));
  }

  [[nodiscard]] std::string_view name() const override { return inner_->name(); }

  void check_dimension(Index input_dimension) const override {
    const Index last = *std::max_element(columns_.begin(), columns_.end());
    if (last >= input_dimension)
      throw InvalidModel(
          fmt::format("kernel {}: there is no input column {}; the inputs have {}", name(), last, input_dimension));
  }

  void block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const override {
    inner_->block(chosen(x), chosen(z), out, threads);
  }
  void gram(const Matrix& x, Matrix& out, int threads) const override { inner_->gram(chosen(x), out, threads); }
  void diagonal(const Matrix& x, Vector& out) const override { inner_->diagonal(chosen(x), out); }
  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int threads) const override {
    return inner_->contract(chosen(x), weights, threads);
  }
  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const override {
    return inner_->contract(chosen(x), chosen(z), weights, threads);
  }

  [[nodiscard]] std::string_view without_input_gradient() const override { return inner_->without_input_gradient(); }
  [[nodiscard]] Matrix input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights,
                                      int threads) const override {
    const Matrix of_chosen = inner_->input_gradient(chosen(x), chosen(z), weights, threads);
    Matrix out = Matrix::Zero(z.rows(), z.cols());
    for (std::size_t c = 0; c < columns_.size(); ++c) out.col(columns_[c]) += of_chosen.col(static_cast<Index>(c));
    return out;
  }

  [[nodiscard]] std::vector<KernelParameter> parameters() const override { return inner_->parameters(); }
  [[nodiscard]] KernelHandle with_parameters(ConstSpan values) const override {
    return on_columns(inner_->with_parameters(values), columns_);
  }
  [[nodiscard]] std::vector<KernelHandle> terms() const override { return inner_->terms(); }
  [[nodiscard]] std::vector<Index> columns() const override { return columns_; }

 private:
  [[nodiscard]] Matrix chosen(const Matrix& x) const {
    check_dimension(x.cols());
    return x(Eigen::all, columns_);
  }

  KernelHandle inner_;
  std::vector<Index> columns_;
};

}  // namespace

KernelHandle on_columns(KernelHandle kernel, std::vector<Index> columns) {
  return std::make_shared<OnColumns>(std::move(kernel), std::move(columns));
}

}  // namespace gaussmith
