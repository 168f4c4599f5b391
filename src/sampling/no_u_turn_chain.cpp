#include "linalg/dense.hpp"
#include "numerics/normal_numbers.hpp"
#include "sampling/chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// An energy error from which on a trajectory counts as lost.
constexpr double lost_energy = 1000.0;

double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return std::isfinite(most) ? most + std::log(std::exp(a - most) + std::exp(b - most)) : most;
}

/// Dual averaging of the log step size (Nesterov 2009, with the constants of Hoffman and Gelman 2014).
class StepSize {
 public:
  void restart(double step) {
    centre_ = std::log(10.0 * step);
    error_ = average_ = 0.0;
    count_ = 0.0;
    now_ = std::log(step);
  }
  void learn(double acceptance, double goal) {
    count_ += 1.0;
    const double share = 1.0 / (count_ + 10.0);
    error_ = (1.0 - share) * error_ + share * (goal - acceptance);
    now_ = centre_ - error_ * std::sqrt(count_) / 0.05;
    const double weight = std::pow(count_, -0.75);
    average_ = weight * now_ + (1.0 - weight) * average_;
  }
  [[nodiscard]] double now() const { return std::exp(now_); }
  [[nodiscard]] double settled() const { return count_ > 0.0 ? std::exp(average_) : now(); }

 private:
  double centre_ = 0.0, error_ = 0.0, average_ = 0.0, count_ = 0.0, now_ = 0.0;
};

/// A point of a trajectory.
struct Phase {
  Vector x, momentum, gradient, deviation;
  double log_density = -infinity;

  [[nodiscard]] double energy() const { return -log_density + 0.5 * momentum.squaredNorm(); }
};

/// A part of a trajectory that was doubled into being: its ends, the point chosen from it, and sums over its points.
struct Tree {
  Phase first, last;    // In the order of time.
  Vector x, deviation;  // The point that was chosen.
  double log_density = -infinity;
  double log_weight = -infinity;
  Vector momentum;  // Sum.
  double acceptance = 0.0;
  int points = 0;
  bool going = true;  // Neither turned nor lost.
};

bool turns(const Vector& sum, const Vector& first, const Vector& last) {
  return sum.dot(first) <= 0.0 || sum.dot(last) <= 0.0;
}

class NoUTurnChain final : public Chain {
 public:
  NoUTurnChain(const ChainTarget& target, Vector from, double acceptance, int max_depth, Random random)
      : target_(target), random_(random), goal_(acceptance), max_depth_(max_depth) {
    now_.x = std::move(from);
    evaluate(now_);
    find_first_step();
  }

  void advance(bool warmup) override {
    if (!warmup && adapting_) {
      adapting_ = false;
      step_ = size_.settled();
    }
    draw_momentum();
    const double start = now_.energy();
    Tree tree = leaf(now_, start);
    for (int depth = 0; depth < max_depth_ && tree.going; ++depth) {
      const bool forward = random_.uniform() < 0.5;
      Tree other = grow(forward ? tree.last : tree.first, forward ? step_ : -step_, depth, start);
      tree.acceptance += other.acceptance;
      tree.points += other.points;
      if (!other.going) break;
      // The newer half is preferred, which moves further.
      if (std::log(random_.uniform()) < other.log_weight - tree.log_weight) take(tree, other);
      join(tree, std::move(other), forward);
    }
    now_.x = tree.x;
    now_.deviation = tree.deviation;
    evaluate(now_);
    // The starting point itself counts in no mean acceptance.
    const double acceptance = tree.points > 1 ? (tree.acceptance - 1.0) / (tree.points - 1) : 0.0;
    if (warmup) {
      size_.learn(acceptance, goal_);
      step_ = size_.now();
    }
  }

  [[nodiscard]] const Vector& x() const override { return now_.x; }
  [[nodiscard]] const Vector& deviation() const override { return now_.deviation; }
  [[nodiscard]] int failures() const override { return lost_; }

