#pragma once
#include <string>
#include <vector>

namespace gaussmith::python {

/// What the library says to people at a command line, as Python calls it: "--drop-missing" is drop_missing, "--method
/// ep
/// --set ep.power=0.5" is gs.Ep(power=0.5), "argument_columns.trials" is trials.
[[nodiscard]] std::string in_python(const std::string& message);
[[nodiscard]] std::vector<std::string> in_python(std::vector<std::string> messages);

}  // namespace gaussmith::python
