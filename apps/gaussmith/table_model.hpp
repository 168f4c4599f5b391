#pragma once
// From a table to a model: codings, prior, likelihood and starting values.

#include "assignments.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/model.hpp"

#include <optional>
#include <string>
#include <vector>

namespace gaussmith::app {

struct TableArguments {
  std::string data;
  std::string target;
  std::vector<std::string> features;
  std::vector<std::string> categorical;
  std::string likelihood;
  std::string prior = "gp";
  std::string kernel;  ///< Empty: se.
  std::string mean = "0";
  bool standardize = false;
  bool drop_missing = false;
  bool no_intercept = false;
  std::string trials;
  std::string exposure;
  std::string censored;
  std::string offset;
};

struct TableModel {
  Model model;
  SavedModel saved;  ///< Codings and columns; the fit is filled in later.
  std::string data_line;
  std::string model_line;
  std::vector<std::string> coding_lines;
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

/// `learning`: parameters that are not set start from the data's scale instead of the documented defaults.
[[nodiscard]] TableModel build_table_model(const TableArguments& arguments, const std::vector<Assignment>& parameters,
                                           bool learning);

/// Columns of the table that give row-wise arguments of the likelihood, checked; `names` maps argument to column.
[[nodiscard]] SiteArguments row_arguments(const Table& table,
                                          const std::map<std::string, std::string, std::less<>>& names);

/// The design of a linear model with or without the leading column of ones.
[[nodiscard]] Matrix with_intercept(const Matrix& features, bool intercept);
[[nodiscard]] SparseMatrix with_intercept(const SparseMatrix& features, bool intercept);

}  // namespace gaussmith::app
