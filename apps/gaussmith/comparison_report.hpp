#pragma once
// A comparison as text, as JSON and as a table in Markdown.

#include "gaussmith/compare.hpp"
#include "gaussmith/files.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace gaussmith::app {

struct ReportedComparison {
  const Comparison* comparison = nullptr;
  std::string data_line, model_line;
  std::string densities;                          ///< What log_density is: "held out" or "left out".
  const PredictionRequest* prediction = nullptr;  ///< What a problem asks to predict.
};

/// One row a method, cells as text; the first row holds the names of the columns.
[[nodiscard]] std::vector<std::vector<std::string>> comparison_table(const ReportedComparison& report);

[[nodiscard]] std::string comparison_text(const ReportedComparison& report);
[[nodiscard]] std::string comparison_markdown(const ReportedComparison& report);
/// gaussmith-comparison/1; `full` keeps the arrays of every row.
[[nodiscard]] std::string comparison_json(const ReportedComparison& report, bool full);

/// One self-contained page: the table, the evidences, the marginals of the worst latents over the truth's draws, and
/// the calibration of predictions where there are responses.
[[nodiscard]] std::string comparison_page(const ReportedComparison& report);

}  // namespace gaussmith::app
