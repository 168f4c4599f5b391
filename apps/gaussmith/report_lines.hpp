#pragma once
// Lines and tables that reports of fits have in common.

#include "gaussmith/files.hpp"
#include "gaussmith/report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gaussmith::app {

/// Adds "Label       text\n"; nothing without a text.
void line(std::string& out, std::string_view label, std::string_view text);

/// The standard error and the numerical error where they reach the digits that are printed.
[[nodiscard]] std::string visible_error(const Evidence& evidence);

/// What estimated variances are worth; empty where they are exact.
[[nodiscard]] std::string variances_in_words(const Report& report);

[[nodiscard]] std::string evidence_in_words(EvidenceKind kind);

/// The decisions of a run, the first and the last of them where there are many.
[[nodiscard]] std::string path_lines(const std::vector<std::string>& notes);

/// "yes, in 6 iterations (residual 3.1e-12, needed 1e-08)".
[[nodiscard]] std::string convergence(const Report& report, bool learned);

[[nodiscard]] std::string left_out_line(const Vector& log_density);

/// The coefficients with their intervals, and their ratios where they are ones; empty without coefficients.
[[nodiscard]] std::string coefficient_table(const std::vector<Coefficient>& all, double level,
                                            const std::string& likelihood);

/// The same as the file of --coefficients.
[[nodiscard]] std::string coefficient_csv(const std::vector<Coefficient>& all, char separator);

}  // namespace gaussmith::app
