#pragma once
// Strict reading of JSON: every complaint names the file and the path to the value, e.g. "p.json: prior.covariance[2]:
// ...".

#include "gaussmith/errors.hpp"
#include "gaussmith/types.hpp"

#include <filesystem>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// Largest number of rows or columns that a file may declare without writing them out, so that a few bytes of input
/// cannot ask for all memory.
inline constexpr Index max_declared_size = 10'000'000;

/// Parses JSON; refuses syntax errors, numbers beyond double precision, nesting deeper than 64 and repeated keys.
/// Throws InvalidFile with line and column.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& file);

/// The first bytes of a file, so that a large file of another kind is refused before it is read. Empty when it cannot
/// be opened or is gzip data, about which only reading it tells.
[[nodiscard]] std::string first_bytes(const std::filesystem::path& path, std::size_t count);

/// "a, b or c", for messages.
[[nodiscard]] std::string list_of(const std::vector<std::string>& names, std::string_view last = " or ");

/// A value with the path that leads to it. Refers to the document and the file name; both must outlive it.
class JsonNode {
 public:
  JsonNode(const nlohmann::json& value, const std::string& file, std::string path = {})
      : value_(&value), file_(&file), path_(std::move(path)) {}

  [[nodiscard]] const std::string& file() const { return *file_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const nlohmann::json& json() const { return *value_; }

  /// Throws InvalidFile: "FILE: PATH: MESSAGE".
  [[noreturn]] void fail(const std::string& message) const;
  /// "FILE: PATH: ", to put in front of the message of a lower layer.
  [[nodiscard]] std::string prefix() const;

  /// Requires an object with none but these fields.
  void expect_fields(std::initializer_list<std::string_view> accepted) const;
  void expect_fields(const std::vector<std::string>& accepted) const;
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] JsonNode at(std::string_view key) const;  ///< Fails when the field is missing.
  [[nodiscard]] std::optional<JsonNode> find(std::string_view key) const;

  [[nodiscard]] bool is_array() const { return value_->is_array(); }
  [[nodiscard]] bool is_number() const { return value_->is_number(); }
  [[nodiscard]] std::size_t array_size() const;  ///< Fails unless an array.
  [[nodiscard]] JsonNode element(std::size_t index) const;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] double number() const;
  [[nodiscard]] bool boolean() const;
  /// A whole number in [lowest, highest].
  [[nodiscard]] Index integer(Index lowest, Index highest) const;
  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] Vector numbers() const;            ///< An array of numbers.
  [[nodiscard]] Vector numbers(Index size) const;  ///< The same with a required length.
  [[nodiscard]] Vector number_or_numbers() const;  ///< A number gives size 1.
  /// A number for all, or one number each.
  [[nodiscard]] Vector broadcast(Index size) const;
  /// An array of rows of equal length; `columns` >= 0 requires that length.
  [[nodiscard]] Matrix matrix(Index columns = -1) const;
  /// {shape: [rows, columns], triplets: [[i, j, value], ...]}, each entry at most once.
  [[nodiscard]] SparseMatrix sparse() const;

 private:
  const nlohmann::json* value_;
  const std::string* file_;
  std::string path_;
};

}  // namespace gaussmith
