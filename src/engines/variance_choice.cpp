#include "engines/variance_choice.hpp"

#include "engines/options.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace gaussmith {

namespace {

constexpr int most = 100000;
/// Draws where nobody said how many: relative errors of some 15 % for rows, less for weights.
constexpr int default_draws = 64;
/// Steps of Lanczos that know what is common to images, whose weights have no variance of their own.
constexpr int control_steps = 20;
/// Probes come in rounds, from whose spread the error is told.
constexpr int most_rounds = 8;
constexpr int fewest_rounds = 3;

SampledVariances draws(int count, bool has_entries) { return {count, has_entries ? 0 : control_steps}; }

}  // namespace

VarianceMethod default_estimate(bool has_entries) { return draws(default_draws, has_entries); }

VbVarianceChoice parse_vb_variances(const std::string& text, bool has_entries) {
  if (text == "auto") return {VbVariances::automatic, default_estimate(has_entries)};
  if (text == "exact") return {VbVariances::exact};
  if (text == "selected") return {VbVariances::selected};
  const std::size_t colon = text.find(':');
  const std::string_view name = std::string_view(text).substr(0, colon);
  const auto count = [&](int least) {
    int value = 0;
    const std::string_view digits = colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < least || value > most)
      throw InvalidOption(
          fmt::format("vb.variances {}: after {} a colon and a whole number from {} to {} is needed, "
                      "as in {}:100",
                      text, name, least, most, name));
    return value;
  };
  if (name == "lanczos") return {VbVariances::estimated, LanczosVariances{.steps = count(1)}};
  if (name == "sampling") return {VbVariances::estimated, draws(count(2), has_entries)};
  if (name == "probing") {
    const int solves = count(fewest_rounds);
    const int rounds = std::clamp(solves / most_rounds, fewest_rounds, most_rounds);
    return {VbVariances::estimated, ProbedVariances{.colours = std::max(1, solves / rounds), .rounds = rounds}};
  }
  throw InvalidOption(
      fmt::format("vb.variances must be auto, exact, selected, lanczos:K, probing:K or sampling:K, "
                  "found \"{}\"",
                  text));
}

void check_vb_variances(const std::string& text) { (void)parse_vb_variances(text, true); }

}  // namespace gaussmith
