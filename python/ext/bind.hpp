#pragma once
// One function a topic; module.cpp calls them.

#include <nanobind/nanobind.h>

namespace gaussmith::python {

namespace nb = nanobind;
using namespace nb::literals;

void bind_errors(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_sites(nb::module_& m);
void bind_operators(nb::module_& m);
void bind_model(nb::module_& m);
void bind_methods(nb::module_& m);
void bind_prediction(nb::module_& m);
void bind_inference(nb::module_& m);
void bind_networks(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_files(nb::module_& m);
void bind_draws(nb::module_& m);
void bind_trust(nb::module_& m);
void bind_compare(nb::module_& m);
void bind_active(nb::module_& m);

}  // namespace gaussmith::python
