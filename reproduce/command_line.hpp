#pragma once
// Options of the multi-class programs: names with a value each.

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace reproduce {

class CommandLine {
 public:
  /// --name value pairs; throws std::invalid_argument for a name that is not among `names`.
  CommandLine(int argc, char** argv, const std::vector<std::string>& names);

  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const;
  [[nodiscard]] int number(const std::string& name, int otherwise) const;
  /// The value of --only, which must be among `choices`, or all of them.
  [[nodiscard]] std::vector<std::string> chosen(const std::string& name, const std::vector<std::string>& choices) const;

 private:
  std::map<std::string, std::string> values_;
};

/// Runs the body of a program; an error goes to stderr with the program's name. Returns the exit code.
[[nodiscard]] int guarded(const char* program, const std::function<void()>& body);

}  // namespace reproduce
