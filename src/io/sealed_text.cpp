#include "io/sealed_text.hpp"

#include "base/input_file.hpp"
#include "io/checksum.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

namespace gaussmith {

namespace {

constexpr std::size_t max_sealed_bytes = std::size_t{4} << 30;

}  // namespace

std::string seal(const SealedFormat& format, std::string_view payload) {
  std::string out = fmt::format("{} {} {}\n", format.format, checksum_hex(payload), payload.size());
  out.reserve(out.size() + payload.size());
  out += payload;
  return out;
}

std::string_view unseal(const SealedFormat& format, std::string_view text, std::string_view file) {
  if (!text.starts_with(format.family))
    throw InvalidFile(fmt::format("{}: not {}; it would start with {}", file, format.what, format.format));
  const std::size_t end = text.find('\n');
  const std::string_view header = text.substr(0, end);
  if (!header.starts_with(fmt::format("{} ", format.format)))
    throw InvalidFile(fmt::format("{}: starts with {}; this version reads {}", file,
                                  in_quotes(header.substr(0, header.find(' '))), format.format));
  const std::string_view payload = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  if (header != fmt::format("{} {} {}", format.format, checksum_hex(payload), payload.size()))
    throw InvalidFile(fmt::format("{}: the checksum does not match; the state was cut off, changed or damaged", file));
  return payload;
}

std::string read_sealed(const SealedFormat& format, const std::filesystem::path& path) {
  const std::string start = first_bytes(path, format.family.size());
  if (!start.empty() && start != format.family) (void)unseal(format, start, path.string());
  return read_text_file(path, max_sealed_bytes);
}

nlohmann::ordered_json identity_json(const RunIdentity& identity) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& [name, value] : identity) out[name] = value;
  return out;
}

void check_identity(const JsonNode& node, const RunIdentity& identity) {
  for (const auto& [name, value] : identity) {
    const std::string found = node.has(name) ? node.at(name).text() : "not stated";
    if (found != value)
      throw InvalidFile(
          fmt::format("{}: the state of another run: {} is {} there and {} here; take another state file, "
                      "or the data and options it was made with",
                      node.file(), name, found, value));
  }
}

std::string method_text(const Method& method) {
  std::string out(name_of(method));
  for (const auto& [name, value] : options_of(method)) out += fmt::format(" {}={}", name, value);
  return out;
}

}  // namespace gaussmith
