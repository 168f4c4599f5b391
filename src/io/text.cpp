#include "io/text.hpp"

#include "io/plain_number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace gaussmith {
namespace {

constexpr std::size_t longest_quote = 40;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] - 'A' + 'a') : text[i];
    if (c != lower[i]) return false;
  }
  return true;
}

// Length of the UTF-8 sequence at the start of text, 0 if it is broken.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned low = 0x80, high = 0xBF;  // Range of the second byte.
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) low = 0xA0;
    if (first == 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) low = 0x90;
    if (first == 0xF4) high = 0x8F;
  }
  if (length == 0 || text.size() < length || byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

// std::from_chars reports overflow and underflow alike. The power of ten of the leading digit tells them apart:
// 0.01e-400 -> -402, 12e400 -> 401.
bool is_underflow(std::string_view number) {
  const std::size_t exponent_mark = number.find_first_of("eE");
  const std::string_view mantissa = number.substr(0, exponent_mark);
  long long exponent = 0;
  if (exponent_mark != std::string_view::npos) {
    std::string_view digits = number.substr(exponent_mark + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (result.ec == std::errc::result_out_of_range) return digits.starts_with('-');
  }
  const std::size_t leading = mantissa.find_first_of("123456789");
  if (leading == std::string_view::npos) return true;
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const auto place = static_cast<long long>(point) - static_cast<long long>(leading);
  return exponent < -place;
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  while (!text.empty() && out.size() < longest_quote) {
    const std::size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (text[0] == '\n') {
      out += "\\n";
    } else if (text[0] == '\t') {
      out += "\\t";
    } else if (length == 0 || c < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += text.empty() ? "\"" : "...\"";
  return out;
}

std::string listed(const std::vector<std::string>& texts, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < texts.size() && i < most; ++i) {
    if (i > 0) out += ", ";
    const std::string quote = in_quotes(texts[i]);
    // Plain words read better bare; quotes stay where the text holds something that could mislead.
    const bool plain = !texts[i].empty() && quote.size() == texts[i].size() + 2 &&
                       texts[i].find_first_of(" ,;\"'") == std::string::npos;
    out += plain ? texts[i] : quote;
  }
  if (texts.size() > most) out += fmt::format(" and {} more", texts.size() - most);
  return out;
}

Cell parse_cell(std::string_view text) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  text = trim(text);
  if (text.empty() || text == "NA") return {CellKind::missing, none};

  const bool negative = text[0] == '-';
  const std::string_view magnitude = negative || text[0] == '+' ? text.substr(1) : text;
  if (magnitude.empty() || !(is_digit(magnitude[0]) || magnitude[0] == '.')) {
    if (equals_ignoring_case(magnitude, "nan")) return {CellKind::missing, none};
    if (equals_ignoring_case(magnitude, "inf") || equals_ignoring_case(magnitude, "infinity")) {
      return {CellKind::infinite, none};
    }
    return {CellKind::text, none};
  }

  double value = 0.0;
  const char* const end = magnitude.data() + magnitude.size();
  if (read_plain_number(magnitude.data(), end, value) == end) return {CellKind::number, negative ? -value : value};
  const auto result = std::from_chars(magnitude.data(), end, value);
  if (result.ec == std::errc::invalid_argument || result.ptr != end) return {CellKind::text, none};
  if (result.ec == std::errc::result_out_of_range) {
    if (!is_underflow(magnitude)) return {CellKind::infinite, none};
    value = 0.0;
  }
  if (!std::isfinite(value)) return {CellKind::infinite, none};
  return {CellKind::number, negative ? -value : value};
}

std::string number_text(double value) { return fmt::format("{}", value); }

}  // namespace gaussmith
