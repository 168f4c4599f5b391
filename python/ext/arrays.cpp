#include "arrays.hpp"

#include "borrowed.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/report.hpp"
#include "operators.hpp"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace gaussmith::python {

namespace {

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

std::string type_of(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

[[noreturn]] void refuse(const std::string& name, const std::string& expected, const std::string& found) {
  throw InvalidModel(fmt::format("{}: expected {}, found {}", name, expected, found));
}

nb::module_ numpy() { return nb::module_::import_("numpy"); }

/// As numpy sees it: an array of float64, not copied where it is one already.
nb::object as_numbers(nb::handle values, const std::string& name) {
  if (values.is_none()) refuse(name, "numbers", "None");
  if (is_sparse(values)) refuse(name, "an array", "a sparse matrix; its toarray() is one");
  nb::module_ np = numpy();
  if (nb::isinstance(values, np.attr("ma").attr("MaskedArray")) &&
      nb::cast<bool>(nb::bool_(np.attr("ma").attr("is_masked")(values))))
    refuse(name, "numbers", "a masked array");
  nb::object array;
  try {
    array = np.attr("asarray")(values);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ValueError)) throw;
    refuse(name, "numbers", fmt::format("{} of rows that differ in length", type_of(values)));
  }
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind.find_first_of("fiub") == std::string::npos)
    refuse(name, "numbers", fmt::format("{} of dtype {}", type_of(values), text_of(array.attr("dtype"))));
  return np.attr("asarray")(array, nb::arg("dtype") = "float64");
}

std::string shape_of(nb::handle array) { return "shape " + text_of(array.attr("shape")); }

using AnyArray = nb::ndarray<const double, nb::numpy, nb::ro, nb::device::cpu>;

Vector flat(const AnyArray& array) {
  Vector out(static_cast<Index>(array.shape(0)));
  const auto stride = static_cast<std::ptrdiff_t>(array.stride(0));
  for (Index i = 0; i < out.size(); ++i) out(i) = array.data()[i * stride];
  return out;
}

/// Eigen takes the numbers of a dense matrix as aligned to its own boundaries.
bool is_aligned(const void* data) {
  return EIGEN_DEFAULT_ALIGN_BYTES == 0 || reinterpret_cast<std::uintptr_t>(data) % EIGEN_DEFAULT_ALIGN_BYTES == 0;
}

template <class Value>
using Numbers = nb::ndarray<const Value, nb::numpy, nb::ndim<1>, nb::c_contig, nb::ro, nb::device::cpu>;

/// Canonical CSR with 32-bit indices and numbers of Value: scipy's own object where it is that already.
template <class Value>
std::shared_ptr<const Eigen::SparseMatrix<Value, Eigen::RowMajor>> share_rows(nb::object csr, const std::string& name) {
  nb::module_ np = numpy();
  const auto rows = nb::cast<Index>(csr.attr("shape")[0]);
  const auto cols = nb::cast<Index>(csr.attr("shape")[1]);
  const auto entries = nb::cast<Index>(csr.attr("nnz"));
  if (std::max({rows, cols, entries}) >= std::numeric_limits<int>::max())
    refuse(name, "fewer than 2^31 rows, columns and entries", fmt::format("{} x {} with {}", rows, cols, entries));
  const char* const wanted = sizeof(Value) == sizeof(float) ? "float32" : "float64";
  // ascontiguousarray copies where it must.
  nb::object data = np.attr("ascontiguousarray")(csr.attr("data"), nb::arg("dtype") = wanted);
  nb::object indices = np.attr("ascontiguousarray")(csr.attr("indices"), nb::arg("dtype") = "int32");
  nb::object indptr = np.attr("ascontiguousarray")(csr.attr("indptr"), nb::arg("dtype") = "int32");
  auto values = nb::cast<Numbers<Value>>(data, false);
  auto columns = nb::cast<Numbers<std::int32_t>>(indices, false);
  auto starts = nb::cast<Numbers<std::int32_t>>(indptr, false);
  // scipy trusts whoever filled its arrays; we read memory at these places.
  if (static_cast<Index>(starts.shape(0)) != rows + 1 || starts.data()[0] != 0 || starts.data()[rows] != entries ||
      static_cast<Index>(values.shape(0)) < entries || static_cast<Index>(columns.shape(0)) < entries)
    refuse(name, "a valid CSR matrix", "arrays that do not fit together");
  for (Index n = 0; n < rows; ++n) {
    const int first = starts.data()[n];
    const int last = starts.data()[n + 1];
    if (last < first || last > entries)
      refuse(name, "a valid CSR matrix", fmt::format("row {} ending before it starts", n));
    for (int k = first; k < last; ++k) {
      const int column = columns.data()[k];
      if (column < 0 || column >= cols || (k > first && column <= columns.data()[k - 1]))
        refuse(name, "a valid CSR matrix with sorted columns", fmt::format("column {} in row {}", column, n));
    }
  }
  const typename BorrowedRows<Value>::Arrays arrays{values.data(), columns.data(), starts.data(), rows, cols, entries};
  nb::tuple all = nb::make_tuple(data, indices, indptr);
  return std::make_shared<const BorrowedRows<Value>>(arrays, kept(std::move(all)));
}

