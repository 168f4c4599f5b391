#pragma once
// What was meant by an option or a command that does not exist.

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

namespace gaussmith::app {

/// The names of all commands.
[[nodiscard]] std::vector<std::string> command_names(const CLI::App& root);

struct UnknownOption {
  std::string name;        ///< As it was typed, without a value.
  std::string suggestion;  ///< " (did you mean --kernel?)"; empty if no option of the command is near.
};

/// The first of the arguments that looks like an option and is none of the command.
[[nodiscard]] std::optional<UnknownOption> unknown_option(const CLI::App& command,
                                                          const std::vector<std::string>& arguments);

}  // namespace gaussmith::app
