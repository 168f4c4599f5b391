#include "base/input_file.hpp"

#include "gaussmith/errors.hpp"
#include "support/test_files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gaussmith {
namespace {

using test::content_of;
using test::fails_with;
using test::TemporaryDirectory;

std::vector<std::string> lines_of(InputFile& file) {
  std::vector<std::string> lines;
  std::string_view line;
  while (file.next(line)) lines.emplace_back(line);
  return lines;
}

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  InputFile file(path);
  return lines_of(file);
}

TEST(InputFile, LineEndsAndByteOrderMark) {
  InputFile file("\xEF\xBB\xBFone\r\n\ntwo\n\xEF\xBB\xBFthree", "memory");
  EXPECT_EQ(lines_of(file), (std::vector<std::string>{"one", "", "two", "\xEF\xBB\xBFthree"}));
  EXPECT_EQ(file.line(), 4);
  InputFile empty("", "memory");
  EXPECT_TRUE(lines_of(empty).empty());
  InputFile newline("\n", "memory");
  EXPECT_EQ(lines_of(newline).size(), 1U);
}

// Lines of many lengths around the size of a block, so that they are cut at every place.
TEST(InputFile, PlainAndGzipGiveTheSameLines) {
  const TemporaryDirectory directory;
  std::string text;
  std::vector<std::string> expected;
  for (std::size_t length : {0, 1, 100000, 262143, 262144, 262145, 5, 600000}) {
    expected.emplace_back(length, static_cast<char>('a' + expected.size()));
    text += expected.back() + '\n';
  }
  EXPECT_EQ(lines_of(directory.write("plain.gz", text)), expected);
  EXPECT_EQ(lines_of(directory.write_gzip("packed.csv", text)), expected);
  EXPECT_EQ(read_text_file(directory.path() / "packed.csv", text.size()), text);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return read_text_file(directory.path() / "packed.csv", text.size() - 1); },
                                      {"packed.csv", "larger than"}));
}

TEST(InputFile, GzipOfSeveralMembers) {
  const TemporaryDirectory directory;
  const std::string a = content_of(directory.write_gzip("a", "1\n2\n"));
  const std::string b = content_of(directory.write_gzip("b", "3\n"));
  EXPECT_EQ(lines_of(directory.write("ab.gz", a + b)), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(InputFile, GzipCutOffAnywhereIsRefused) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 300; ++i) text += std::to_string(i * i) + "\n";
  const std::string packed = content_of(directory.write_gzip("whole.gz", text));
  for (const std::size_t kept :
       {std::size_t{2}, std::size_t{9}, std::size_t{12}, packed.size() / 2, packed.size() - 8, packed.size() - 1}) {
    const auto file = directory.write("cut.csv.gz", packed.substr(0, kept));
    EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(file); }, {"cut.csv.gz", "gzip", "cut off"})) << kept;
  }
}

TEST(InputFile, DamagedGzipIsRefused) {
  const TemporaryDirectory directory;
  std::string text(5000, 'x');
  text += "\nabc\n";
  std::string packed = content_of(directory.write_gzip("whole.gz", text));
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 0x55);  // In the stored CRC.
  const auto file = directory.write("bad.csv.gz", packed);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(file); }, {"bad.csv.gz", "damaged gzip"}));
}

TEST(InputFile, MissingDirectoryUnreadable) {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(directory.path() / "no.csv"); },
                                      {"no.csv", "cannot read", "No such file"}));
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(directory.path()); }, {"is a directory"}));
  if (::geteuid() == 0) return;  // The superuser reads everything.
  const auto file = directory.write("secret.csv", "a\n1\n");
  fs::permissions(file, fs::perms::none);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(file); }, {"secret.csv", "Permission denied"}));
}

TEST(InputFile, NulBytesAreRefusedWithTheLine) {
  using namespace std::string_view_literals;
  InputFile file("a\nb\0c\n"sv, "memory");
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(file); }, {"memory, line 2", "NUL"}));
}

// Far more decompressed bytes than the limit come from a small file; only the limit may be read.
TEST(InputFile, EndlessLineIsRefused) {
  const TemporaryDirectory directory;
  const std::string block(1 << 20, '1');
  const auto path = directory.path() / "line.csv";
  gzFile out = gzopen(path.c_str(), "wb1");
  gzwrite(out, "x\n", 2);
  for (int i = 0; i < 70; ++i) gzwrite(out, block.data(), static_cast<unsigned>(block.size()));
  gzclose(out);
  InputFile file(path);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(file); }, {"line.csv, line 2", "64 MiB", "line end"}));
}

TEST(InputFile, HugeHoleIsRefusedAtOnce) {
  const TemporaryDirectory directory;
  const auto path = directory.write("hole.csv", "");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 31);
  EXPECT_TRUE(fails_with<InvalidFile>([&] { return lines_of(path); }, {"hole.csv, line 1", "NUL"}));
}

}  // namespace
}  // namespace gaussmith
