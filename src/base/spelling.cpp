#include "base/spelling.hpp"

#include <algorithm>

namespace gaussmith {

std::string option_name(std::string_view field, Spelling spelling) {
  std::string name(field);
  if (spelling == Spelling::command_line) {
    std::replace(name.begin(), name.end(), '_', '-');
    name.insert(0, "--");
  }
  return name;
}

std::string setting_name(std::string_view parameter, Spelling spelling) {
  return (spelling == Spelling::command_line ? "--set " : "") + std::string(parameter);
}

}  // namespace gaussmith
