#pragma once
// Output files that appear whole or not at all.

#include <filesystem>
#include <string_view>

namespace gaussmith {

/// Collects output under a temporary name in the directory of `path`; commit() makes it durable and renames it. Until
/// then a file already at `path` stays as it was, and the destructor removes the temporary. Failures throw
/// MachineError with path and reason. A symbolic link is followed; an existing file keeps its permissions.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail(int error);
  void discard() noexcept;

  std::filesystem::path wanted_;     // As the caller wrote it, for messages.
  std::filesystem::path target_;     // After symbolic links.
  std::filesystem::path temporary_;  // Empty once renamed or removed.
  int descriptor_ = -1;
};

/// Writes the whole content as AtomicFile does.
void write_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace gaussmith
