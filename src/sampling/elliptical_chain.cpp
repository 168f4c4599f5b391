#include "numerics/normal_numbers.hpp"
#include "sampling/chains.hpp"
#include "sampling/elliptical_slices.hpp"

#include <array>
#include <utility>

namespace gaussmith {

namespace {

/// Directions that are drawn at once: a product with a block of vectors costs less than as many with one.
constexpr Index at_once = 32;
/// Widths of the Gaussian that stands for the prior, one a move. With width s it is N(0, s^2 I) and the value of a
/// point gains -(1 - 1/s^2) x'x / 2.
constexpr std::array<double, 4> widths = {1.0, 2.0, 1.0, 4.0};

class EllipticalChain final : public Chain {
 public:
  EllipticalChain(const ChainTarget& target, Vector from, Random random)
      : target_(target), random_(random), x_(std::move(from)) {
    Matrix x = x_;
    Matrix d;
    target_.reference->spread(x, d);
    d_ = d.col(0);
    change_ = target_.change(d_);
  }

  void advance(bool /*warmup*/) override {
    for (const double width : widths) {
      if (used_ == directions_.cols()) draw_directions();
      const double lost = 0.5 * (1.0 - 1.0 / (width * width));
      double now = change_ - lost * x_.squaredNorm();
      elliptical_move(x_, d_, width * directions_.col(used_), width * spread_.col(used_), now, random_,
                      [&](const Vector& d, double square) { return target_.change(d) - lost * square; });
      ++used_;
      change_ = now + lost * x_.squaredNorm();
      // Sums of many moves drift by rounding.
      if (++moves_ % 256 == 0) {
        Matrix x = x_;
        Matrix d;
        target_.reference->spread(x, d);
        d_ = d.col(0);
        change_ = target_.change(d_);
      }
    }
  }
  [[nodiscard]] const Vector& x() const override { return x_; }
  [[nodiscard]] const Vector& deviation() const override { return d_; }

 private:
  void draw_directions() {
    directions_.resize(x_.size(), at_once);
    fill_normal(random_, {directions_.data(), static_cast<std::size_t>(directions_.size())});
    Matrix x = directions_;
    target_.reference->spread(x, spread_);
    used_ = 0;
  }

  ChainTarget target_;
  Random random_;
  Vector x_, d_;
  Matrix directions_, spread_;
  Index used_ = 0;
  int moves_ = 0;
  double change_ = 0.0;
};

}  // namespace

std::unique_ptr<Chain> elliptical_chain(const ChainTarget& target, Vector from, Random random) {
  return std::make_unique<EllipticalChain>(target, std::move(from), random);
}

}  // namespace gaussmith
