#pragma once
// What results of every kind have in common in Python.

#include "arrays.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/learn.hpp"

#include <optional>
#include <vector>

namespace gaussmith::python {

/// Of the mapping that learn() of the package makes of its keywords.
[[nodiscard]] LearnOptions to_learn_options(const Model& model, const nb::dict& given);

[[nodiscard]] nb::dict report_fields(const Report& report);
[[nodiscard]] nb::dict evidence_fields(const Evidence& evidence);
/// Mean and variance; those of several latents a row are N x C.
[[nodiscard]] nb::tuple moments(const Marginals& marginals, Index latents);
[[nodiscard]] nb::dict left_out_fields(const LeaveOneOut& left_out, Index latents);
[[nodiscard]] nb::list coefficient_list(const std::vector<Coefficient>& all);

}  // namespace gaussmith::python
