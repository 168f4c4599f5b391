#pragma once
// What `fit` can be told.

#include "assignments.hpp"
#include "command.hpp"
#include "gaussmith/table_model.hpp"

#include <map>
#include <string>
#include <vector>

namespace gaussmith::app {

/// A model from a table, as the command line writes it.
struct TableArguments {
  std::string data;
  std::vector<std::string> categorical;
  bool single = false;
  std::string mean = "0";                               ///< A number or auto.
  bool no_intercept = false;                            ///< The option is the negation of the field.
  std::vector<std::string> graphs;                      ///< FILE, or COLUMN=FILE
  std::vector<std::string> coefficient_priors;          ///< NAME=MEAN,SD
  std::map<std::string, std::string> argument_columns;  ///< All that the catalogue knows; empty where not given.
  TableModelOptions model = {.spelling = Spelling::command_line};

  /// The options of the model with all of the above; `parameters` are those of --set.
  [[nodiscard]] TableModelOptions options(const std::vector<Assignment>& parameters, bool learning) const;
};

struct FitArguments {
  TableArguments table;
  std::string problem;
  std::string method;
  std::vector<std::string> set;
  bool learn = false;
  LearnArguments learning;
  bool integrate = false;  ///< Implies learning.
  std::string form = "auto";
  std::string save;
  std::string coefficients;  ///< Where to write them as CSV.
  double level = 0.95;       ///< Of their intervals.
  bool leave_one_out = false;
  bool diagnose = false;
  std::string marginals;  ///< Which ones to correct.
  bool full = false;      ///< Covariances of several latents a row in the result.
  Index inducing = 0;     ///< How many inducing inputs are chosen; 0: none.
  std::string inducing_select;
  std::vector<CLI::Option*> table_options;  ///< None of them goes with --problem.
};

/// Declares the options that make a model of a table.
void add_table_options(CLI::App& app, TableArguments& table);

/// Declares the options of `fit`; `arguments` must outlive the parsing.
void add_fit_options(CLI::App& app, FitArguments& arguments);

/// Throws InvalidOption where options are missing or have no effect together.
void check_usage(const FitArguments& arguments);

}  // namespace gaussmith::app
