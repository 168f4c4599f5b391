#pragma once
// Text files, plain or gzip, line by line and within bounds.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// Longest line (and longest CSV record) that readers accept. A file without line ends is refused after this much.
inline constexpr std::size_t max_line_bytes = std::size_t{64} << 20;

/// Lines of a file or of text in memory. Gzip is recognised by its first bytes, not by the name; a byte-order mark is
/// skipped. Every failure is an InvalidFile that starts with the file's name.
class InputFile {
 public:
  /// Throws InvalidFile if the file is absent, a directory or unreadable.
  explicit InputFile(const std::filesystem::path& path);
  /// Reads `text`, which must outlive the reader, under the given name.
  InputFile(std::string_view text, std::string name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// The next line without its LF or CRLF, valid until the next call; false at the end. Throws InvalidFile for a NUL
  /// byte, a line above max_line_bytes, damaged or cut-off gzip data.
  bool next(std::string_view& line);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Number of the last line read, from 1; 0 before the first.
  [[nodiscard]] std::int64_t line() const { return line_; }
  /// Throws InvalidFile "name, line n: what".
  [[noreturn]] void fail(std::int64_t line, std::string_view what) const;

 private:
  friend std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes);
  bool refill();

  struct Stream;
  std::unique_ptr<Stream> stream_;  // Null for text in memory.
  std::string name_;
  std::string_view unread_;
  std::string carry_;  // Start of a line that goes on in the next block.
  std::int64_t line_ = 0;
};

/// The whole content of a plain or gzip file, at most max_bytes after decompression; throws InvalidFile as InputFile.
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace gaussmith
