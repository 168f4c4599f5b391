// Runs one fuzz target without libFuzzer: on every file of its corpus, then on mutations of them, the same ones each
// time. A short search on every test run; the long one, guided by coverage, is scripts/fuzz.sh.
//   replay_csv fuzz/corpus/csv 2000

#include "gaussmith/random.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::string> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& corpus) : corpus_(corpus) {}

  /// A member of the corpus with one to four changes: a byte, a token that readers treat specially, a cut, a repeat, or
  /// a piece of another member.
  std::string next() {
    std::string text = any_member();
    for (std::size_t change = 0, changes = 1 + below(4); change < changes; ++change) {
      const std::size_t at = below(text.size() + 1);
      const std::size_t length = below(std::min<std::size_t>(text.size() - at, 40) + 1);
      switch (below(5)) {
        case 0:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.replace(at, length, tokens[below(std::size(tokens))]);
          break;
        case 2:
          text.erase(at, length);
          break;
        case 3:
          text.insert(at, text.substr(at, length));
          break;
        default: {
          const std::string& other = any_member();
          const std::size_t from = below(other.size() + 1);
          text.insert(at, other.substr(from, below(80)));
        }
      }
    }
    return text;
  }

 private:
  static constexpr std::string_view tokens[] = {
      "\n",     "\r\n",   ",",          "\"",       ":", " ",    "#",   "-",   "{",     "}",   "[", "]",
      "1e999",  "-1e308", "0",          "-1",       "",  "NA",   "nan", "inf", "\t",    "\0",  ".", "null",
      "1e-320", "true",   "4294967296", "\xff\xfe", ";", "qid:", "1",   "2",   "\"y\"", "[[]]"};

  std::size_t below(std::size_t bound) {
    return std::min(bound - 1, static_cast<std::size_t>(random_.uniform() * static_cast<double>(bound)));
  }
  const std::string& any_member() { return corpus_[below(corpus_.size())]; }

  const std::vector<std::string>& corpus_;
  gaussmith::Random random_{20240229};
};

// The input at hand is on disk before it runs, so that a crash leaves it behind.
void run(const std::string& text, const std::string& last_input) {
  std::ofstream(last_input, std::ios::binary) << text;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s corpus-folder mutations\n", arguments[0]);
    return 1;
  }
  const std::vector<std::string> corpus = read_corpus(arguments[1]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: the corpus %s is empty\n", arguments[0], arguments[1]);
    return 1;
  }
  const std::string last_input = std::string(arguments[0]) + ".last-input";
  for (const std::string& text : corpus) run(text, last_input);
  Mutator mutator(corpus);
  const int mutations = std::atoi(arguments[2]);
  for (int i = 0; i < mutations; ++i) run(mutator.next(), last_input);
  std::printf("%zu inputs of the corpus and %d mutations\n", corpus.size(), mutations);
  return 0;
}
