#include "model/markov_field.hpp"

#include "linalg/sparse_cholesky.hpp"
#include "model/check_finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

/// Entries of a precision may differ from their mirror images by this much of the largest one.
constexpr double symmetry_tolerance = 1e-8;
/// A pivot this small beside its diagonal entry is rounding of zero.
constexpr double singular_pivot = 1e-13;
/// Constraints are dense rows: parts of a graph times its nodes.
constexpr double most_held = 2e7;

using Triplets = std::vector<Eigen::Triplet<double>>;

/// Differences of weights, one a row.
class Differences {
 public:
  void add(const std::vector<std::pair<Index, double>>& terms) {
    for (const auto& [j, c] : terms) entries_.emplace_back(rows_, static_cast<int>(j), c);
    ++rows_;
  }
  /// sqrt(precision) times the differences.
  [[nodiscard]] SparseMatrix matrix(Index size, double precision) const {
    SparseMatrix out(rows_, size);
    out.setFromTriplets(entries_.begin(), entries_.end());
    return std::sqrt(precision) * out;
  }

 private:
  Triplets entries_;
  int rows_ = 0;
};

/// Both halves of what may be given as the lower one alone. Throws InvalidModel where the halves do not agree.
SparseMatrix both_halves(const SparseMatrix& given) {
  const SparseMatrix mirrored = given.transpose();
  double largest = 0.0;
  bool upper = false;
  for (Index i = 0; i < given.rows(); ++i)
    for (SparseMatrix::InnerIterator it(given, i); it; ++it) {
      if (!std::isfinite(it.value()))
        refuse_model(fmt::format("prior.precision[{}][{}] is {}; it must be a finite number", i, it.col(), it.value()));
      largest = std::max(largest, std::abs(it.value()));
      upper = upper || (it.col() > i && it.value() != 0.0);
    }
  if (!upper) return given + SparseMatrix(mirrored.triangularView<Eigen::StrictlyUpper>());
  const SparseMatrix difference = given - mirrored;
  for (Index i = 0; i < difference.rows(); ++i)
    for (SparseMatrix::InnerIterator it(difference, i); it; ++it)
      if (std::abs(it.value()) > symmetry_tolerance * largest)
        refuse_model(
            fmt::format("prior.precision is not symmetric: entry [{}][{}] is {} and [{}][{}] is {}; give both halves "
                        "or the lower one alone",
                        i, it.col(), given.coeff(i, it.col()), it.col(), i, given.coeff(it.col(), i)));
  return 0.5 * (given + mirrored);
}

std::vector<double> entries_on(const SymmetricPattern& pattern, const SparseMatrix& a) {
  std::vector<double> out;
  out.reserve(pattern.row.size());
  for (Index j = 0; j < pattern.size; ++j)
    for (int k = pattern.begin[static_cast<std::size_t>(j)]; k < pattern.begin[static_cast<std::size_t>(j) + 1]; ++k)
      out.push_back(a.coeff(pattern.row[static_cast<std::size_t>(k)], j));
  return out;
}

/// The nodes that rw1 and besag join, each pair once, and the variance of their difference.
struct Tie {
  Index from, to;
  double variance;
};
std::vector<Tie> ties_of(const IntrinsicField& p) {
  std::vector<Tie> ties;
  if (p.kind == FieldKind::besag) {
    for (const auto& [i, j] : p.edges) ties.push_back({i, j, 1.0});
    return ties;
  }
  for (Index j = 0; j + 1 < p.dimension; ++j)
    ties.push_back({j, j + 1, p.locations.size() > 0 ? p.locations(j + 1) - p.locations(j) : 1.0});
  if (p.cyclic) ties.push_back({p.dimension - 1, 0, 1.0});
  return ties;
}

/// Second differences around the node j, over the neighbours `before` and `after`: at distances d and e they are
/// ((w_(j+1) - w_j)/e - (w_j - w_(j-1))/d) / sqrt((d + e)/2).
std::vector<std::pair<Index, double>> second_difference(const IntrinsicField& p, Index j) {
  const Index before = (j + p.dimension - 1) % p.dimension;
  const Index after = (j + 1) % p.dimension;
  if (p.locations.size() == 0) return {{before, 1.0}, {j, -2.0}, {after, 1.0}};
  const double d = p.locations(j) - p.locations(before);
  const double e = p.locations(after) - p.locations(j);
  const double root = std::sqrt(0.5 * (d + e));
  return {{before, 1.0 / (d * root)}, {j, -(1.0 / d + 1.0 / e) / root}, {after, 1.0 / (e * root)}};
}

