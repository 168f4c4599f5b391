#pragma once
// Which of many candidate rows, or groups of rows, tells most: lazy greedy choice.
//
// With the sites held a gain only falls as rows are added, so that a score from before is a bound: of the candidates
// only those at the top are scored anew until the top is one that is up to date. The choice is that of full scoring.

#include "gaussmith/measurement.hpp"
#include "measurement/updated_gaussian.hpp"

#include <vector>

namespace gaussmith {

class CandidateScores {
 public:
  /// Scores of all groups that may be measured: one product of the rows with V. `entries` are the rows with entries.
  CandidateScores(const CandidateRows& candidates, const Design& entries, const Matrix& covariance, double variance,
                  const std::vector<char>& taken);

  /// The group with the largest gain, the first of equal ones; its rows then count as measured. At least one is left.
  struct Choice {
    Index group = 0;
    double gain = 0.0;
    Matrix rows = {};  ///< Transposed, D x k.
  };
  [[nodiscard]] Choice choose();
  /// How often a score was brought up to date.
  [[nodiscard]] Index rescored() const { return rescored_; }

 private:
  struct Candidate {
    Index group = 0;
    double gain = 0.0;  // As of `seen` choices.
    std::size_t seen = 0;
  };
  static bool comes_later(const Candidate& a, const Candidate& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.group > b.group;
  }

  [[nodiscard]] double gain_of(const Matrix& spread) const;
  void refresh(Candidate& candidate);

  const CandidateRows& candidates_;
  Design entries_;
  const Matrix& covariance_;
  double variance_;
  std::vector<Matrix> spread_;  // X_c V X_c' of each group, as of what it has seen.
  std::vector<Candidate> heap_;
  std::vector<Matrix> shrinks_;  // G L^-T of each choice.
  Index rescored_ = 0;
};

/// The rows of a group of candidates.
[[nodiscard]] std::vector<Index> group_rows(const CandidateRows& candidates, Index group);
[[nodiscard]] Matrix group_transposed(const CandidateRows& candidates, const Design& entries, Index group);

}  // namespace gaussmith
