// The extension: the library's public headers under Python names. What is pleasant to use stands in the package around
// it; here are the values that both share.

#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/report.hpp"
#include "gaussmith/version.hpp"
#include "interpreter.hpp"
#include "measurement.hpp"
#include "spelling.hpp"

#include <nanobind/stl/string.h>

#include <exception>
#include <string>

namespace gaussmith::python {

namespace {

/// An exception of Python for one of the library, whose messages call things as Python does. Looked at in reverse: what
/// is derived is made after what it is derived from.
template <class Error>
nb::object bind_error(nb::module_& m, const char* name, nb::handle base) {
  const std::string full_name = nb::cast<std::string>(m.attr("__name__")) + "." + name;
  nb::object type = nb::steal(PyErr_NewException(full_name.c_str(), base.ptr(), nullptr));
  m.attr(name) = type;
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* kind) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& error) {
          PyErr_SetString(static_cast<PyObject*>(kind), in_python(error.what()).c_str());
        }
      },
      type.ptr());
  return type;
}

}  // namespace

void bind_errors(nb::module_& m) {
  const nb::object invalid_input = bind_error<InvalidInput>(m, "InvalidInput", PyExc_ValueError);
  bind_error<InvalidModel>(m, "InvalidModel", invalid_input);
  const nb::object invalid_option = bind_error<InvalidOption>(m, "InvalidOption", invalid_input);
  bind_error<InvalidFormula>(m, "InvalidFormula", invalid_option);
  bind_error<InvalidFile>(m, "InvalidFile", invalid_input);
  bind_error<MachineError>(m, "MachineError", PyExc_OSError);
  bind_error<Interrupted>(m, "Interrupted", PyExc_RuntimeError);
}

}  // namespace gaussmith::python

NB_MODULE(_core, m) {
  using namespace gaussmith::python;
  // A function of the caller that reaches its own posterior lives as long as the interpreter: no mistake of ours.
  nb::set_leak_warnings(false);
  m.attr("__version__") = std::string(gaussmith::version);
  watch_the_end();
  bind_errors(m);
  bind_kernels(m);
  bind_sites(m);
  bind_operators(m);
  bind_model(m);
  bind_methods(m);
  bind_prediction(m);
  bind_inference(m);
  bind_networks(m);
  bind_tables(m);
  bind_files(m);
  bind_draws(m);
  bind_trust(m);
  bind_compare(m);
  bind_measurement(m);
  bind_active(m);
}