nb::object canonical_rows(nb::handle values, const std::string& name) {
  const std::string kind = nb::cast<std::string>(values.attr("dtype").attr("kind"));
  if (kind.find_first_of("fiub") == std::string::npos)
    refuse(name, "numbers", "a sparse matrix of dtype " + text_of(values.attr("dtype")));
  if (nb::cast<int>(values.attr("ndim")) != 2) refuse(name, "two dimensions", shape_of(values));
  nb::object csr = nb::borrow(values);
  if (nb::cast<std::string>(csr.attr("format")) != "csr") csr = csr.attr("tocsr")();
  if (!nb::cast<bool>(nb::bool_(csr.attr("has_canonical_format")))) {
    csr = csr.attr("copy")();
    csr.attr("sum_duplicates")();
  }
  return csr;
}

}  // namespace

Callable::Holder::~Holder() {
  if (nb::is_alive()) try {
      const Locked lock;
      object.reset();
      return;
    } catch (const Interrupted&) {
    }
  static_cast<void>(object.release());  // It goes with the process.
}

std::shared_ptr<const void> kept(nb::object object) {
  auto holder = std::make_shared<const Callable>(std::move(object));
  return holder;
}

bool is_sparse(nb::handle values) { return nb::hasattr(values, "tocsr") && nb::hasattr(values, "nnz"); }

Vector to_vector(nb::handle values, const std::string& name) {
  const nb::object numbers = as_numbers(values, name);
  const auto array = nb::cast<AnyArray>(numbers, false);
  if (array.ndim() == 0) return Vector::Constant(1, *array.data());
  if (array.ndim() != 1) refuse(name, "one number or one dimension", shape_of(numbers));
  return flat(array);
}

Vector to_optional_vector(nb::handle values, const std::string& name) {
  return values.is_none() ? Vector() : to_vector(values, name);
}

Vector to_row_values(nb::handle values, const std::string& name) {
  if (values.is_none()) return {};
  const nb::object numbers = as_numbers(values, name);
  if (nb::cast<int>(numbers.attr("ndim")) != 2) return to_vector(numbers, name);
  return to_vector(numbers.attr("ravel")(), name);
}

double to_number(nb::handle value, const std::string& name) {
  const Vector numbers = to_vector(value, name);
  if (numbers.size() != 1) refuse(name, "one number", fmt::format("{} of them", numbers.size()));
  return numbers(0);
}

Index to_whole(nb::handle value, const std::string& name) {
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    refuse(name, "a whole number", nb::cast<std::string>(nb::repr(value)));
  }
  const Py_ssize_t found = PyNumber_AsSsize_t(number.ptr(), nullptr);  // The nearest that there is room for.
  return static_cast<Index>(found);
}

int to_count(nb::handle value, const std::string& name, int least) {
  constexpr int most = std::numeric_limits<int>::max();
  const Index found = to_whole(value, name);
  if (found < least || found > most)
    throw InvalidOption(fmt::format("{}: expected a whole number from {} to {}, found {}", name, least, most,
                                    nb::cast<std::string>(nb::str(value))));
  return static_cast<int>(found);
}

