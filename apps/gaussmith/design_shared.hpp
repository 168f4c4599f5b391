#pragma once
// What the commands of design have in common: their place, their method, and files that grow while a run goes on.

#include "gaussmith/infer.hpp"

#include <CLI/App.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith::app {

/// `design`, made by the first command that asks for it.
[[nodiscard]] CLI::App* design_group(CLI::App& root);

/// The method of that name with what --set says; `defaults` are values of options that design starts from in place of
/// the method's own. `elsewhere` says where other settings have their options.
[[nodiscard]] Method design_method(const std::string& name, const std::vector<std::string>& set,
                                   const std::map<std::string, std::string>& defaults, std::string_view elsewhere);

/// A table that grows by whole lines. It is begun anew by every run, which knows all lines before its own: what a run
/// that was killed wrote after its last state is found again.
class GrowingTable {
 public:
  /// No file where the name is empty. The header has a line end.
  GrowingTable(std::string file, std::string header) : file_(std::move(file)), header_(std::move(header)) {}

  /// Appends lines, with their ends. Throws MachineError.
  void append(const std::string& lines);

 private:
  std::string file_, header_;
  std::optional<std::ofstream> out_;
};

}  // namespace gaussmith::app
