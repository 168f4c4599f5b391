#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith::app {

void add_common(CLI::App& app, CommonOptions& common, bool computes) {
  app.add_flag("--json", common.json, "Print one JSON object on stdout and nothing else");
  app.add_flag("--quiet,-q", common.quiet, "No notes, warnings or progress on stderr; errors only");
  if (computes) {
    app.add_option("--threads", common.threads, "Largest number of threads, BLAS included (default: all cores)")
        ->check(CLI::Range(1, 4096))
        ->type_name("COUNT");
    app.add_option("--seed", common.seed, "Fixes every random choice (default: 0)")->type_name("NUMBER");
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

}  // namespace gaussmith::app
