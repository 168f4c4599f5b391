#include "measurement/candidate_scores.hpp"

#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

std::vector<Index> group_rows(const CandidateRows& candidates, Index group) {
  if (candidates.groups.empty()) return {group};
  return candidates.groups[static_cast<std::size_t>(group)];
}

Matrix group_transposed(const CandidateRows& candidates, const Design& entries, Index group) {
  const std::vector<Index> rows = group_rows(candidates, group);
  Matrix out(entries.cols(), static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k)
    out.col(static_cast<Index>(k)) = entries.transposed_rows(rows[k], rows[k] + 1);
  return out;
}

CandidateScores::CandidateScores(const CandidateRows& candidates, const Design& entries, const Matrix& covariance,
                                 double variance, const std::vector<char>& taken)
    : candidates_(candidates),
      entries_(entries),
      covariance_(covariance),
      variance_(variance),
      spread_(static_cast<std::size_t>(candidates.count())) {
  const Matrix seen = candidates.rows.times(covariance);
  for (Index group = 0; group < candidates.count(); ++group) {
    if (!candidates.repeats && taken[static_cast<std::size_t>(group)] != 0) continue;
    const std::vector<Index> rows = group_rows(candidates, group);
    Matrix own(static_cast<Index>(rows.size()), seen.cols());
    for (std::size_t k = 0; k < rows.size(); ++k) own.row(static_cast<Index>(k)) = seen.row(rows[k]);
    Matrix& spread = spread_[static_cast<std::size_t>(group)];
    spread = times(own, group_transposed(candidates, entries, group));
    spread = 0.5 * (spread + spread.transpose()).eval();
    heap_.push_back({group, gain_of(spread), 0});
  }
  std::make_heap(heap_.begin(), heap_.end(), comes_later);
}

double CandidateScores::gain_of(const Matrix& spread) const {
  if (spread.size() == 1) return 0.5 * std::log1p(std::max(0.0, spread(0, 0)) / variance_);
  Matrix s = spread / variance_;
  s.diagonal().array() += 1.0;
  if (!cholesky(s)) throw InvalidModel("the covariance of a group of candidates is not positive definite");
  return half_log_determinant(s);
}

void CandidateScores::refresh(Candidate& candidate) {
  Matrix& spread = spread_[static_cast<std::size_t>(candidate.group)];
  const Matrix rows = group_transposed(candidates_, entries_, candidate.group);
  for (; candidate.seen < shrinks_.size(); ++candidate.seen) {
    const Matrix lost = transposed_times(rows, shrinks_[candidate.seen]);
    spread -= times_transposed(lost, lost);
  }
  candidate.gain = gain_of(spread);
  ++rescored_;
}

CandidateScores::Choice CandidateScores::choose() {
  for (;;) {
    std::pop_heap(heap_.begin(), heap_.end(), comes_later);
    Candidate& top = heap_.back();
    if (top.seen == shrinks_.size()) break;
    refresh(top);
    std::push_heap(heap_.begin(), heap_.end(), comes_later);
  }
  Choice out{heap_.back().group, heap_.back().gain, group_transposed(candidates_, entries_, heap_.back().group)};
  heap_.pop_back();
  // V as the earlier choices leave it.
  Matrix shrink = symmetric_times(covariance_, out.rows);
  for (const Matrix& earlier : shrinks_) shrink -= times(earlier, transposed_times(earlier, out.rows));
  Matrix s = transposed_times(out.rows, shrink);
  s.diagonal().array() += variance_;
  if (!cholesky(s)) throw InvalidModel("the covariance of a group of candidates is not positive definite");
  shrink.transposeInPlace();
  solve_lower(s, shrink);
  shrinks_.emplace_back(shrink.transpose());
  if (candidates_.repeats) {
    heap_.push_back({out.group, out.gain, shrinks_.size() - 1});
    std::push_heap(heap_.begin(), heap_.end(), comes_later);
  }
  return out;
}

}  // namespace gaussmith
