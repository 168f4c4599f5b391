#include "sites/conjugate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int most_steps = 60;
constexpr int most_halvings = 40;
/// A step that promises no more than this, in nats, is added to the value and not made.
constexpr double settled = 1e-12;
/// A step gains this share of what its slope promises.
constexpr double sufficient_increase = 1e-4;
/// The deviation shrinks at most to this share in a step.
constexpr double most_shrinking = 0.1;
/// Of the diagonal of a second derivative that is no longer definite.
constexpr double least_determinant = 1e-10;
constexpr double rounding = 1e-14;
/// A search that gets there has no maximum to find; no site is looked at beyond.
constexpr double farthest = 1e30;

/// What is minimised, w f + terms - slope m - growth s, at one point.
struct Here {
  double mean, deviation;
  double value, by_mean, by_deviation;  ///< Of the function, and its slopes.
  double bend;                          ///< f_mm.
};

struct Step {
  double mean, deviation, decrement;
};

class Search {
 public:
  Search(const SiteBlock& block, Index first, const ConjugateAt& at)
      : block_(block), first_(first), at_(at), rows_(at.slope.size()), here_(rows_), step_(rows_) {}

  void run(const ConjugateOut& out) {
    std::vector<Here> start(rows_);
    std::vector<std::size_t> left(rows_);
    for (std::size_t i = 0; i < rows_; ++i) {
      left[i] = i;
      start[i].mean = at_.mean[i];
      start[i].deviation = at_.deviation[i];
    }
    evaluate(left, start);
    here_ = start;
    std::vector<char> found(rows_, 0);
    for (int k = 0; k < most_steps && !left.empty(); ++k) {
      find_steps(left);
      std::erase_if(left, [&](std::size_t i) {
        if (!std::isfinite(here_[i].value) || !std::isfinite(step_[i].decrement)) return true;
        found[i] = step_[i].decrement <= settled ? 1 : 0;
        return found[i] != 0;
      });
      climb(left);
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      const bool ok = found[i] != 0;
      if (!out.value.empty()) out.value[i] = ok ? -here_[i].value + 0.5 * step_[i].decrement : infinity;
      if (!out.mean.empty()) out.mean[i] = here_[i].mean + (ok ? step_[i].mean : 0.0);
      if (!out.deviation.empty()) out.deviation[i] = here_[i].deviation + (ok ? step_[i].deviation : 0.0);
    }
  }

 private:
  [[nodiscard]] ConjugateTerms terms(std::size_t i) const {
    return at_.terms.empty() ? ConjugateTerms{} : at_.terms[i];
  }

  /// Neighbours share a call.
  void evaluate(const std::vector<std::size_t>& which, std::vector<Here>& points) {
    for (std::size_t begin = 0; begin < which.size();) {
      std::size_t end = begin + 1;
      while (end < which.size() && which[end] == which[end - 1] + 1) ++end;
      evaluate_run(which[begin], end - begin, points);
      begin = end;
    }
  }

  static bool is_near(const Here& p) { return std::abs(p.mean) <= farthest && p.deviation <= farthest; }

