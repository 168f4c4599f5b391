#include "engines/option_domains.hpp"

#include <charconv>
#include <system_error>

namespace gaussmith {

double parse_number(std::string_view name, const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InvalidOption(fmt::format("{} must be a number, found \"{}\"", name, text));
  return value;
}

}  // namespace gaussmith
