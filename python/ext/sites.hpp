#pragma once
#include "arrays.hpp"
#include "gaussmith/sites.hpp"

namespace gaussmith::python {

/// A mapping of names to one number or one a row; None: empty.
[[nodiscard]] SiteArguments to_site_arguments(nb::handle given, const std::string& owner);

/// Likelihoods from functions of Python.
void bind_custom(nb::module_& m);

}  // namespace gaussmith::python
