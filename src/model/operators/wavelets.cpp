#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "model/operators/checks.hpp"

#include <fmt/format.h>

#include <array>
#include <numbers>

namespace gaussmith {

namespace {

constexpr double root3 = std::numbers::sqrt3;
constexpr double unit = 1.0 / (4.0 * std::numbers::sqrt2);
constexpr std::array<double, 4> taps = {(1.0 + root3) * unit, (3.0 + root3) * unit, (3.0 - root3) * unit,
                                        (1.0 - root3) * unit};

/// n entries `stride` apart.
struct Line {
  double* first;
  Index stride;
  Index n;
  double& operator[](Index i) const { return first[i * stride]; }
};

/// One level along a line: means in the first half, details in the second.
void split(const Line& x, Vector& work) {
  const Index half = x.n / 2;
  for (Index i = 0; i < half; ++i) {
    const double a = x[2 * i];
    const double b = x[2 * i + 1];
    const double c = x[(2 * i + 2) % x.n];
    const double d = x[(2 * i + 3) % x.n];
    work(i) = taps[0] * a + taps[1] * b + taps[2] * c + taps[3] * d;
    work(half + i) = taps[3] * a - taps[2] * b + taps[1] * c - taps[0] * d;
  }
  for (Index i = 0; i < x.n; ++i) x[i] = work(i);
}

/// The transpose of `split`, which is its inverse.
void merge(const Line& x, Vector& work) {
  const Index half = x.n / 2;
  work.head(x.n).setZero();
  for (Index i = 0; i < half; ++i) {
    const double mean = x[i];
    const double detail = x[half + i];
    work(2 * i) += taps[0] * mean + taps[3] * detail;
    work(2 * i + 1) += taps[1] * mean - taps[2] * detail;
    work((2 * i + 2) % x.n) += taps[2] * mean + taps[1] * detail;
    work((2 * i + 3) % x.n) += taps[3] * mean - taps[0] * detail;
  }
  for (Index i = 0; i < x.n; ++i) x[i] = work(i);
}

class Wavelets final : public LinearOperator {
 public:
  Wavelets(const Grid& grid, int levels) : grid_(grid), levels_(levels) {}
  [[nodiscard]] Index rows() const override { return grid_.size(); }
  [[nodiscard]] Index cols() const override { return grid_.size(); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out = x;
    Vector work(std::max(grid_.height, grid_.width));
    for (Index k = 0; k < out.cols(); ++k)
      for (int level = 0; level < levels_; ++level) {
        for_lines(out.col(k).data(), level, true, [&](const Line& line) { split(line, work); });
        for_lines(out.col(k).data(), level, false, [&](const Line& line) { split(line, work); });
      }
  }

  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out = x;
    Vector work(std::max(grid_.height, grid_.width));
    for (Index k = 0; k < out.cols(); ++k)
      for (int level = levels_ - 1; level >= 0; --level) {
        for_lines(out.col(k).data(), level, false, [&](const Line& line) { merge(line, work); });
        for_lines(out.col(k).data(), level, true, [&](const Line& line) { merge(line, work); });
      }
  }

 private:
  /// The rows or the columns of the means that a level starts from; sides of one entry stay as they are.
  template <class Visit>
  void for_lines(double* image, int level, bool along_rows, const Visit& visit) const {
    const Index height = grid_.height > 1 ? grid_.height >> level : 1;
    const Index width = grid_.width > 1 ? grid_.width >> level : 1;
    if (along_rows && width > 1)
      for (Index i = 0; i < height; ++i) visit(Line{image + i * grid_.width, 1, width});
    if (!along_rows && height > 1)
      for (Index j = 0; j < width; ++j) visit(Line{image + j, grid_.width, height});
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
