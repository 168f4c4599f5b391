#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "model/operators/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numbers>

namespace gaussmith {

namespace {

constexpr double root3 = std::numbers::sqrt3;
constexpr double unit = 1.0 / (4.0 * std::numbers::sqrt2);
constexpr std::array<double, 4> taps = {(1.0 + root3) * unit, (3.0 + root3) * unit, (3.0 - root3) * unit,
                                        (1.0 - root3) * unit};

/// Columns of an image that are transformed together, so that what is near in memory is used at once.
constexpr Index most_lanes = 64;

/// n entries `stride` apart, of each of `lanes` lines side by side.
struct Lines {
  double* first;
  Index stride;
  Index n;
  Index lanes;
  [[nodiscard]] double* at(Index i) const { return first + i % n * stride; }
};

/// What `lines` hold becomes what `work` holds.
void take_over(const Lines& lines, const Vector& work) {
  for (Index i = 0; i < lines.n; ++i) std::copy_n(work.data() + i * lines.lanes, lines.lanes, lines.at(i));
}

/// One level along lines: means in the first half, details in the second.
void split(const Lines& x, Vector& work) {
  const Index half = x.n / 2;
  for (Index i = 0; i < half; ++i) {
    const double* const a = x.at(2 * i);
    const double* const b = x.at(2 * i + 1);
    const double* const c = x.at(2 * i + 2);
    const double* const d = x.at(2 * i + 3);
    double* const mean = work.data() + i * x.lanes;
    double* const detail = work.data() + (half + i) * x.lanes;
    for (Index l = 0; l < x.lanes; ++l) {
      mean[l] = taps[0] * a[l] + taps[1] * b[l] + taps[2] * c[l] + taps[3] * d[l];
      detail[l] = taps[3] * a[l] - taps[2] * b[l] + taps[1] * c[l] - taps[0] * d[l];
    }
  }
  take_over(x, work);
}

/// The transpose of `split`, which is its inverse: entries 2i and 2i + 1 come from pairs i and i - 1.
void merge(const Lines& x, Vector& work) {
  const Index half = x.n / 2;
  for (Index i = 0; i < half; ++i) {
    const Index before = (i + half - 1) % half;
    const double* const mean = x.at(i);
    const double* const detail = x.at(half + i);
    const double* const mean_before = x.at(before);
    const double* const detail_before = x.at(half + before);
    double* const even = work.data() + 2 * i * x.lanes;
    double* const odd = even + x.lanes;
    for (Index l = 0; l < x.lanes; ++l) {
      even[l] = taps[0] * mean[l] + taps[3] * detail[l] + taps[2] * mean_before[l] + taps[1] * detail_before[l];
      odd[l] = taps[1] * mean[l] - taps[2] * detail[l] + taps[3] * mean_before[l] - taps[0] * detail_before[l];
    }
  }
  take_over(x, work);
}

class Wavelets final : public LinearOperator {
 public:
  Wavelets(const Grid& grid, int levels) : grid_(grid), levels_(levels) {}
  [[nodiscard]] Index rows() const override { return grid_.size(); }
  [[nodiscard]] Index cols() const override { return grid_.size(); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out = x;
    Vector work(std::max(grid_.height * most_lanes, grid_.width));
    for (Index k = 0; k < out.cols(); ++k)
      for (int level = 0; level < levels_; ++level) {
        for_lines(out.col(k).data(), level, true, [&](const Lines& lines) { split(lines, work); });
        for_lines(out.col(k).data(), level, false, [&](const Lines& lines) { split(lines, work); });
      }
  }

  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out = x;
    Vector work(std::max(grid_.height * most_lanes, grid_.width));
    for (Index k = 0; k < out.cols(); ++k)
      for (int level = levels_ - 1; level >= 0; --level) {
        for_lines(out.col(k).data(), level, false, [&](const Lines& lines) { merge(lines, work); });
        for_lines(out.col(k).data(), level, true, [&](const Lines& lines) { merge(lines, work); });
      }
  }

 private:
  /// The rows or the columns of the means that a level starts from; sides of one entry stay as they are.
  template <class Visit>
  void for_lines(double* image, int level, bool along_rows, const Visit& visit) const {
    const Index height = grid_.height > 1 ? grid_.height >> level : 1;
    const Index width = grid_.width > 1 ? grid_.width >> level : 1;
    if (along_rows && width > 1)
      for (Index i = 0; i < height; ++i) visit(Lines{image + i * grid_.width, 1, width, 1});
    if (!along_rows && height > 1)
      for (Index j = 0; j < width; j += most_lanes)
        visit(Lines{image + j, grid_.width, height, std::min(most_lanes, width - j)});
  }

  Grid grid_;
  int levels_;
};

}  // namespace

OperatorHandle wavelets(const Grid& grid, int levels) {
  check_grid("wavelets", grid);
  const auto allowed = [&](Index side) { return side == 1 || (levels < 31 && side % (Index{1} << levels) == 0); };
  if (levels < 1 || !allowed(grid.height) || !allowed(grid.width))
    throw InvalidModel(fmt::format(
        "wavelets: {} levels of a {} x {} grid; levels must be at least 1, and every side 1 or divisible by "
        "2^levels",
        levels, grid.height, grid.width));
  return std::make_shared<const Wavelets>(grid, levels);
}

}  // namespace gaussmith