  void evaluate_run(std::size_t from, std::size_t count, std::vector<Here>& points) {
    for (std::vector<double>* v : {&mean_, &variance_, &value_, &d_mean_, &d_variance_}) v->resize(count);
    for (std::size_t j = 0; j < count; ++j) {
      const Here& p = points[from + j];
      mean_[j] = is_near(p) ? p.mean : 0.0;
      variance_[j] = (is_near(p) ? p.deviation * p.deviation : 1.0) + terms(from + j).leftover;
    }
    block_.expectation(first_ + static_cast<Index>(from), mean_, variance_, {value_, d_mean_, d_variance_});
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t i = from + j;
      const ConjugateTerms t = terms(i);
      Here& p = points[i];
      const double x = p.deviation - t.centre;
      p.value = -t.weight * value_[j] + 0.5 * x * x * (t.quadratic + t.quartic * x * x) - at_.slope[i] * p.mean -
                at_.growth[i] * p.deviation;
      p.by_mean = -t.weight * d_mean_[j] - at_.slope[i];
      p.by_deviation =
          -2.0 * t.weight * p.deviation * d_variance_[j] + x * (t.quadratic + 2.0 * t.quartic * x * x) - at_.growth[i];
      p.bend = -2.0 * t.weight * d_variance_[j];
      if (!is_near(p)) p.value = infinity;
    }
  }

  /// f'' by differences to both sides: where f is nearly a cone, its determinant is far below its entries.
  void find_steps(const std::vector<std::size_t>& which) {
    near_ = here_;
    other_ = here_;
    for (const std::size_t i : which) near_[i].deviation *= 1.0 + deviation_step;
    for (const std::size_t i : which) other_[i].deviation *= 1.0 - deviation_step;
    evaluate(which, near_);
    evaluate(which, other_);
    for (const std::size_t i : which) {
      const Here& p = here_[i];
      const double h = near_[i].deviation - other_[i].deviation;
      double a = p.bend;
      const double b = (near_[i].by_mean - other_[i].by_mean) / h;
      double c = (near_[i].by_deviation - other_[i].by_deviation) / h;
      // The smaller eigenvalue of a matrix that is not definite is raised.
      const double middle = 0.5 * (a + c);
      const double radius = std::hypot(0.5 * (a - c), b);
      const double largest = std::max(std::abs(middle + radius), std::abs(middle - radius));
      if (!(a > 0.0 && c > 0.0 && a * c - b * b > least_determinant * a * c)) {
        const double shift = std::max(0.0, radius - middle) + 1e-8 * largest + 1e-300;
        a += shift;
        c += shift;
      }
      const double det = a * c - b * b;
      const double dm = (-c * p.by_mean + b * p.by_deviation) / det;
      const double ds = (b * p.by_mean - a * p.by_deviation) / det;
      step_[i] = {dm, ds, -(p.by_mean * dm + p.by_deviation * ds)};
    }
  }

  /// Each row takes the longest of the halved steps that gains enough; one that gains nothing stays, and ends without a
  /// maximum.
  void climb(std::vector<std::size_t>& left) {
    std::vector<double> length(rows_, 1.0);
    for (const std::size_t i : left)
      if (here_[i].deviation + step_[i].deviation < most_shrinking * here_[i].deviation)
        length[i] = (most_shrinking - 1.0) * here_[i].deviation / step_[i].deviation;
    std::vector<std::size_t> trying = left;
    std::vector<Here> next = here_;
    std::vector<char> stuck(rows_, 0);
    for (int k = 0; k < most_halvings && !trying.empty(); ++k) {
      for (const std::size_t i : trying) {
        next[i].mean = here_[i].mean + length[i] * step_[i].mean;
        next[i].deviation = here_[i].deviation + length[i] * step_[i].deviation;
      }
      evaluate(trying, next);
      std::erase_if(trying, [&](std::size_t i) {
        const double wanted = here_[i].value - sufficient_increase * length[i] * step_[i].decrement;
        const double slack = rounding * (1.0 + std::abs(here_[i].value) + std::abs(at_.slope[i] * here_[i].mean));
        if (next[i].value <= wanted + slack) {
          here_[i] = next[i];
          return true;
        }
        length[i] *= 0.5;
        return false;
      });
    }
    for (const std::size_t i : trying) stuck[i] = 1;
    std::erase_if(left, [&](std::size_t i) { return stuck[i] != 0; });
  }

  const SiteBlock& block_;
  Index first_;
  const ConjugateAt& at_;
  std::size_t rows_;
  std::vector<Here> here_, near_, other_;
  std::vector<Step> step_;
  std::vector<double> mean_, variance_, value_, d_mean_, d_variance_;
};

}  // namespace

void conjugate_by_newton(const SiteBlock& block, Index first, const ConjugateAt& at, const ConjugateOut& out) {
  Search(block, first, at).run(out);
}

void SiteBlock::conjugate(Index first, ConstSpan slope, ConstSpan growth, ConstSpan mean, ConstSpan deviation,
                          const ConjugateOut& out) const {
  conjugate_by_newton(*this, first, {slope, growth, mean, deviation}, out);
}

void SiteBlock::conjugate_limit(Index /*first*/, ConstSpan /*slope*/, Span out) const {
  std::fill(out.begin(), out.end(), infinity);
}

}  // namespace gaussmith
