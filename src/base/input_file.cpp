#include "base/input_file.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <system_error>

namespace gaussmith {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

struct InputFile::Stream {
  gzFile file = nullptr;
  std::vector<char> block;

  Stream() : block(block_bytes) {}
  ~Stream() {
    if (file != nullptr) gzclose_r(file);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
};

InputFile::InputFile(const std::filesystem::path& path) : stream_(std::make_unique<Stream>()), name_(path.string()) {
  std::error_code ignored;
  // Opening a directory succeeds; only reading it would fail, with a message about input and output.
  if (std::filesystem::is_directory(path, ignored)) {
    throw InvalidFile(fmt::format("cannot read {}: it is a directory, a file is expected", name_));
  }
  errno = 0;
  stream_->file = gzopen(path.c_str(), "rb");
  if (stream_->file == nullptr) {
    throw InvalidFile(
        fmt::format("cannot read {}: {}", name_, std::generic_category().message(errno == 0 ? ENOMEM : errno)));
  }
  gzbuffer(stream_->file, static_cast<unsigned>(block_bytes));
}

InputFile::InputFile(std::string_view text, std::string name) : name_(std::move(name)), unread_(text) {}

InputFile::~InputFile() = default;

void InputFile::fail(std::int64_t line, std::string_view what) const {
  throw InvalidFile(fmt::format("{}, line {}: {}", name_, line, what));
}

bool InputFile::refill() {
  if (stream_ == nullptr) return false;
  errno = 0;
  const int count = gzread(stream_->file, stream_->block.data(), static_cast<unsigned>(stream_->block.size()));
  const int read_errno = errno;
  if (count > 0) {
    unread_ = {stream_->block.data(), static_cast<std::size_t>(count)};
    return true;
  }
  int status = Z_OK;
  gzerror(stream_->file, &status);
  // A cut-off stream is no error to gzread: it returns what it has and leaves Z_BUF_ERROR behind.
  if (status == Z_BUF_ERROR) {
    throw InvalidFile(fmt::format("{}: the gzip data end too early, after line {}; the file is cut off", name_, line_));
  }
  if (status == Z_ERRNO) {
    throw InvalidFile(fmt::format("cannot read {}: {}", name_, std::generic_category().message(read_errno)));
  }
  if (count < 0 || status != Z_OK) {
    throw InvalidFile(fmt::format("{}: damaged gzip data after line {}", name_, line_));
  }
  return false;
}

bool InputFile::next(std::string_view& line) {
  carry_.clear();
  bool complete = false;
  std::string_view piece;
  while (!complete) {
    if (unread_.empty() && !refill()) {
      if (carry_.empty()) return false;
      piece = {};
      break;
    }
    const std::size_t end = unread_.find('\n');
    complete = end != std::string_view::npos;
    piece = unread_.substr(0, end);
    unread_.remove_prefix(complete ? end + 1 : unread_.size());
    if (carry_.size() + piece.size() > max_line_bytes) {
      fail(line_ + 1,
           fmt::format("longer than {} MiB without a line end; a text file is expected", max_line_bytes >> 20));
    }
    if (piece.find('\0') != std::string_view::npos) {
      fail(line_ + 1, "contains a NUL byte; text is expected, as plain UTF-8 (not UTF-16)");
    }
    if (!complete) carry_ += piece;
  }
  ++line_;
  if (complete && carry_.empty()) {
    line = piece;
  } else {
    if (complete) carry_ += piece;
    line = carry_;
  }
  if (line_ == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t max_bytes) {
  InputFile file(path);
  std::string text;
  while (file.refill()) {
    if (text.size() + file.unread_.size() > max_bytes) {
      throw InvalidFile(fmt::format("{}: larger than {} bytes, the most that is accepted", file.name_, max_bytes));
    }
    text += file.unread_;
  }
  return text;
}

}  // namespace gaussmith
