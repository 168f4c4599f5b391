#include "design_shared.hpp"

#include "assignments.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/files.hpp"

#include <fmt/format.h>

namespace gaussmith::app {

CLI::App* design_group(CLI::App& root) {
  for (CLI::App* const known : root.get_subcommands([](const CLI::App*) { return true; })) {
    if (known->get_name() == "design") {
      return known;
    }
  }
  CLI::App* const design = root.add_subcommand("design", "Choose which data to acquire");
  design->require_subcommand(1);
  return design;
}

Method design_method(const std::string& name, const std::vector<std::string>& set,
                     const std::map<std::string, std::string>& defaults, std::string_view elsewhere) {
  const Settings settings = sort_settings(parse_assignments("--set", set), name);
  if (!settings.parameters.empty() || !settings.learning.empty() || !settings.integration.empty()) {
    throw InvalidOption(
        fmt::format("--set takes options of the method here, such as {}.tolerance=1e-6; {}", name, elsewhere));
  }
  auto options = settings.method_options;
  for (const auto& [option, value] : defaults) {
    if (option.starts_with(name + ".")) {
      options.try_emplace(option, value);
    }
  }
  return make_method(name, options);
}

void GrowingTable::append(const std::string& lines) {
  if (file_.empty()) {
    return;
  }
  if (!out_) {
    write_file(file_, header_);
    out_.emplace(file_, std::ios::binary | std::ios::app);
  }
  *out_ << lines << std::flush;
  if (!*out_) {
    throw MachineError(fmt::format("cannot write {}", file_));
  }
}

}  // namespace gaussmith::app
