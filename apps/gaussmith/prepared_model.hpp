#pragma once
// From the command line to a model: what `fit`, `compare` and `calibrate` do before any inference.

#include "assignments.hpp"
#include "fit_options.hpp"
#include "fit_summary.hpp"
#include "gaussmith/files.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith::app {

/// A model ready to be fitted, and what will be said about it.
struct Prepared {
  Model model;
  TableCoding coding;                        ///< Of new tables; of a problem only where it will be saved.
  Index data_rows = 0;                       ///< Of a table: rows below them are sites of the prior.
  std::vector<std::string> kept_parameters;  ///< That learning leaves alone.
  std::optional<PredictionRequest> prediction;
  std::optional<InducingSelection> selection;  ///< Inducing variables that are to be chosen.
  FitSummary summary;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// Throws InvalidOption for a network, which `fit` alone takes.
void refuse_network(const std::string& file, const Problem& problem);

/// The model of a problem file; its coding only where it will be saved.
[[nodiscard]] Prepared prepare_problem(const std::string& file, Problem problem, const Settings& settings,
                                       bool will_be_saved);

/// The model of a table.
[[nodiscard]] Prepared prepare_table(const TableArguments& table, bool learning, const Settings& settings);

}  // namespace gaussmith::app