std::shared_ptr<const Matrix> to_shared_matrix(nb::handle values, const std::string& name) {
  nb::object numbers = as_numbers(values, name);
  auto array = nb::cast<AnyArray>(numbers, false);
  if (array.ndim() == 1) {
    numbers = numbers.attr("reshape")(-1, 1);
    array = nb::cast<AnyArray>(numbers, false);
  }
  if (array.ndim() != 2) refuse(name, "two dimensions", shape_of(numbers));
  const auto rows = static_cast<Index>(array.shape(0));
  const auto cols = static_cast<Index>(array.shape(1));
#ifdef GAUSSMITH_BORROWS_DENSE
  const bool by_columns = (array.stride(0) == 1 || rows <= 1) && (array.stride(1) == rows || cols <= 1);
  if (by_columns && rows * cols > 0 && is_aligned(array.data()))
    return std::make_shared<const BorrowedMatrix>(array.data(), rows, cols, kept(numbers));
#endif
  using Strides = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  return std::make_shared<const Matrix>(Eigen::Map<const Matrix, Eigen::Unaligned, Strides>(
      array.data(), rows, cols, Strides(static_cast<Index>(array.stride(1)), static_cast<Index>(array.stride(0)))));
}

Matrix to_matrix(nb::handle values, const std::string& name) { return *to_shared_matrix(values, name); }

std::vector<Index> to_indices(nb::handle values, const std::string& name) {
  const Vector numbers = to_vector(values, name);
  std::vector<Index> out;
  out.reserve(static_cast<std::size_t>(numbers.size()));
  for (const double number : numbers) {
    if (number != std::floor(number)) refuse(name, "whole numbers", fmt::format("{}", number));
    out.push_back(static_cast<Index>(number));
  }
  return out;
}

SparseMatrix to_sparse(nb::handle values, const std::string& name) {
  if (is_sparse(values)) return *share_rows<double>(canonical_rows(values, name), name);
  return to_shared_matrix(values, name)->sparseView();
}

Design to_design(nb::handle values, const std::string& name) {
  if (values.is_none()) return Identity{};
  if (is_sparse(values)) {
    nb::object csr = canonical_rows(values, name);
    if (text_of(csr.attr("dtype")) == "float32") return share_rows<float>(csr, name);
    return share_rows<double>(csr, name);
  }
  if (OperatorHandle known; nb::try_cast(values, known, false) && known) return known;
  if (nb::hasattr(values, "matvec") && nb::hasattr(values, "rmatvec") && nb::hasattr(values, "shape"))
    return wrap_operator(nb::borrow(values), name);
  return to_shared_matrix(values, name);
}

Array to_array(Vector values) { return to_array(std::move(values), 1); }

Array to_array(Vector values, Index width) {
  auto* const held = new Vector(std::move(values));
  nb::capsule owner(held, [](void* memory) noexcept { delete static_cast<Vector*>(memory); });
  const auto size = static_cast<std::size_t>(held->size());
  if (width <= 1) return {held->data(), {size}, owner};
  const auto columns = static_cast<std::size_t>(width);
  return {held->data(), {size / columns, columns}, owner};
}

Array to_blocks(Vector values, Index width) {
  auto* const held = new Vector(std::move(values));
  nb::capsule owner(held, [](void* memory) noexcept { delete static_cast<Vector*>(memory); });
  const auto columns = static_cast<std::size_t>(std::max<Index>(width, 1));
  return {held->data(), {static_cast<std::size_t>(held->size()) / (columns * columns), columns, columns}, owner};
}

Array to_array(Matrix values) {
  auto* const held = new Matrix(std::move(values));
  nb::capsule owner(held, [](void* memory) noexcept { delete static_cast<Matrix*>(memory); });
  const auto rows = static_cast<std::size_t>(held->rows());
  const auto cols = static_cast<std::size_t>(held->cols());
  return {held->data(), {rows, cols}, owner, {1, static_cast<std::int64_t>(rows)}};
}

}  // namespace gaussmith::python
