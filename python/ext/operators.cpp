#include "operators.hpp"

#include "bind.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

/// Blocks of vectors go to matmat and rmatmat at once.
class PythonOperator final : public LinearOperator {
 public:
  PythonOperator(nb::object scipy_operator, Index rows, Index cols)
      : operator_(std::move(scipy_operator)), rows_(rows), cols_(cols) {}

  [[nodiscard]] Index rows() const override { return rows_; }
  [[nodiscard]] Index cols() const override { return cols_; }
  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    multiply("matmat", x, rows_, out);
  }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    multiply("rmatmat", x, cols_, out);
  }

 private:
  void multiply(const char* product, const Eigen::Ref<const Matrix>& x, Index rows, Eigen::Ref<Matrix> out) const {
    const Locked lock;
    const nb::object made = operator_.get().attr(product)(to_array(Matrix(x)));
    const std::shared_ptr<const Matrix> numbers = to_shared_matrix(made, fmt::format("design.{}", product));
    if (numbers->rows() != rows || numbers->cols() != x.cols())
      throw InvalidModel(fmt::format("design.{}: expected {} x {} numbers, found {} x {}", product, rows, x.cols(),
                                     numbers->rows(), numbers->cols()));
    out = *numbers;
  }

  Callable operator_;
  Index rows_, cols_;
};

Grid grid_of(std::pair<Index, Index> shape) { return {shape.first, shape.second}; }

FrequencyMask mask_of(nb::handle values) {
  const Matrix numbers = to_matrix(values, "mask");
  return numbers.array() != 0.0;
}

}  // namespace

Design wrap_operator(nb::object scipy_operator, const std::string& name) {
  const auto rows = nb::cast<Index>(scipy_operator.attr("shape")[0]);
  const auto cols = nb::cast<Index>(scipy_operator.attr("shape")[1]);
  if (rows < 1 || cols < 1) throw InvalidModel(fmt::format("{}: an operator of shape {} x {}", name, rows, cols));
  auto wrapped = std::make_shared<const PythonOperator>(std::move(scipy_operator), rows, cols);
  check_adjoint(*wrapped);
  return wrapped;
}

void bind_operators(nb::module_& m) {
  nb::class_<LinearOperator>(m, "Operator",
                             "A design known by its products alone. Operators multiply with `@`, and stack.")
      .def_prop_ro("shape", [](const LinearOperator& h) { return std::make_pair(h.rows(), h.cols()); })
      .def(
          "matmat",
          [](const LinearOperator& h, nb::handle x) {
            const auto numbers = to_shared_matrix(x, "x");
            if (numbers->rows() != h.cols())
              throw InvalidModel(fmt::format("x: expected {} rows, found {}", h.cols(), numbers->rows()));
            Matrix out(h.rows(), numbers->cols());
            h.apply(*numbers, out);
            return to_array(std::move(out));
          },
          "x"_a, nb::sig("def matmat(self, x: ArrayLike) -> FloatArray"), "H x for the columns of x.")
      .def(
          "rmatmat",
          [](const LinearOperator& h, nb::handle x) {
            const auto numbers = to_shared_matrix(x, "x");
            if (numbers->rows() != h.rows())
              throw InvalidModel(fmt::format("x: expected {} rows, found {}", h.rows(), numbers->rows()));
            Matrix out(h.cols(), numbers->cols());
            h.apply_transposed(*numbers, out);
            return to_array(std::move(out));
          },
          "x"_a, nb::sig("def rmatmat(self, x: ArrayLike) -> FloatArray"), "H'x for the columns of x.")
      .def(
          "__matmul__", [](const OperatorHandle& a, const OperatorHandle& b) { return composed(a, b); }, "other"_a,
          "The operator that applies the other one first.")
      .def(
          "scaled",
          [](const OperatorHandle& a, nb::handle scale) {
            Vector scales = to_vector(scale, "scale");
            return scales.size() == 1 ? scaled(a, scales(0)) : scaled(a, std::move(scales));
          },
          "scale"_a, nb::sig("def scaled(self, scale: ArrayLike) -> Operator"),
          "Every row times its number, or all times one.")
      .def("__repr__", [](const LinearOperator& h) { return fmt::format("Operator({} x {})", h.rows(), h.cols()); });

  m.def(
      "finite_differences", [](std::pair<Index, Index> shape) { return finite_differences(grid_of(shape)); }, "shape"_a,
      "Forward differences of neighbours in an image of this height and width: along the rows, then down the columns.");
  m.def(
      "wavelets", [](std::pair<Index, Index> shape, int levels) { return wavelets(grid_of(shape), levels); }, "shape"_a,
      "levels"_a, "Orthonormal Daubechies wavelets with four taps, periodic.");
  m.def(
      "convolution",
      [](nb::handle kernel, std::pair<Index, Index> shape, const std::string& boundary) {
        if (boundary != "circular" && boundary != "zero")
          throw InvalidOption(fmt::format("boundary: expected circular or zero, found \"{}\"", boundary));
        return convolution(to_matrix(kernel, "kernel"), grid_of(shape),
                           boundary == "zero" ? Boundary::zero : Boundary::circular);
      },
      "kernel"_a, "shape"_a, "boundary"_a = "circular",
      nb::sig(
          "def convolution(kernel: ArrayLike, shape: tuple[int, int], boundary: typing.Literal['circular', 'zero'] = "
          "'circular') -> Operator"),
      "The convolution of an image of this height and width with a kernel.");
  m.def(
      "subsampled_fourier",
      [](nb::handle mask) {
        const FrequencyMask chosen = mask_of(mask);
        return subsampled_fourier({chosen.rows(), chosen.cols()}, chosen);
      },
      "mask"_a, nb::sig("def subsampled_fourier(mask: ArrayLike) -> Operator"),
      "The Fourier coefficients of an image that the mask marks: real parts, then imaginary parts.");
  m.def(
      "stacked", [](const std::vector<OperatorHandle>& parts) { return stacked(parts); }, "parts"_a,
      "The rows of all operators, one below the other.");
  m.def(
      "from_matrix", [](nb::handle matrix) { return from_matrix(to_sparse(matrix, "matrix")); }, "matrix"_a,
      nb::sig("def from_matrix(matrix: typing.Any) -> Operator"),
      "A matrix among operators, to be stacked or composed; copied. A model takes a matrix as it is.");
}

}  // namespace gaussmith::python
