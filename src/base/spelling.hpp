#pragma once
// What messages call the things a user can give.

#include "gaussmith/errors.hpp"

#include <string>
#include <string_view>

namespace gaussmith {

/// "drop_missing", or "--drop-missing" on the command line.
[[nodiscard]] std::string option_name(std::string_view field, Spelling spelling);

/// "kernel.lengthscale", or "--set kernel.lengthscale" on the command line.
[[nodiscard]] std::string setting_name(std::string_view parameter, Spelling spelling);

}  // namespace gaussmith
