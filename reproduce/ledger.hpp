#pragma once
// Figures of single partitions, kept in a file line by line, so that a run that was stopped goes on where it was.

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reproduce {

/// Named figures of one fit of one partition.
using Figures = std::vector<std::pair<std::string, double>>;

/// Lines "study set name=value name=value", a study being a word such as iris/kl.
class Ledger {
 public:
  /// Reads what the file holds; a last line without an end is left out. An empty path keeps figures in memory alone.
  explicit Ledger(std::filesystem::path file = {});

  [[nodiscard]] bool has(const std::string& study, int set) const;
  /// Appends a line and flushes. A later line of the same study and set counts.
  void add(const std::string& study, int set, const Figures& figures);

  /// A figure; NaN where there is none.
  [[nodiscard]] double value(const std::string& study, int set, const std::string& name) const;
  /// A figure of the sets 0 .. sets - 1 that have it.
  [[nodiscard]] std::vector<double> column(const std::string& study, const std::string& name, int sets) const;

 private:
  using Row = std::map<std::string, double, std::less<>>;
  std::filesystem::path file_;
  std::map<std::pair<std::string, int>, Row> rows_;
};

/// Makes a line of the ledger unless it is there.
template <class Make>
void once(Ledger& ledger, const std::string& study, int set, const Make& make) {
  if (ledger.has(study, set)) return;
  ledger.add(study, set, make());
  std::fprintf(stderr, "%s, partition %d\n", study.c_str(), set);
}

/// Mean and standard deviation over partitions.
struct Spread {
  double mean = NAN;
  double sd = NAN;
  std::size_t count = 0;
};

[[nodiscard]] Spread spread(const std::vector<double>& values);

/// "mean ± sd", or a dash without figures.
[[nodiscard]] std::string print(const Spread& spread, int digits);

}  // namespace reproduce