double scale_of(const IntrinsicField& p, std::size_t part) {
  return p.scale.size() > 0 ? p.scale(static_cast<Index>(part)) : 1.0;
}

/// The trend that second differences do not see, about the middle of the nodes.
Vector trend_of(const IntrinsicField& p) {
  const Vector at = p.locations.size() > 0
                        ? p.locations
                        : Vector(Vector::LinSpaced(p.dimension, 0.0, static_cast<double>(p.dimension - 1)));
  return at.array() - at.mean();
}

void check_locations(const IntrinsicField& p) {
  if (p.cyclic && p.locations.size() > 0)
    refuse_model("prior.locations: a cyclic field has nodes one apart; leave locations or cyclic out");
  if (p.cyclic && p.dimension < 3)
    refuse_model(fmt::format("prior.dim is {}; a cyclic field needs at least 3", p.dimension));
  if (p.locations.size() == 0) return;
  if (p.locations.size() != p.dimension)
    refuse_model(fmt::format("prior.locations has {} entries, but prior.dim is {}", p.locations.size(), p.dimension));
  check_finite(p.locations, "prior.locations");
  for (Index j = 0; j + 1 < p.dimension; ++j)
    if (!(p.locations(j + 1) - p.locations(j) > 0.0))
      refuse_model(fmt::format("prior.locations[{}] is {} after {}; they must ascend", j + 1, p.locations(j + 1),
                               p.locations(j)));
}

void check_scale(const IntrinsicField& p, std::size_t parts) {
  if (p.scale.size() == 0) return;
  if (p.scale.size() != static_cast<Index>(parts))
    refuse_model(fmt::format("prior.scale has {} factors, but the field has {} connected part{}", p.scale.size(), parts,
                             parts == 1 ? "" : "s"));
  for (const double factor : p.scale)
    if (!(factor > 0.0) || !std::isfinite(factor))
      refuse_model(fmt::format("prior.scale holds {}; its factors are positive", factor));
}

}  // namespace

double log_determinant_of(const SparseMatrix& q) {
  SparseCholesky factor(gram_pattern(q, nullptr));
  if (!factor.factorise(entries_on(factor.pattern(), q)))
    refuse_model(
        "prior.precision is not positive definite; a precision has positive eigenvalues only. Fields without a level "
        "are rw1, rw2 and besag");
  if (factor.smallest_pivot() < singular_pivot)
    refuse_model(
        "prior.precision is rank-deficient: it leaves some direction of w open. Use rw1, rw2 or besag for fields "
        "without a level, or add to its diagonal");
  return factor.log_determinant();
}

void check_precision(const SparsePrecision& p) {
  if (p.mean.size() == 0) refuse_model("prior: the prior has dimension 0; at least 1 is needed");
  check_finite(p.mean, "prior.mean");
  if (p.precision.rows() != p.mean.size() || p.precision.cols() != p.mean.size())
    refuse_model(fmt::format("prior.precision is {} x {}, but prior.mean has {} entries", p.precision.rows(),
                             p.precision.cols(), p.mean.size()));
  (void)log_determinant_of(both_halves(p.precision));
}

std::vector<std::vector<Index>> parts_of(const IntrinsicField& p) {
  std::vector<Index> parent(static_cast<std::size_t>(p.dimension));
  std::iota(parent.begin(), parent.end(), Index{0});
  const auto root = [&](Index i) {
    while (parent[static_cast<std::size_t>(i)] != i) {
      parent[static_cast<std::size_t>(i)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(i)])];
      i = parent[static_cast<std::size_t>(i)];
    }
    return i;
  };
  for (const Tie& tie : ties_of(p)) parent[static_cast<std::size_t>(root(tie.from))] = root(tie.to);
  std::vector<Index> number(static_cast<std::size_t>(p.dimension), -1);
  std::vector<std::vector<Index>> out;
  for (Index i = 0; i < p.dimension; ++i) {
    Index& own = number[static_cast<std::size_t>(root(i))];
    if (own < 0) {
      own = static_cast<Index>(out.size());
      out.emplace_back();
    }
    out[static_cast<std::size_t>(own)].push_back(i);
  }
  return out;
}

bool has_free_trend(const IntrinsicField& p) { return p.kind == FieldKind::rw2 && !p.cyclic; }

