#pragma once
// The command line of the robust regression programs.

#include "robust_protocol.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace reproduce {

struct Options {
  int sets = 10;
  int threads = 1;
  std::string only = {};    ///< One data set instead of all.
  std::string method = {};  ///< One method instead of all.
  std::filesystem::path data = "data";
  Protocol protocol;
};

/// What --only and --method take; no methods: there is no --method.
struct Choices {
  std::vector<std::string> data_sets, methods = {};
};

/// --sets --seed --restarts --start --scale --threads --only --method --data, each with a value. Throws
/// std::invalid_argument.
[[nodiscard]] Options parse_options(int argc, char** argv, const Options& defaults, const Choices& choices);

/// The whole of a program: options, run, seconds; an error goes to stderr with the program's name. Returns the exit
/// code.
[[nodiscard]] int run_program(const char* name, int argc, char** argv, const Options& defaults, const Choices& choices,
                              const std::function<void(const Options&)>& run);

}  // namespace reproduce
