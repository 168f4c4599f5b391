#pragma once
// A checksum against accidents in saved files; it is no protection against intent.

#include <cstdint>
#include <string>
#include <string_view>

namespace gaussmith {

/// 64-bit FNV-1a of the bytes: h = (h xor byte) * 1099511628211 from h = 14695981039346656037, so "" gives
/// cbf29ce484222325. Every step is one-to-one in h, so a change of a single byte never goes unnoticed.
[[nodiscard]] std::uint64_t checksum(std::string_view bytes);

/// The checksum as 16 lower-case hexadecimal digits.
[[nodiscard]] std::string checksum_hex(std::string_view bytes);

}  // namespace gaussmith