void check_field(const IntrinsicField& p) {
  const bool scaled = p.scale.size() > 0;
  const Index least = p.kind == FieldKind::rw2 ? 3 : scaled && p.kind == FieldKind::besag ? 1 : 2;
  if (p.dimension < least)
    refuse_model(fmt::format("prior.dim is {}; this field needs at least {}", p.dimension, least));
  if (!(p.precision > 0.0) || !std::isfinite(p.precision))
    refuse_model(fmt::format("prior.precision must be positive and finite, found {}", p.precision));
  if (p.kind != FieldKind::besag) {
    if (!p.edges.empty()) refuse_model("prior.edges: only besag has edges");
    check_locations(p);
    check_scale(p, 1);
    return;
  }
  if (p.locations.size() > 0 || p.cyclic) refuse_model("prior: only random walks have locations or are cyclic");
  if (p.edges.empty() && !scaled) refuse_model("prior.edges is empty; a besag field needs the pairs of neighbours");
  std::set<std::pair<Index, Index>> seen;
  for (std::size_t e = 0; e < p.edges.size(); ++e) {
    const auto [i, j] = p.edges[e];
    if (i < 0 || j < 0 || i >= p.dimension || j >= p.dimension)
      refuse_model(
          fmt::format("prior.edges[{}] is [{}, {}]; nodes are numbered from 0 to {}", e, i, j, p.dimension - 1));
    if (i == j) refuse_model(fmt::format("prior.edges[{}] joins node {} with itself", e, i));
    if (!seen.insert(std::minmax(i, j)).second)
      refuse_model(fmt::format("prior.edges[{}] is [{}, {}], which was given before; each pair once", e, i, j));
  }
  const std::vector<std::vector<Index>> parts = parts_of(p);
  std::size_t held = 0;
  for (const std::vector<Index>& part : parts) {
    held += part.size() > 1 ? 1 : 0;
    if (part.size() == 1 && !scaled)
      refuse_model(
          fmt::format("prior.edges: node {} has no neighbour, so that its value would be held at 0; leave it out, join "
                      "it, or scale the field (scaled: true), which makes it independent of the others",
                      part.front()));
  }
  check_scale(p, parts.size());
  if (static_cast<double>(held) * static_cast<double>(p.dimension) > most_held)
    refuse_model(fmt::format("prior.edges: {} nodes in {} parts that are not joined; up to {} parts are accepted here",
                             p.dimension, held, static_cast<Index>(most_held / static_cast<double>(p.dimension))));
}

KnownPrecision precision_of(const SparsePrecision& p) {
  SparseMatrix q = both_halves(p.precision);
  KnownPrecision out;
  out.precision.swap(q);
  return out;
}

KnownPrecision precision_of(const IntrinsicField& p) {
  Differences differences;
  KnownPrecision out;
  const std::vector<std::vector<Index>> parts = parts_of(p);
  Vector root_of_scale(p.dimension);
  Index held = 0;
  for (std::size_t c = 0; c < parts.size(); ++c) {
    for (const Index i : parts[c]) root_of_scale(i) = std::sqrt(scale_of(p, c));
    held += parts[c].size() > 1 ? 1 : 0;
  }
  if (p.kind == FieldKind::rw2) {
    const Index ends = p.cyclic ? 0 : 1;
    for (Index j = ends; j + ends < p.dimension; ++j) {
      auto terms = second_difference(p, j);
      for (auto& [node, factor] : terms) factor *= root_of_scale(j);
      differences.add(terms);
    }
    out.improper = has_free_trend(p) ? 1 : 0;
  } else {
    for (const Tie& tie : ties_of(p)) {
      const double factor = root_of_scale(tie.from) / std::sqrt(tie.variance);
      differences.add({{tie.from, -factor}, {tie.to, factor}});
    }
    // Nodes without a neighbour are independent.
    for (const std::vector<Index>& part : parts)
      if (part.size() == 1) differences.add({{part.front(), root_of_scale(part.front())}});
  }
  out.root = differences.matrix(p.dimension, p.precision);
  out.precision = SparseMatrix(out.root.transpose()) * out.root;
  const Vector diagonal = out.precision.diagonal();
  out.constraints = Matrix::Zero(held, p.dimension);
  out.ground_weights.resize(held);
  for (const std::vector<Index>& part : parts) {
    if (part.size() == 1) continue;
    const auto own = static_cast<Index>(out.grounds.size());
    for (const Index i : part) out.constraints(own, i) = 1.0;
    out.grounds.push_back(p.kind == FieldKind::besag ? part.back() : p.dimension / 2);
    out.ground_weights(own) = diagonal(part).mean();
  }
  return out;
}

