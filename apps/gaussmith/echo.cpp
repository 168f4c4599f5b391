#include "echo.hpp"

#include <algorithm>

namespace gaussmith::app {

namespace {

constexpr std::size_t longest_echo = 80;
constexpr std::size_t longest_message = 2000;
constexpr std::string_view ellipsis = "...";

/// Not inside a character of UTF-8.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) {
    --at;
  }
  return at;
}

void replace_all(std::string& message, std::string_view from, const std::string& to) {
  for (std::size_t at = message.find(from); at != std::string::npos; at = message.find(from, at + to.size())) {
    message.replace(at, from.size(), to);
  }
}

/// What messages quote of an argument: all of it, NAME and VALUE, entries of a list, names in a kernel.
std::vector<std::string_view> parts_of(std::string_view argument) {
  std::vector<std::string_view> parts = {argument};
  if (const auto equals = argument.find('='); equals != std::string_view::npos) {
    parts.push_back(argument.substr(equals + 1));
  }
  constexpr std::string_view separators = "=,+*():";
  for (std::size_t begin = 0; begin < argument.size();) {
    const std::size_t end = std::min(argument.find_first_of(separators, begin), argument.size());
    parts.push_back(argument.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string shortened(std::string_view text) {
  if (text.size() <= longest_echo) {
    return std::string(text);
  }
  const std::size_t kept = (longest_echo - ellipsis.size()) / 2;
  std::string out(text.substr(0, character_start(text, kept)));
  out += ellipsis;
  return out.append(text.substr(character_start(text, text.size() - kept)));
}

std::string with_short_echoes(std::string message, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    for (const std::string_view part : parts_of(argument)) {
      if (part.size() > longest_echo) {
        replace_all(message, part, shortened(part));
      }
    }
  }
  if (message.size() > longest_message) {
    message.resize(character_start(message, longest_message));
    message += ellipsis;
  }
  return message;
}

}  // namespace gaussmith::app
