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

/// The connected part of every node, numbered from 0 on.
std::vector<Index> parts_of(const IntrinsicField& p, Index& count) {
  std::vector<Index> parent(static_cast<std::size_t>(p.dimension));
  std::iota(parent.begin(), parent.end(), Index{0});
  const auto root = [&](Index i) {
    while (parent[static_cast<std::size_t>(i)] != i) {
      parent[static_cast<std::size_t>(i)] = parent[static_cast<std::size_t>(parent[static_cast<std::size_t>(i)])];
      i = parent[static_cast<std::size_t>(i)];
    }
    return i;
  };
  for (const auto& [i, j] : p.edges) parent[static_cast<std::size_t>(root(i))] = root(j);
  std::vector<Index> number(static_cast<std::size_t>(p.dimension), -1);
  std::vector<Index> out(static_cast<std::size_t>(p.dimension));
  count = 0;
  for (Index i = 0; i < p.dimension; ++i) {
    Index& own = number[static_cast<std::size_t>(root(i))];
    if (own < 0) own = count++;
    out[static_cast<std::size_t>(i)] = own;
  }
  return out;
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

void check_field(const IntrinsicField& p) {
  const Index least = p.kind == FieldKind::rw2 ? 3 : 2;
  if (p.dimension < least)
    refuse_model(fmt::format("prior.dim is {}; this field needs at least {}", p.dimension, least));
  if (!(p.precision > 0.0) || !std::isfinite(p.precision))
    refuse_model(fmt::format("prior.precision must be positive and finite, found {}", p.precision));
  if (p.kind != FieldKind::besag) {
    if (!p.edges.empty()) refuse_model("prior.edges: only besag has edges");
    return;
  }
  if (p.edges.empty()) refuse_model("prior.edges is empty; a besag field needs the pairs of neighbours");
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
  std::vector<bool> joined(static_cast<std::size_t>(p.dimension), false);
  for (const auto& [i, j] : p.edges) joined[static_cast<std::size_t>(i)] = joined[static_cast<std::size_t>(j)] = true;
  for (Index i = 0; i < p.dimension; ++i)
    if (!joined[static_cast<std::size_t>(i)])
      refuse_model(fmt::format(
          "prior.edges: node {} has no neighbour, so that its value would be held at 0; leave it out or join it", i));
  Index parts = 0;
  (void)parts_of(p, parts);
  if (static_cast<double>(parts) * static_cast<double>(p.dimension) > most_held)
    refuse_model(fmt::format("prior.edges: {} nodes in {} parts that are not joined; up to {} parts are accepted here",
                             p.dimension, parts, static_cast<Index>(most_held / static_cast<double>(p.dimension))));
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
  out.constraints = Matrix::Ones(1, p.dimension);
  out.grounds = {p.dimension / 2};
  if (p.kind == FieldKind::rw1) {
    for (Index j = 0; j + 1 < p.dimension; ++j) differences.add({{j, -1.0}, {j + 1, 1.0}});
  } else if (p.kind == FieldKind::rw2) {
    for (Index j = 1; j + 1 < p.dimension; ++j) differences.add({{j - 1, 1.0}, {j, -2.0}, {j + 1, 1.0}});
    out.improper = 1;
  } else {
    for (const auto& [i, j] : p.edges) differences.add({{i, -1.0}, {j, 1.0}});
    Index count = 0;
    const std::vector<Index> part = parts_of(p, count);
    out.constraints = Matrix::Zero(count, p.dimension);
    out.grounds.assign(static_cast<std::size_t>(count), 0);
    for (Index i = 0; i < p.dimension; ++i) {
      const Index own = part[static_cast<std::size_t>(i)];
      out.constraints(own, i) = 1.0;
      out.grounds[static_cast<std::size_t>(own)] = i;
    }
  }
  out.root = differences.matrix(p.dimension, p.precision);
  out.precision = SparseMatrix(out.root.transpose()) * out.root;
  return out;
}

double log_determinant_of(const IntrinsicField& p, const KnownPrecision& known) {
  const auto d = static_cast<double>(p.dimension);
  const auto rank = static_cast<double>(p.dimension - known.constraints.rows() - known.improper);
  const double scale = rank * std::log(p.precision);
  if (p.kind == FieldKind::rw1) return std::log(d) + scale;
  if (p.kind == FieldKind::rw2) return std::log(d * d * (d * d - 1.0) / 12.0) + scale;
  // By Kirchhoff's theorem: for each part the number of its spanning trees, which is the determinant with one node
  // held, times the number of its nodes.
  SparseMatrix held = known.precision / p.precision;
  for (const Index ground : known.grounds) held.coeffRef(ground, ground) += 1.0;
  return log_determinant_of(held) + known.constraints.rowwise().sum().array().log().sum() + scale;
}

}  // namespace gaussmith
