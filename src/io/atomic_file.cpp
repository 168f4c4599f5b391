#include "io/atomic_file.hpp"

#include "gaussmith/errors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace gaussmith {
namespace {

constexpr int most_temporaries = 1000;
constexpr int most_links = 40;

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

/// Where a file opened with O_TMPFILE can be linked from.
std::string link_to(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// Short whatever the target's name, which may already be as long as the file system allows.
std::string temporary_name(int attempt) { return fmt::format(".gaussmith-{}-{}.tmp", ::getpid(), attempt); }

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path) : wanted_(path), target_(path) {
  if (!path.has_filename()) fail(path.empty() ? ENOENT : EISDIR);
  struct stat existing = {};
  const bool exists = ::stat(target_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) fail(EISDIR);
  // Renaming over a device or a pipe would replace it by a plain file.
  if (exists && !S_ISREG(existing.st_mode)) {
    throw MachineError(fmt::format("cannot write {}: it exists and is not a regular file", wanted_.string()));
  }
  // A directory may let us replace a file that its owner has locked against writing.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail(errno);
  follow_links();
  open_unnamed();
  if (descriptor_ < 0) open_named();
  if (exists && ::fchmod(descriptor_, existing.st_mode & 07777U) != 0) fail(errno);
}

AtomicFile::~AtomicFile() { discard(); }

// One link at a time: the last one may lead to a file that is not there yet.
void AtomicFile::follow_links() {
  std::error_code error;
  for (int followed = 0; std::filesystem::is_symlink(target_, error); ++followed) {
    if (followed == most_links) fail(ELOOP);
    const std::filesystem::path next = std::filesystem::read_symlink(target_, error);
    if (error) fail(error.value());
    target_ = directory_of(target_) / next;
  }
}

// A file without a name is gone when the process is, however that ends.
void AtomicFile::open_unnamed() {
#ifdef O_TMPFILE
  descriptor_ = ::open(directory_of(target_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ < 0 || ::access(link_to(descriptor_).c_str(), F_OK) == 0) return;
  ::close(descriptor_);
  descriptor_ = -1;
#endif
}

void AtomicFile::open_named() {
  held_.emplace();
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    std::filesystem::path candidate = directory_of(target_) / temporary_name(attempt);
    descriptor_ = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0) {
      temporary_ = std::move(candidate);
    } else if (errno != EEXIST || attempt == most_temporaries) {
      fail(errno);
    }
  }
}

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
  held_.reset();
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

// A link cannot take the place of a file: where there is one, a second name is needed for an instant.
void AtomicFile::give_name() {
  const std::string source = link_to(descriptor_);
  const auto link = [&](const std::filesystem::path& name) {
    return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (link(target_)) return;
  for (int attempt = 0; temporary_.empty(); ++attempt) {
    if (errno != EEXIST || attempt == most_temporaries) fail(errno);
    std::filesystem::path candidate = directory_of(target_) / temporary_name(attempt);
    if (link(candidate)) temporary_ = std::move(candidate);
  }
}

void AtomicFile::commit() {
  // EINVAL: a file system that cannot synchronise; the data are written all the same.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail(errno);
  {
    const SignalsHeld held;
    if (temporary_.empty()) give_name();
    if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
    temporary_.clear();
  }
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail(errno);
  held_.reset();
  sync_directory(directory_of(target_));
}

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace gaussmith
