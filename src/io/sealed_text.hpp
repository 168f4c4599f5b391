#pragma once
// States of runs: one line that names the format, the checksum and the length, then the payload.

#include "gaussmith/infer.hpp"
#include "io/json_reading.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

/// What a kind of state is called.
struct SealedFormat {
  std::string_view family;  ///< "gaussmith-active/"
  std::string_view format;  ///< "gaussmith-active/1"
  std::string_view what;    ///< "a state of active learning"
};

/// "FORMAT CHECKSUM BYTES\n" and the payload.
[[nodiscard]] std::string seal(const SealedFormat& format, std::string_view payload);
/// The payload. Throws InvalidFile for another format or version, truncation, or a wrong checksum.
[[nodiscard]] std::string_view unseal(const SealedFormat& format, std::string_view text, std::string_view file);
/// The whole file; another kind of file is refused by its first bytes.
[[nodiscard]] std::string read_sealed(const SealedFormat& format, const std::filesystem::path& path);

/// What a state belongs to, as names and values.
using RunIdentity = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] nlohmann::ordered_json identity_json(const RunIdentity& identity);
/// Throws InvalidFile that names the first difference.
void check_identity(const JsonNode& node, const RunIdentity& identity);

/// "kl tolerance=1e-3 ...": a method with all its options.
[[nodiscard]] std::string method_text(const Method& method);

}  // namespace gaussmith
