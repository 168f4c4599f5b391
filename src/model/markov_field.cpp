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

using Triplets = std::vector<Eigen::Triplet<double>>;

SparseMatrix assemble(Index size, const Triplets& entries) {
  SparseMatrix out(size, size);
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

/// Adds weight times the square of sum_k c_k w_(at_k).
void add_square(const std::vector<std::pair<Index, double>>& terms, double weight, Triplets& entries) {
  for (const auto& [i, a] : terms)
    for (const auto& [j, b] : terms) entries.emplace_back(static_cast<int>(i), static_cast<int>(j), weight * a * b);
}

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

/// log|Q| of a positive definite Q; throws InvalidModel otherwise.
double log_determinant(const SparseMatrix& q) {
  SparseCholesky factor(gram_pattern(q, nullptr));
  if (!factor.factorise(entries_on(factor.pattern(), q)))
    refuse_model("prior.precision is not positive definite; a precision has positive eigenvalues only");
  if (factor.smallest_pivot() < singular_pivot)
    refuse_model(
        "prior.precision is rank-deficient: it leaves some direction of w open. Use rw1, rw2 or besag for fields "
        "without a level, or add to its diagonal");
  return factor.log_determinant();
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

void check_precision(const SparsePrecision& p) {
  if (p.mean.size() == 0) refuse_model("prior: the prior has dimension 0; at least 1 is needed");
  check_finite(p.mean, "prior.mean");
  if (p.precision.rows() != p.mean.size() || p.precision.cols() != p.mean.size())
    refuse_model(fmt::format("prior.precision is {} x {}, but prior.mean has {} entries", p.precision.rows(),
                             p.precision.cols(), p.mean.size()));
  (void)log_determinant(both_halves(p.precision));
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
}

KnownPrecision precision_of(const SparsePrecision& p) {
  SparseMatrix q = both_halves(p.precision);
  const double determinant = log_determinant(q);
  return {std::move(q), {}, determinant, 0};
}

KnownPrecision precision_of(const IntrinsicField& p) {
  const auto d = static_cast<double>(p.dimension);
  Triplets entries;
  KnownPrecision out;
  out.constraints = Matrix::Ones(1, p.dimension);
  double structure = 0.0;  // log of the product of the eigenvalues other than zero, at precision 1.
  Index rank = 0;
  if (p.kind == FieldKind::rw1) {
    for (Index j = 0; j + 1 < p.dimension; ++j) add_square({{j, -1.0}, {j + 1, 1.0}}, p.precision, entries);
    structure = std::log(d);
    rank = p.dimension - 1;
  } else if (p.kind == FieldKind::rw2) {
    for (Index j = 1; j + 1 < p.dimension; ++j)
      add_square({{j - 1, 1.0}, {j, -2.0}, {j + 1, 1.0}}, p.precision, entries);
    structure = std::log(d * d * (d * d - 1.0) / 12.0);
    rank = p.dimension - 2;
    out.improper = 1;
  } else {
    Index count = 0;
    const std::vector<Index> part = parts_of(p, count);
    out.constraints = Matrix::Zero(count, p.dimension);
    for (Index i = 0; i < p.dimension; ++i) out.constraints(part[static_cast<std::size_t>(i)], i) = 1.0;
    for (const auto& [i, j] : p.edges) add_square({{i, -1.0}, {j, 1.0}}, p.precision, entries);
    // By Kirchhoff's theorem: for each part the number of its spanning trees, which is the determinant with one node
    // held, times the number of its nodes.
    Triplets held;
    for (const auto& [i, j] : p.edges) add_square({{i, -1.0}, {j, 1.0}}, 1.0, held);
    std::vector<bool> has_ground(static_cast<std::size_t>(count), false);
    for (Index i = 0; i < p.dimension; ++i) {
      const auto own = static_cast<std::size_t>(part[static_cast<std::size_t>(i)]);
      if (!has_ground[own]) held.emplace_back(static_cast<int>(i), static_cast<int>(i), 1.0);
      has_ground[own] = true;
    }
    structure = log_determinant(assemble(p.dimension, held)) + out.constraints.rowwise().sum().array().log().sum();
    rank = p.dimension - count;
  }
  out.precision = assemble(p.dimension, entries);
  out.log_determinant = structure + static_cast<double>(rank) * std::log(p.precision);
  return out;
}

}  // namespace gaussmith
