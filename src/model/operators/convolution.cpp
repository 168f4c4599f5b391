#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "model/operators/checks.hpp"
#include "model/operators/fourier_transform.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

namespace {

/// H = P'C P: C convolves on a torus, P puts the image in its corner. The torus is the image, or, with zeros beyond the
/// edges, so much larger that the kernel does not reach round it.
class Convolution final : public LinearOperator {
 public:
  Convolution(const Matrix& kernel, const Grid& grid, const Grid& torus) : grid_(grid), transform_(torus) {
    const RealBuffer image = transform_.image();
    std::fill_n(image.get(), torus.size(), 0.0);
    for (Index a = 0; a < kernel.rows(); ++a)
      for (Index b = 0; b < kernel.cols(); ++b) {
        const Index i = (a - kernel.rows() / 2 + torus.height) % torus.height;
        const Index j = (b - kernel.cols() / 2 + torus.width) % torus.width;
        image[i * torus.width + j] = kernel(a, b);
      }
    const ComplexBuffer spectrum = transform_.spectrum();
    transform_.forward(image.get(), spectrum.get());
    response_.assign(spectrum.get(), spectrum.get() + transform_.coefficients());
    for (std::complex<double>& value : response_) value /= static_cast<double>(torus.size());
  }
  [[nodiscard]] Index rows() const override { return grid_.size(); }
  [[nodiscard]] Index cols() const override { return grid_.size(); }
  [[nodiscard]] double bytes() const override { return 16.0 * static_cast<double>(response_.size()); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    filter(x, out, [](const std::complex<double>& response) { return response; });
  }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    filter(x, out, [](const std::complex<double>& response) { return std::conj(response); });
  }

 private:
  template <class Response>
  void filter(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out, const Response& response) const {
    const Index width = transform_.grid().width;
    const RealBuffer image = transform_.image();
    const ComplexBuffer spectrum = transform_.spectrum();
    for (Index k = 0; k < x.cols(); ++k) {
      std::fill_n(image.get(), transform_.grid().size(), 0.0);
      const double* const from = x.col(k).data();
      for (Index i = 0; i < grid_.height; ++i)
        std::copy_n(from + i * grid_.width, grid_.width, image.get() + i * width);
      transform_.forward(image.get(), spectrum.get());
      for (std::size_t f = 0; f < response_.size(); ++f) spectrum[f] *= response(response_[f]);
      transform_.backward(spectrum.get(), image.get());
      double* const to = out.col(k).data();
      for (Index i = 0; i < grid_.height; ++i) std::copy_n(image.get() + i * width, grid_.width, to + i * grid_.width);
    }
  }

  Grid grid_;
  FourierTransform transform_;
  std::vector<std::complex<double>> response_;
};

}  // namespace

OperatorHandle convolution(const Matrix& kernel, const Grid& grid, Boundary boundary) {
  check_grid("convolution", grid);
  if (kernel.rows() < 1 || kernel.cols() < 1 || kernel.rows() > grid.height || kernel.cols() > grid.width)
    throw InvalidModel(
        fmt::format("convolution: the kernel is {} x {} and the grid {} x {}; the kernel must have an "
                    "entry and fit into the grid",
                    kernel.rows(), kernel.cols(), grid.height, grid.width));
  for (Index a = 0; a < kernel.rows(); ++a)
    for (Index b = 0; b < kernel.cols(); ++b)
      if (!std::isfinite(kernel(a, b)))
        throw InvalidModel(
            fmt::format("convolution: kernel[{}][{}] is {}; it must be a finite number", a, b, kernel(a, b)));
  Grid torus = grid;
  if (boundary == Boundary::zero) {
    torus = {fast_length(grid.height + kernel.rows() / 2), fast_length(grid.width + kernel.cols() / 2)};
    check_grid("convolution", torus);
  }
  return std::make_shared<const Convolution>(kernel, grid, torus);
}

}  // namespace gaussmith
