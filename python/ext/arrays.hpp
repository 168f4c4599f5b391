#pragma once
// Numbers from Python and back. Everything that numpy makes an array of numbers of is accepted; what is wrong with the
// rest is said in one line that names the argument.

#include "gaussmith/design.hpp"
#include "gaussmith/types.hpp"
#include "interpreter.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <vector>

namespace gaussmith::python {

namespace nb = nanobind;

using Array = nb::ndarray<nb::numpy, double>;

/// One number or one dimension; a copy.
[[nodiscard]] Vector to_vector(nb::handle values, const std::string& name);
/// None: empty.
[[nodiscard]] Vector to_optional_vector(nb::handle values, const std::string& name);
/// Numbers for the rows of several latents: one dimension, or rows of them.
[[nodiscard]] Vector to_row_values(nb::handle values, const std::string& name);
[[nodiscard]] double to_number(nb::handle value, const std::string& name);
/// An integer of Python or numpy.
[[nodiscard]] Index to_whole(nb::handle value, const std::string& name);
/// One that an int has room for, not below `least`.
[[nodiscard]] int to_count(nb::handle value, const std::string& name, int least);
/// Two dimensions; one dimension is a single column. float64 in Fortran order is shared, anything else is copied.
[[nodiscard]] std::shared_ptr<const Matrix> to_shared_matrix(nb::handle values, const std::string& name);
[[nodiscard]] Matrix to_matrix(nb::handle values, const std::string& name);
/// Row numbers.
[[nodiscard]] std::vector<Index> to_indices(nb::handle values, const std::string& name);
/// Of scipy.sparse, any format.
[[nodiscard]] bool is_sparse(nb::handle values);
[[nodiscard]] SparseMatrix to_sparse(nb::handle values, const std::string& name);
/// None is the identity; arrays, sparse matrices and LinearOperators of scipy, operators of ours. float64 in Fortran
/// order and canonical CSR with 32-bit indices, float64 or float32, are shared.
[[nodiscard]] Design to_design(nb::handle values, const std::string& name);

/// The numbers move into the array.
[[nodiscard]] Array to_array(Vector values);
[[nodiscard]] Array to_array(Matrix values);
/// Rows of `width` numbers each; one dimension for a width of one.
[[nodiscard]] Array to_array(Vector values, Index width);
/// Rows of `width` x `width` numbers.
[[nodiscard]] Array to_blocks(Vector values, Index width);

/// Keeps a Python object for as long as anything in C++ needs it, on whatever thread that ends.
[[nodiscard]] std::shared_ptr<const void> kept(nb::object object);

/// A Python object that lives in C++ values: copies and destruction take the interpreter's lock.
class Callable {
 public:
  Callable() = default;
  explicit Callable(nb::object function) : function_(std::make_shared<Holder>(std::move(function))) {}
  [[nodiscard]] nb::handle get() const { return function_->object; }
  explicit operator bool() const { return function_ != nullptr; }

 private:
  struct Holder {
    explicit Holder(nb::object held) : object(std::move(held)) {}
    ~Holder();
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
    nb::object object;
  };
  std::shared_ptr<const Holder> function_;
};

}  // namespace gaussmith::python
