#pragma once
// The decimal numbers that tables are full of, without the general reader's cost.

#include <array>
#include <cstdint>

namespace gaussmith {

/// Reads digits, at most one point, and an exponent from the start of [text, end), no sign. Returns where the number
/// ends, or null for what is not read here, which says nothing about whether it is a number. What is read is rounded
/// correctly: up to 19 digits that make an integer m <= 2^53 and a power of ten p with |p| <= 22 are both exact
/// doubles, so that m 10^p takes one rounding.
inline const char* read_plain_number(const char* text, const char* end, double& value) {
  constexpr int most_digits = 19;
  constexpr std::uint64_t largest_exact = std::uint64_t{1} << 53;
  constexpr int largest_power = 22;
  constexpr std::array<double, largest_power + 1> powers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const auto digit = [](char c) { return static_cast<unsigned>(static_cast<unsigned char>(c)) - '0'; };
  std::uint64_t mantissa = 0;
  const char* at = text;
  for (; at != end && digit(*at) < 10; ++at) mantissa = 10 * mantissa + digit(*at);
  std::int64_t digits = at - text;
  int power = 0;
  if (at != end && *at == '.') {
    const char* const point = ++at;
    for (; at != end && digit(*at) < 10; ++at) mantissa = 10 * mantissa + digit(*at);
    digits += at - point;
    power = digits > most_digits ? 0 : static_cast<int>(point - at);
  }
  // More digits may have run over.
  if (digits == 0 || digits > most_digits || mantissa > largest_exact) return nullptr;
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    const bool negative = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    int exponent = 0;
    const char* const first = at;
    for (; at != end && digit(*at) < 10 && at - first < 3; ++at)
      exponent = 10 * exponent + static_cast<int>(digit(*at));
    if (at == first || (at != end && digit(*at) < 10)) return nullptr;
    power += negative ? -exponent : exponent;
  }
  const auto whole = static_cast<double>(mantissa);
  if (power < -largest_power || power > largest_power) return nullptr;
  value =
      power < 0 ? whole / powers[static_cast<std::size_t>(-power)] : whole * powers[static_cast<std::size_t>(power)];
  return at;
}

}  // namespace gaussmith
