#include "io/checksum.hpp"

#include <fmt/format.h>

namespace gaussmith {

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : bytes) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211U;
  }
  return hash;
}

std::string checksum_hex(std::string_view bytes) { return fmt::format("{:016x}", checksum(bytes)); }

}  // namespace gaussmith
