#include "io/atomic_file.hpp"

#include "gaussmith/errors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace gaussmith {
namespace {

constexpr int most_temporaries = 1000;

// Without this a crash of the machine could undo the rename. Best effort: some file systems cannot do it.
void sync_directory(const std::filesystem::path& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  static_cast<void>(::fsync(descriptor));
  ::close(descriptor);
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : wanted_(path), target_(path) {
  if (!path.has_filename()) fail(path.empty() ? ENOENT : EISDIR);
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {
    target_ = std::filesystem::weakly_canonical(path, error);
    if (error) fail(error.value());
  }
  struct stat existing = {};
  const bool exists = ::stat(target_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail(EISDIR);
  // Renaming over a device or a pipe would replace it by a plain file.
  if (exists && !S_ISREG(existing.st_mode)) {
    throw MachineError(fmt::format("cannot write {}: it exists and is not a regular file", wanted_.string()));
  }
  // A directory may let us replace a file that its owner has locked against writing.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail(errno);

  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    std::filesystem::path candidate = directory_of(target_);
    // Short whatever the target's name, which may already be as long as the file system allows.
    candidate /= fmt::format(".gaussmith-{}-{}.tmp", ::getpid(), attempt);
    descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      temporary_ = std::move(candidate);
    } else if (errno != EEXIST || attempt == most_temporaries) {
      fail(errno);
    }
  }
  if (exists && ::fchmod(descriptor_, existing.st_mode & 07777U) != 0) fail(errno);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::fail(int error) {
  discard();
  throw MachineError(fmt::format("cannot write {}: {}", wanted_.string(), std::generic_category().message(error)));
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
}

void AtomicFile::commit() {
  // EINVAL: a file system that cannot synchronise; the data are written all the same.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail(errno);
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  sync_directory(directory_of(target_));
}

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace gaussmith
