#include "command_line.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace reproduce {
namespace {

std::string listed(const std::vector<std::string>& names, const char* before) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + (before + name);
  return list;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

CommandLine::CommandLine(int argc, char** argv, const std::vector<std::string>& names) {
  for (int i = 1; i < argc; i += 2) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0 || !contains(names, word.substr(2)))
      throw std::invalid_argument("unknown option " + word + "; there are " + listed(names, "--"));
    if (i + 1 == argc) throw std::invalid_argument(word + " wants a value");
    values_[word.substr(2)] = argv[i + 1];
  }
}

std::string CommandLine::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

int CommandLine::number(const std::string& name, int otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : std::stoi(found->second);
}

std::vector<std::string> CommandLine::chosen(const std::string& name, const std::vector<std::string>& choices) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return choices;
  if (!contains(choices, found->second))
    throw std::invalid_argument("--" + name + " takes one of " + listed(choices, "") + ", not " + found->second);
  return {found->second};
}

int guarded(const char* program, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace reproduce
