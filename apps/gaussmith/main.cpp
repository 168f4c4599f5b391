// The command-line tool: parses, calls one command, prints its outcome and turns every failure into one line and an
// exit code.

#include "command.hpp"
#include "echo.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/version.hpp"
#include "out_of_memory.hpp"
#include "run_control.hpp"
#include "suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <vector>

namespace {

using namespace gaussmith;
using namespace gaussmith::app;

/// What the user typed, for messages that quote it.
std::vector<std::string>& typed() {
  static std::vector<std::string> arguments;
  return arguments;
}

int fail(int code, std::string_view message) {
  fmt::print(stderr, "gaussmith: error: {}\n", one_line(with_short_echoes(std::string(message), typed())));
  return code;
}

/// Writes all of stdout at once. A reader that left early (`| head`) is no failure; a full disk is.
int write_output(const std::string& text) {
  begin_writing();
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written || errno == EPIPE) {
    return exit_done;
  }
  return fail(exit_machine, fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

int finish(const Outcome& outcome, bool quiet) {
  begin_writing();
  if (!quiet) {
    for (const auto& note : outcome.notes) {
      fmt::print(stderr, "gaussmith: note: {}\n", one_line(note));
    }
    for (const auto& warning : outcome.warnings) {
      fmt::print(stderr, "gaussmith: warning: {}\n", one_line(warning));
    }
  }
  const int written = write_output(outcome.output);
  return written == exit_done ? outcome.code : written;
}

/// How many characters the first `bytes` of UTF-8 text are.
std::size_t characters(std::string_view text, std::size_t bytes) {
  const std::string_view before = text.substr(0, bytes);
  return static_cast<std::size_t>(std::count_if(
      before.begin(), before.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// What the first argument is where it is no command; empty where there is none, or an option.
std::string unknown_command(const CLI::App& root, std::string_view first) {
  if (!root.get_subcommands().empty() || first.empty() || first.starts_with('-')) {
    return {};
  }
  const std::vector<std::string> names = command_names(root);
  return fmt::format("unknown command \"{}\"{}; the commands are {}", first, suggestion(first, names),
                     fmt::join(names, ", "));
}

/// The command that was given, the innermost of nested ones; the root where there is none.
const CLI::App& used_command(const CLI::App& root) {
  const CLI::App* command = &root;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  return *command;
}

/// "gaussmith design active".
std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? "gaussmith" : full_name(*command.get_parent()) + " " + command.get_name();
}

std::string usage_error(const CLI::App& root, const CLI::ParseError& error, std::string_view first) {
  std::string message = one_line(error.what());
  const CLI::App& used = used_command(root);
  if (std::string command = unknown_command(root, first); !command.empty()) {
    message = std::move(command);
  } else if (const auto unknown = unknown_option(used, typed())) {
    message = fmt::format("unknown option {}{}", unknown->name, unknown->suggestion);
  }
  return fmt::format("{}; see {} --help", message, full_name(used));
}

int run(int argc, char** argv) {
  typed().assign(argv + std::min(argc, 1), argv + argc);
  CLI::App root{
      "Gaussmith: deterministic Bayesian inference in latent Gaussian models.\n"
      "Fits Gaussian-process and linear models with many likelihoods, learns their parameters from the evidence,\n"
      "predicts with uncertainty and judges the result.",
      "gaussmith"};
  root.footer(
      "Examples:\n"
      "  gaussmith fit --data train.csv --target y --likelihood bernoulli-probit --kernel se-ard --standardize \\\n"
      "                --learn --save model.gsm\n"
      "  gaussmith predict --model model.gsm --data new.csv --output predictions.csv\n"
      "  gaussmith evaluate --model model.gsm --data test.csv\n"
      "  gaussmith fit --problem problem.json --method laplace --json\n\n"
      "Exit codes: 0 done and converged, 1 bad use or bad input, 2 not converged or interrupted, 3 the machine "
      "failed.");
  root.set_version_flag("--version", fmt::format("gaussmith {}", version));
  root.require_subcommand(1);
  root.get_formatter()->column_width(34);

  CommonOptions common;
  const Command commands[] = {add_fit(root, common),
                              add_predict(root, common),
                              add_evaluate(root, common),
                              add_compare(root, common),
                              add_calibrate(root, common),
                              add_design_active(root, common),
                              add_design_measure(root, common),
                              add_methods(root, common),
                              add_likelihoods(root, common),
                              add_kernels(root, common)};
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const CLI::App& used = used_command(root);
    if (const std::string unknown = unknown_command(root, argc > 1 ? argv[1] : ""); !unknown.empty()) {
      return fail(exit_bad_input, unknown + "; see gaussmith --help");
    }
    return write_output(&used == &root ? root.help() : used.help(full_name(*used.get_parent())));
  } catch (const CLI::CallForVersion& call) {
    return write_output(std::string(call.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    return fail(exit_bad_input, usage_error(root, error, argc > 1 ? argv[1] : ""));
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) {
      return finish(command.run(), common.quiet);
    }
  }
  return fail(exit_bad_input, "no command given; see gaussmith --help");
}

/// Matrices come and go all the time. What they have had is kept for the next ones: given back and had again, every
/// page is cleared anew, which took a sixth of the processor time of fits with tens of thousands of weights.
void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int own_mapping_from = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, own_mapping_from);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  std::signal(SIGPIPE, SIG_IGN);
  // A limit on file sizes then fails in write(), as a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  watch_interrupts();
  try {
    return run(argc, argv);
  } catch (const InvalidFormula& error) {
    const int code = fail(exit_bad_input, error.what());
    fmt::print(stderr, "  {}\n  {:>{}}\n", one_line(error.text()), '^', characters(error.text(), error.place()) + 1);
    return code;
  } catch (const InvalidInput& error) {
    return fail(exit_bad_input, error.what());
  } catch (const Interrupted&) {
    tell_interrupted();
    return exit_not_converged;
  } catch (const MachineError& error) {
    return fail(exit_machine, error.what());
  } catch (const std::bad_alloc&) {
    tell_out_of_memory();
    return exit_machine;
  } catch (const std::length_error&) {
    return fail(exit_machine, "out of memory: a size is beyond what the machine can address");
  } catch (const std::exception& error) {
    return fail(exit_not_converged, fmt::format("internal failure: {}", error.what()));
  }
}
