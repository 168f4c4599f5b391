#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace gaussmith::app {

namespace {

/// CLI11 by itself takes -1 and what is beyond 64 bits, and wraps or cuts them.
std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value);
  return code == std::errc() && stop == end
             ? std::string()
             : fmt::format("{} is not a whole number from 0 to {}", text, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

void add_common(CLI::App& app, CommonOptions& common, bool computes) {
  app.add_flag("--json", common.json, "Print one JSON object on stdout and nothing else");
  app.add_flag("--quiet,-q", common.quiet, "No notes, warnings or progress on stderr; errors only");
  if (computes) {
    app.add_option("--threads", common.threads, "Largest number of threads, BLAS included (default: all cores)")
        ->check(CLI::Range(1, 4096))
        ->type_name("COUNT");
    app.add_option("--seed", common.seed, "Fixes every random choice (default: 0)")
        ->check(whole_number)
        ->type_name("NUMBER");
  }
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  while (!line.empty() && line.back() == ' ') {
    line.pop_back();
  }
  return line;
}

std::string plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string csv_text(const std::string& text, char separator) {
  if (text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

char separator_of(std::string_view file) {
  std::string name(file);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.ends_with(".tsv") || name.ends_with(".tab") ? '\t' : ',';
}

}  // namespace gaussmith::app
