#include "suggest.hpp"

#include "gaussmith/errors.hpp"

#include <algorithm>

namespace gaussmith::app {

std::vector<std::string> command_names(const CLI::App& root) {
  std::vector<std::string> names;
  for (const CLI::App* known : root.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(known->get_name());
  }
  return names;
}

std::optional<UnknownOption> unknown_option(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      known.push_back("--" + name);
    }
  }
  for (const std::string& argument : arguments) {
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() > 2 && name.starts_with("--") && std::find(known.begin(), known.end(), name) == known.end()) {
      return UnknownOption{name, suggestion(name, known)};
    }
  }
  return {};
}

}  // namespace gaussmith::app