 private:
  void evaluate(Phase& at) {
    Matrix x = at.x;
    Matrix d;
    target_.reference->spread(x, d);
    at.deviation = d.col(0);
    at.log_density = target_.change(at.deviation, slope_) - 0.5 * at.x.squaredNorm();
    at.gradient = -at.x;
    add_transposed_times(target_.reference->latent_root(), slope_, at.gradient);
    if (!at.gradient.allFinite()) {
      at.log_density = -infinity;
      at.gradient.setZero();
    }
  }

  void draw_momentum() {
    now_.momentum.resize(now_.x.size());
    fill_normal(random_, view(now_.momentum));
  }

  Phase leap(const Phase& from, double step) {
    Phase to;
    to.momentum = from.momentum + 0.5 * step * from.gradient;
    to.x = from.x + step * to.momentum;
    evaluate(to);
    to.momentum += 0.5 * step * to.gradient;
    return to;
  }

  /// A step size at which one step is accepted about as often as not.
  void find_first_step() {
    step_ = 0.5;
    draw_momentum();
    const double start = now_.energy();
    double direction = 0.0;
    for (int tries = 0; tries < 40; ++tries) {
      const double change = start - leap(now_, step_).energy();
      const double wanted = change > std::log(0.8) ? 1.0 : -1.0;
      if (direction == 0.0) direction = wanted;
      if (wanted != direction) break;
      step_ *= direction > 0.0 ? 2.0 : 0.5;
    }
    size_.restart(step_);
  }

  [[nodiscard]] static Tree leaf(const Phase& at, double start) {
    Tree tree;
    tree.first = tree.last = at;
    tree.x = at.x;
    tree.deviation = at.deviation;
    tree.log_density = at.log_density;
    const double gained = start - at.energy();
    tree.log_weight = std::isnan(gained) ? -infinity : gained;
    tree.momentum = at.momentum;
    tree.acceptance = std::isnan(gained) ? 0.0 : std::min(1.0, std::exp(gained));
    tree.points = 1;
    tree.going = tree.log_weight > -lost_energy;
    return tree;
  }

  static void take(Tree& tree, const Tree& other) {
    tree.x = other.x;
    tree.deviation = other.deviation;
    tree.log_density = other.log_density;
  }

  /// Puts the other part at the end or before the beginning, and looks for turns of the whole and across the seam.
  static void join(Tree& tree, Tree other, bool forward) {
    Tree& early = forward ? tree : other;
    Tree& late = forward ? other : tree;
    const Vector sum = early.momentum + late.momentum;
    bool turned = turns(sum, early.first.momentum, late.last.momentum);
    turned = turned || turns(early.momentum + late.first.momentum, early.first.momentum, late.first.momentum);
    turned = turned || turns(late.momentum + early.last.momentum, early.last.momentum, late.last.momentum);
    tree.going = tree.going && other.going && !turned;
    tree.log_weight = log_sum(tree.log_weight, other.log_weight);
    if (forward)
      tree.last = std::move(other.last);
    else
      tree.first = std::move(other.first);
    tree.momentum = sum;
  }

  Tree grow(const Phase& from, double step, int depth, double start) {
    if (depth == 0) {
      Tree tree = leaf(leap(from, step), start);
      if (!tree.going && !adapting_) ++lost_;
      return tree;
    }
    Tree tree = grow(from, step, depth - 1, start);
    if (!tree.going) return tree;
    const bool forward = step > 0.0;
    Tree other = grow(forward ? tree.last : tree.first, step, depth - 1, start);
    tree.acceptance += other.acceptance;
    tree.points += other.points;
    if (!other.going) {
      tree.going = false;
      return tree;
    }
    if (std::log(random_.uniform()) < other.log_weight - log_sum(tree.log_weight, other.log_weight)) take(tree, other);
    join(tree, std::move(other), forward);
    return tree;
  }

  ChainTarget target_;
  Random random_;
  double goal_;
  int max_depth_;
  Phase now_;
  StepSize size_;
  double step_ = 0.5;
  bool adapting_ = true;
  int lost_ = 0;
  Vector slope_;
};

}  // namespace

std::unique_ptr<Chain> no_u_turn_chain(const ChainTarget& target, Vector from, double acceptance, int max_depth,
                                       Random random) {
  return std::make_unique<NoUTurnChain>(target, std::move(from), acceptance, max_depth, random);
}

}  // namespace gaussmith
