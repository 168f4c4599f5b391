#pragma once
#include "gaussmith/infer.hpp"

#include <nanobind/nanobind.h>

#include <string>

namespace gaussmith::python {

/// What the classes Laplace, Kl, ... of Python hold; `Named` makes a type of each.
struct MethodHolder {
  Method method;
};

/// "Ep" of "ep".
[[nodiscard]] std::string class_name(std::string name);

/// As the class of that method.
[[nodiscard]] nanobind::object to_python(const Method& method);

/// An option as make_method() reads it. A number has the digits that give it back.
[[nodiscard]] std::string option_text(nanobind::handle value, const std::string& name);
/// 200 and 1e-08 as numbers, everything else as text.
[[nodiscard]] nanobind::object to_python(const MethodOptionInfo& info, const std::string& text);

}  // namespace gaussmith::python
