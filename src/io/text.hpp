#pragma once
// Text to numbers, and text into one-line messages.

#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// Without spaces and tabs at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

/// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

/// "text" for a one-line message: control characters and broken UTF-8 escaped, cut after about 40 bytes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// "a, b, c" for a one-line message, with "and 7 more" after `most` of them.
[[nodiscard]] std::string listed(const std::vector<std::string>& texts, std::size_t most = 20);

enum class CellKind { number, missing, infinite, text };

struct Cell {
  CellKind kind;
  double value;  ///< Finite for a number, NaN otherwise.
};

/// What one cell says, whatever the locale. Missing: empty, NA, nan in any case. Infinite: inf, infinity, or a number
/// above the range of double. The whole cell must be a decimal number to count as one; an underflow is 0.
[[nodiscard]] Cell parse_cell(std::string_view text);

/// The shortest text that parse_cell reads back as the same number.
[[nodiscard]] std::string number_text(double value);

}  // namespace gaussmith