double log_determinant_of(const IntrinsicField& p, const KnownPrecision& known) {
  const auto d = static_cast<double>(p.dimension);
  const auto rank = static_cast<double>(p.dimension - known.constraints.rows() - known.improper);
  const double scale = rank * std::log(p.precision);
  if (p.kind == FieldKind::besag) {
    // By Kirchhoff's theorem: for each part the weighted number of its spanning trees, which is the determinant with
    // one node held, times the number of its nodes.
    SparseMatrix held = known.precision / p.precision;
    for (const Index ground : known.grounds) held.coeffRef(ground, ground) += 1.0;
    return log_determinant_of(held) + known.constraints.rowwise().sum().array().log().sum() + scale;
  }
  const double factors = rank * std::log(scale_of(p, 0)) + scale;
  if (p.cyclic) {
    // A ring has D spanning trees; second differences around it are its Laplacian, whose square is Q.
    return (p.kind == FieldKind::rw1 ? 2.0 : 4.0) * std::log(d) + factors;
  }
  double log_distances = 0.0;
  for (const Tie& tie : ties_of(p)) log_distances += std::log(tie.variance);
  if (p.kind == FieldKind::rw1) return std::log(d) - log_distances + factors;
  // Divided differences S with S [1, x] = 0: |SS'| = |[1, x]'[1, x]| / prod d_j^2, D^2 (D^2 - 1) / 12 for d_j = 1; each
  // is divided by the root of the distance that it stands for.
  double log_shares = 0.0;
  for (Index j = 1; j + 1 < p.dimension && p.locations.size() > 0; ++j)
    log_shares += std::log(0.5 * (p.locations(j + 1) - p.locations(j - 1)));
  return std::log(d * trend_of(p).squaredNorm()) - 2.0 * log_distances - log_shares + factors;
}

IntrinsicField scaled(IntrinsicField field) {
  const std::vector<std::vector<Index>> parts = parts_of(field);
  field.scale = Vector::Ones(static_cast<Index>(parts.size()));
  check_field(field);
  IntrinsicField unit = field;
  unit.precision = 1.0;
  const KnownPrecision known = precision_of(unit);
  // What is not seen of a part, its level and a free trend, is held at as many of its nodes: M = Q + a E E'. Then M^-1
  // is one of Q's generalised inverses, and with P the projection off the null space N the variances are those of P
  // M^-1 P.
  SparseMatrix held = known.precision;
  const Vector diagonal = held.diagonal();
  const Index nulls = has_free_trend(field) ? 2 : 1;
  for (const std::vector<Index>& part : parts) {
    if (part.size() == 1) continue;
    const double weight = diagonal(part).mean();
    held.coeffRef(part.front(), part.front()) += weight;
    if (nulls == 2) held.coeffRef(part.back(), part.back()) += weight;
  }
  SparseCholesky factor(gram_pattern(held, nullptr));
  if (!factor.factorise(entries_on(factor.pattern(), held)))
    refuse_model("prior: the field is too large to be scaled; its factor is not positive definite in double precision");
  const std::vector<double> selected = factor.selected_inverse();
  Matrix directions(field.dimension, nulls);
  directions.col(0).setOnes();
  if (nulls == 2) directions.col(1) = trend_of(field);
  Matrix solved = directions;
  factor.solve(solved);
  for (std::size_t c = 0; c < parts.size(); ++c) {
    const std::vector<Index>& part = parts[c];
    if (part.size() == 1) continue;
    const Matrix n = directions(part, Eigen::all);
    const Matrix gn = solved(part, Eigen::all);
    // N's columns are orthogonal.
    const Matrix share = n * Vector(n.colwise().squaredNorm().cwiseInverse()).asDiagonal();
    const Matrix inner = n.transpose() * gn;
    double logs = 0.0;
    for (std::size_t k = 0; k < part.size(); ++k) {
      const auto row = static_cast<Index>(k);
      const auto at = static_cast<std::size_t>(factor.pattern().begin[static_cast<std::size_t>(part[k])]);
      const double variance =
          selected[at] - 2.0 * gn.row(row).dot(share.row(row)) + share.row(row).dot(share.row(row) * inner);
      logs += std::log(variance);
    }
    field.scale(static_cast<Index>(c)) = std::exp(logs / static_cast<double>(part.size()));
  }
  check_field(field);
  return field;
}

}  // namespace gaussmith
