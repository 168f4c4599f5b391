#pragma once
// What the user typed, inside messages.

#include <string>
#include <string_view>
#include <vector>

namespace gaussmith::app {

/// `text` with at most about 80 characters: the middle of a longer one becomes "...".
[[nodiscard]] std::string shortened(std::string_view text);

/// `message` with every argument, and every part of one, shortened; then cut where it is still beyond all reading.
[[nodiscard]] std::string with_short_echoes(std::string message, const std::vector<std::string>& arguments);

}  // namespace gaussmith::app
