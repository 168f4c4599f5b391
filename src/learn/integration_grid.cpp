#include "learn/integration_grid.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

namespace gaussmith {

namespace {

/// How far below the last points that are evaluated the tails go on.
constexpr double tail = 4.0;
/// Tails fall at least this much from point to point, so that they end.
constexpr double least_fall = 1.5;
constexpr std::size_t most_points = 200000;
/// Lines of the lattice that go more sideways than this do not lead inwards.
constexpr double least_cosine = 0.65;

/// A point whose density is known or extrapolated from its parent, an earlier point.
struct Node {
  double log_density = 0.0;
  double mass = 0.0;
  bool evaluated = false;
  int parent = -1;
  int grandparent = -1;  ///< The point before the parent on the same line; none where the line does not go on.
};

/// Points in the order of their expected density; earlier ones first among equals.
struct Candidate {
  double log_density;
  int number;
  LatticePoint point;
  bool operator<(const Candidate& other) const {
    return log_density != other.log_density ? log_density < other.log_density : number > other.number;
  }
};

class LatticeIntegral {
 public:
  LatticeIntegral(const IntegrationLattice& lattice, double depth, const LatticeDensity& evaluate,
                  const LatticeShare& share)
      : lattice_(lattice), depth_(depth), evaluate_(evaluate), share_(share) {}

  std::vector<double> run() {
    const LatticePoint origin = lattice_.origin();
    add(origin, share_(origin, 0.0), {.log_density = evaluate_(origin).value_or(0.0), .evaluated = true});
    while (!queue_.empty() && nodes_.size() < most_points) {
      const LatticePoint point = queue_.top().point;
      queue_.pop();
      if (!numbers_.contains(point)) visit(point);
    }
    return masses();
  }

 private:
  void visit(const LatticePoint& point) {
    Node node = extrapolate(point);
    const double share = share_(point, nodes_[static_cast<std::size_t>(node.parent)].log_density);
    if (share == 0.0) return;
    if (node.log_density > -depth_) {
      if (const auto value = evaluate_(point)) node = {.log_density = *value, .evaluated = true};
    }
    if (node.evaluated || node.log_density > -depth_ - tail) add(point, share, node);
  }

  void add(const LatticePoint& point, double share, Node node) {
    node.mass = lattice_.cell() * share * std::exp(node.log_density);
    const int number = static_cast<int>(nodes_.size());
    numbers_[point] = number;
    nodes_.push_back(node);
    if (node.log_density < -depth_ - tail) return;
    for (LatticePoint& next : lattice_.neighbours(point))
      if (!numbers_.contains(next)) {
        const double log_density = expected(next, point);
        if (log_density > -depth_ - tail) queue_.push({log_density, candidates_++, std::move(next)});
      }
  }

  [[nodiscard]] int find(const LatticePoint& point) const {
    const auto found = numbers_.find(point);
    return found == numbers_.end() ? -1 : found->second;
  }

  /// The density at a point from those inwards of it, on the line of the lattice that points most to the origin.
  [[nodiscard]] Node extrapolate(const LatticePoint& point) const {
    const Vector place = lattice_.place(point);
    int best = -1;
    double best_cosine = -2.0;
    const std::vector<LatticePoint> neighbours = lattice_.neighbours(point);
    for (std::size_t k = 0; k < neighbours.size(); ++k) {
      const Vector move = place - lattice_.place(neighbours[k]);
      const double cosine = place.dot(move) / (place.norm() * move.norm());
      if (cosine <= best_cosine || find(neighbours[k]) < 0) continue;
      best_cosine = cosine;
      best = static_cast<int>(k);
    }
    const LatticePoint& inner = neighbours[static_cast<std::size_t>(best)];
    LatticePoint further = inner;
    for (std::size_t i = 0; i < point.size(); ++i) further[i] += inner[i] - point[i];
    return {.log_density = expected(point, inner), .parent = find(inner), .grandparent = find(further)};
  }

  /// The density at a point as one neighbour, which is known, lets expect it.
  [[nodiscard]] double expected(const LatticePoint& point, const LatticePoint& inner) const {
    const Vector place = lattice_.place(point);
    const Vector from = lattice_.place(inner);
    const int parent = find(inner);
    std::optional<double> continued;
    if (place.dot(place - from) > least_cosine * place.norm() * (place - from).norm())
      continued = along_line(point, inner, parent);
    const double out = continued.value_or(as_normal(place.squaredNorm(), from.squaredNorm(), parent));
    const bool known = nodes_[static_cast<std::size_t>(parent)].evaluated;
    return known ? out : std::min(out, density(parent) - least_fall);
  }

  [[nodiscard]] double density(int number) const { return nodes_[static_cast<std::size_t>(number)].log_density; }

  /// As a normal around the origin would go on.
  [[nodiscard]] double as_normal(double square, double inner_square, int parent) const {
    const double near = density(parent);
    return near < -0.5 && inner_square > 0.0 ? near * std::max(1.0, square / inner_square)
                                             : near - 0.5 * std::max(0.0, square - inner_square);
  }

  /// Quadratically from three points, or linearly where that would bend upwards; empty without a second point.
  [[nodiscard]] std::optional<double> along_line(const LatticePoint& point, const LatticePoint& inner,
                                                 int parent) const {
    LatticePoint further = inner;
    const auto step_inwards = [&] {
      for (std::size_t i = 0; i < point.size(); ++i) further[i] += inner[i] - point[i];
      return find(further);
    };
    const int second = step_inwards();
    if (second < 0) return std::nullopt;
    const int third = step_inwards();
    const double slope = density(parent) - density(second);
    const double bend = third < 0 ? 0.0 : slope - (density(second) - density(third));
    const double change = slope + std::min(bend, 0.0);
    return density(parent) + change;
  }

  /// Tails hand their mass inwards, the latest first: a function of the places continues linearly along their lines,
  /// f(tail) = 2 f(parent) - f(grandparent), so that its averages see how it grows out there.
  std::vector<double> masses() {
    std::vector<double> out;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      if (node->evaluated) {
        out.push_back(std::max(0.0, node->mass));
        continue;
      }
      double& parent = nodes_[static_cast<std::size_t>(node->parent)].mass;
      if (node->grandparent >= 0) {
        parent += 2.0 * node->mass;
        nodes_[static_cast<std::size_t>(node->grandparent)].mass -= node->mass;
      } else {
        parent += node->mass;
      }
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  const IntegrationLattice& lattice_;
  double depth_;
  const LatticeDensity& evaluate_;
  const LatticeShare& share_;
  std::vector<Node> nodes_;
  std::map<LatticePoint, int> numbers_;
  std::priority_queue<Candidate> queue_;
  int candidates_ = 0;
};

}  // namespace

std::vector<double> integrate_on_lattice(const IntegrationLattice& lattice, double depth,
                                         const LatticeDensity& evaluate, const LatticeShare& share) {
  return LatticeIntegral(lattice, depth, evaluate, share).run();
}

}  // namespace gaussmith
