#include "numerics/normal_numbers.hpp"
#include "sampling/chains.hpp"
#include "sampling/elliptical_slices.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// Directions that are drawn at once: a product with a block of vectors costs less than as many with one.
constexpr Index at_once = 32;
constexpr int moves_a_draw = 4;
/// Moves after which rounding of their sums is taken back.
constexpr int moves_afresh = 256;

class EllipticalChain final : public Chain {
 public:
  EllipticalChain(const ChainTarget& target, Vector from, Random random, bool around_prior)
      : target_(target),
        random_(random),
        degrees_(std::max(5.0, 0.25 * static_cast<double>(from.size()))),
        around_prior_(around_prior),
        x_(std::move(from)) {
    begin_afresh();
    if (!around_prior_) return;
    const SamplingSpace& space = target_.reference->space();
    prior_x_ = target_.reference->coordinates_of(Vector::Zero(space.rank()));
    prior_d_ = space.latent_mean() - target_.reference->latent_mean();
  }

  void advance(bool /*warmup*/) override {
    for (int move = 0; move < moves_a_draw; ++move) {
      if (around_prior_ && move % 2 == 1)
        move_around_prior();
      else
        move_around_reference();
      if (++moves_ % moves_afresh == 0) begin_afresh();
    }
  }
  [[nodiscard]] const Vector& x() const override { return x_; }
  [[nodiscard]] const Vector& deviation() const override { return d_; }

 private:
  /// What the density of x gains over the t.
  [[nodiscard]] double over_t(double square) const {
    return -0.5 * square + 0.5 * (degrees_ + static_cast<double>(x_.size())) * std::log1p(square / degrees_);
  }

  /// The t is a mixture of N(0, s^2 I): given x, s^2 has an inverse gamma distribution, and given s the move is one
  /// around that Gaussian.
  void move_around_reference() {
    if (used_ == directions_.cols()) draw_directions();
    const double square = x_.squaredNorm();
    const double half = 0.5 * (degrees_ + static_cast<double>(x_.size()));
    const double s = std::sqrt(0.5 * (degrees_ + square) / random_.gamma(half));
    double now = change_ + over_t(square);
    elliptical_move(x_, d_, s * directions_.col(used_), s * spread_.col(used_), now, random_,
                    [&](const Vector& d, double there) {
                      eta_ = target_.reference->latent_mean() + d;
                      return target_.change_at(d, eta_) + over_t(there);
                    });
    ++used_;
    change_ = now - over_t(x_.squaredNorm());
  }

  /// Around the prior v ~ N(0, I), in x and d: an ellipse around the prior's mean, and the sites alone count.
  void move_around_prior() {
    const SamplingSpace& space = target_.reference->space();
    Vector v(space.rank());
    fill_normal(random_, view(v));
    const Vector along_x = target_.reference->coordinates_of(v) - prior_x_;
    const Vector along_d = space.rows() * v;
    Vector x = x_ - prior_x_;
    Vector d = d_ - prior_d_;
    double now = change_ + target_.reference->site_change(view(std::as_const(d_)));
    elliptical_move(x, d, along_x, along_d, now, random_, [&](const Vector& from_mean, double) {
      eta_ = space.latent_mean() + from_mean;
      return target_.sites->total(view(std::as_const(eta_)));
    });
    x_ = prior_x_ + x;
    d_ = prior_d_ + d;
    change_ = now - target_.reference->site_change(view(std::as_const(d_)));
  }

  void draw_directions() {
    directions_.resize(x_.size(), at_once);
    fill_normal(random_, {directions_.data(), static_cast<std::size_t>(directions_.size())});
    Matrix x = directions_;
    target_.reference->spread(x, spread_);
    used_ = 0;
  }

  void begin_afresh() {
    Matrix x = x_;
    Matrix d;
    target_.reference->spread(x, d);
    d_ = d.col(0);
    eta_ = target_.reference->latent_mean() + d_;
    change_ = target_.change_at(d_, eta_);
  }

  ChainTarget target_;
  Random random_;
  double degrees_;
  bool around_prior_;
  Vector x_, d_, eta_;
  Vector prior_x_, prior_d_;  // Of the prior's mean.
  Matrix directions_, spread_;
  Index used_ = 0;
  int moves_ = 0;
  double change_ = 0.0;
};

}  // namespace

std::unique_ptr<Chain> elliptical_chain(const ChainTarget& target, Vector from, Random random, bool around_prior) {
  return std::make_unique<EllipticalChain>(target, std::move(from), random, around_prior);
}

}  // namespace gaussmith
