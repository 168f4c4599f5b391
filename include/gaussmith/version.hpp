#pragma once
// The library's version, also written into results and saved models.

#include <string_view>

namespace gaussmith {

inline constexpr std::string_view version = "0.1.0";

}  // namespace gaussmith
