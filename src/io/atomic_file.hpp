#pragma once
// Output files that appear whole or not at all.

#include "base/signals_held.hpp"

#include <filesystem>
#include <optional>
#include <string_view>

namespace gaussmith {

/// Collects output in a file without a name in the directory of `path`; commit() makes it durable and gives it the
/// name. Until then a file already at `path` stays as it was, and a process that ends, killed or not, leaves nothing.
/// Where the file system has no unnamed files it is a temporary name, renamed by commit() and removed by the
/// destructor; signals of this thread wait meanwhile. Failures throw MachineError with path and reason. Symbolic links
/// are followed, also to a file that is not there yet; an existing file keeps its permissions.
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
  void follow_links();
  void open_unnamed();
  void open_named();
  void give_name();

  std::filesystem::path wanted_;     // As the caller wrote it, for messages.
  std::filesystem::path target_;     // After symbolic links.
  std::filesystem::path temporary_;  // Empty while there is none.
  std::optional<SignalsHeld> held_;  // While there is a temporary name.
  int descriptor_ = -1;
};

/// Writes the whole content as AtomicFile does.
void write_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace gaussmith
