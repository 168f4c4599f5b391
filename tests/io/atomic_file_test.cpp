#include "io/atomic_file.hpp"

#include "gaussmith/errors.hpp"
#include "support/test_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>

namespace gaussmith {
namespace {

using test::content_of;
using test::fails_with;
using test::TemporaryDirectory;

TEST(AtomicFile, WritesAndReplaces) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / "model.gsm";
  write_atomically(file, "first");
  EXPECT_EQ(content_of(file), "first");
  const std::string large(1 << 20, 'x');
  write_atomically(file, large);
  EXPECT_EQ(content_of(file), large);
  EXPECT_EQ(directory.count(), 1);
}

TEST(AtomicFile, NothingAppearsBeforeCommit) {
  const TemporaryDirectory directory;
  const auto file = directory.write("model.gsm", "old");
  {
    AtomicFile out(file);
    out.write("new");
    EXPECT_EQ(content_of(file), "old");
  }
  EXPECT_EQ(content_of(file), "old");
  EXPECT_EQ(directory.count(), 1);
}

TEST(AtomicFile, ExceptionOfTheWriterLeavesNothing) {
  const TemporaryDirectory directory;
  EXPECT_THROW(
      {
        AtomicFile out(directory.path() / "out.csv");
        out.write("half");
        throw std::runtime_error("stopped");
      },
      std::runtime_error);
  EXPECT_EQ(directory.count(), 0);
}

TEST(AtomicFile, TwoAtOnceDoNotMix) {
  const TemporaryDirectory directory;
  AtomicFile a(directory.path() / "a"), b(directory.path() / "b");
  a.write("1");
  b.write("2");
  a.commit();
  b.commit();
  EXPECT_EQ(content_of(directory.path() / "a"), "1");
  EXPECT_EQ(content_of(directory.path() / "b"), "2");
  EXPECT_EQ(directory.count(), 2);
}

TEST(AtomicFile, KeepsPermissionsAndFollowsLinks) {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const auto file = directory.write("real.txt", "old");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real.txt", directory.path() / "link.txt");
  write_atomically(directory.path() / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(directory.path() / "link.txt"));
  EXPECT_EQ(content_of(file), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(AtomicFile, CreatesWhatALinkPointsTo) {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  fs::create_directory(directory.path() / "below");
  fs::create_symlink("below/second", directory.path() / "first");
  fs::create_symlink("real.txt", directory.path() / "below" / "second");
  write_atomically(directory.path() / "first", "new");
  EXPECT_TRUE(fs::is_symlink(directory.path() / "first"));
  EXPECT_TRUE(fs::is_symlink(directory.path() / "below" / "second"));
  EXPECT_EQ(content_of(directory.path() / "below" / "real.txt"), "new");
  fs::create_symlink("loop", directory.path() / "loop");
  EXPECT_TRUE(fails_with<MachineError>([&] { write_atomically(directory.path() / "loop", "x"); },
                                       {"loop", "Too many levels of symbolic links"}));
}

// What a killed process leaves is what is there before commit().
TEST(AtomicFile, HasNoNameBeforeCommit) {
  const TemporaryDirectory directory;
  const int probe = ::open(directory.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (probe < 0) GTEST_SKIP() << "this file system has no unnamed files";
  ::close(probe);
  AtomicFile out(directory.path() / "model.gsm");
  out.write("new");
  EXPECT_EQ(directory.count(), 0);
  out.commit();
  EXPECT_EQ(content_of(directory.path() / "model.gsm"), "new");
}

TEST(AtomicFile, LongestNamesWork) {
  const TemporaryDirectory directory;
  const auto file = directory.path() / std::string(255, 'n');
  write_atomically(file, "x");
  EXPECT_EQ(content_of(file), "x");
}

TEST(AtomicFile, Refusals) {
  const TemporaryDirectory directory;
  const auto file = directory.write("plain", "x");
  const auto write_to = [](const std::filesystem::path& path) { return [path] { write_atomically(path, "y"); }; };
  EXPECT_TRUE(fails_with<MachineError>(write_to(directory.path() / "absent" / "out.csv"),
                                       {"cannot write", "out.csv", "No such file or directory"}));
  EXPECT_TRUE(fails_with<MachineError>(write_to(file / "out.csv"), {"out.csv", "Not a directory"}));
  EXPECT_TRUE(fails_with<MachineError>(write_to(directory.path()), {"Is a directory"}));
  EXPECT_TRUE(fails_with<MachineError>(write_to(directory.path() / ""), {"Is a directory"}));
  EXPECT_TRUE(fails_with<MachineError>(write_to(""), {"cannot write"}));
  EXPECT_TRUE(fails_with<MachineError>(write_to("/dev/null"), {"/dev/null", "not a regular file"}));
  EXPECT_TRUE(fails_with<MachineError>(write_to(directory.path() / std::string(300, 'n')), {"name too long"}));
  EXPECT_EQ(directory.count(), 1);
}

// A limit on file sizes makes write() fail half-way, as a full disk does.
TEST(AtomicFile, FailingWriteRemovesTheTemporary) {
  const TemporaryDirectory directory;
  const auto file = directory.write("model.gsm", "old");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto previous_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto outcome =
      fails_with<MachineError>([&] { write_atomically(file, std::string(1 << 20, 'x')); }, {"model.gsm", "too large"});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous_handler);
  EXPECT_TRUE(outcome);
  EXPECT_EQ(content_of(file), "old");
  EXPECT_EQ(directory.count(), 1);
}

TEST(AtomicFile, UnwritableDirectory) {
  namespace fs = std::filesystem;
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser may write everywhere";
  const TemporaryDirectory directory;
  fs::permissions(directory.path(), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(fails_with<MachineError>([&] { write_atomically(directory.path() / "x", "y"); }, {"Permission denied"}));
  fs::permissions(directory.path(), fs::perms::owner_all);
}

}  // namespace
}  // namespace gaussmith
