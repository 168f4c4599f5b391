#pragma once
// Temporary directories, small files and exception messages for the tests of this layer.

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>

namespace gaussmith::test {

/// A directory of its own for the running test, removed with everything in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const auto* const info = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() / (std::string("gaussmith_") + info->test_suite_name() + "_" +
                                                      info->name() + "_" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

  std::filesystem::path write_gzip(std::string_view name, std::string_view content) const {
    const std::filesystem::path file = path_ / name;
    gzFile out = gzopen(file.c_str(), "wb1");
    gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
    gzclose(out);
    return file;
  }

  [[nodiscard]] std::ptrdiff_t count() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The call throws an Expected whose message is one line and holds all the words.
template <class Expected, class Call>
testing::AssertionResult fails_with(const Call& call, std::initializer_list<std::string_view> words) {
  try {
    static_cast<void>(call());
  } catch (const Expected& error) {
    const std::string message = error.what();
    if (message.find('\n') != std::string::npos) return testing::AssertionFailure() << "several lines: " << message;
    for (const std::string_view word : words) {
      if (message.find(word) == std::string::npos) {
        return testing::AssertionFailure() << '"' << word << "\" is not in: " << message;
      }
    }
    return testing::AssertionSuccess() << message;
  } catch (const std::exception& error) {
    return testing::AssertionFailure() << "another exception: " << error.what();
  }
  return testing::AssertionFailure() << "nothing was thrown";
}

}  // namespace gaussmith::test
