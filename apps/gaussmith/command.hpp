#pragma once
// What every command of the tool shares: common options, the outcome of a run and how it is printed.

#include <CLI/App.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith::app {

/// Exit codes of docs/formats.md.
enum ExitCode : int { exit_done = 0, exit_bad_input = 1, exit_not_converged = 2, exit_machine = 3 };

struct CommonOptions {
  bool json = false;
  bool quiet = false;
  int threads = 0;  ///< 0: all cores.
  std::uint64_t seed = 0;
};

/// What a command has to say. Nothing is printed before it is done, so that an error is one line and no more.
struct Outcome {
  int code = exit_done;
  std::string output;                 ///< For stdout.
  std::vector<std::string> notes;     ///< For stderr, unless quiet.
  std::vector<std::string> warnings;  ///< The same, marked as warnings.
};

struct Command {
  CLI::App* app = nullptr;
  std::function<Outcome()> run;
};

Command add_fit(CLI::App& root, CommonOptions& common);
Command add_predict(CLI::App& root, CommonOptions& common);
Command add_evaluate(CLI::App& root, CommonOptions& common);
Command add_compare(CLI::App& root, CommonOptions& common);
Command add_calibrate(CLI::App& root, CommonOptions& common);
Command add_design_active(CLI::App& root, CommonOptions& common);
Command add_design_measure(CLI::App& root, CommonOptions& common);
Command add_methods(CLI::App& root, CommonOptions& common);
Command add_likelihoods(CLI::App& root, CommonOptions& common);
Command add_kernels(CLI::App& root, CommonOptions& common);

/// --json and --quiet, and for commands that compute --threads and --seed.
void add_common(CLI::App& app, CommonOptions& common, bool computes);

/// Control characters become spaces: messages may quote what a file holds.
[[nodiscard]] std::string one_line(std::string_view text);

/// A cell of a CSV file, quoted where it must be.
[[nodiscard]] std::string csv_text(const std::string& text, char separator = ',');

/// What separates the cells of a table written to this file: a tab for .tsv and .tab, as tables of these names are
/// read.
[[nodiscard]] char separator_of(std::string_view file);

/// "1 row", "7 rows".
[[nodiscard]] std::string plural(std::int64_t count, std::string_view noun);

}  // namespace gaussmith::app
