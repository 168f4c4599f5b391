#include "model/site_conjugates.hpp"

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

namespace {

double weight_of(const SiteRows& sites, Index row) { return sites.weights() ? (*sites.weights())(row) : 1.0; }

Span piece(Vector& whole, Index row, Index count) { return {whole.data() + row, static_cast<std::size_t>(count)}; }
ConstSpan piece(const Vector& whole, Index row, Index count) {
  return {whole.data() + row, static_cast<std::size_t>(count)};
}

/// (w f)*(a, r) = w f*(a/w, r/w).
void closed_conjugates(const SiteRows& sites, const SiteBlock& block, Index begin, Index row, Index count,
                       const Vector& slope, const Vector& growth, Conjugates& out) {
  Vector weight(count);
  for (Index i = 0; i < count; ++i) weight(i) = weight_of(sites, row + i);
  const Vector a = slope.segment(row, count).cwiseQuotient(weight);
  const Vector r = growth.segment(row, count).cwiseQuotient(weight);
  const Vector mean = out.mean.segment(row, count);
  const Vector deviation = out.deviation.segment(row, count);
  block.conjugate(begin, view(a), view(r), view(mean), view(deviation),
                  {piece(out.value, row, count), piece(out.mean, row, count), piece(out.deviation, row, count)});
  out.value.segment(row, count).array() *= weight.array();
}

void newton_conjugates(const SiteBlock& block, Index begin, Index row, Index count, const Vector& slope,
                       const Vector& growth, const std::vector<ConjugateTerms>& terms, Conjugates& out) {
  const Vector mean = out.mean.segment(row, count);
  const Vector deviation = out.deviation.segment(row, count);
  conjugate_by_newton(
      block, begin,
      {piece(slope, row, count), piece(growth, row, count), view(mean), view(deviation),
       std::span<const ConjugateTerms>(terms).subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(count))},
      {piece(out.value, row, count), piece(out.mean, row, count), piece(out.deviation, row, count)});
}

void fill_in(const SiteRows& sites, const Vector& leftover, std::vector<ConjugateTerms>& terms) {
  for (Index n = 0; n < sites.rows(); ++n) {
    ConjugateTerms& t = terms[static_cast<std::size_t>(n)];
    t.weight = weight_of(sites, n);
    t.leftover = leftover.size() > 0 ? leftover(n) : 0.0;
  }
}

}  // namespace

void find_conjugates(const SiteRows& sites, const std::vector<char>& rows, const Vector& slope, const Vector& growth,
                     const Vector& leftover, Conjugates& out) {
  std::vector<ConjugateTerms> terms;
  if (leftover.size() > 0) {
    terms.resize(rows.size());
    fill_in(sites, leftover, terms);
  }
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    // One call for neighbours.
    for (Index from = row; from < row + count;) {
      if (rows[static_cast<std::size_t>(from)] == 0) {
        ++from;
        continue;
      }
      Index to = from + 1;
      while (to < row + count && rows[static_cast<std::size_t>(to)] != 0) ++to;
      if (terms.empty())
        closed_conjugates(sites, block, begin + from - row, from, to - from, slope, growth, out);
      else
        newton_conjugates(block, begin + from - row, from, to - from, slope, growth, terms, out);
      from = to;
    }
  });
}

void find_conjugates(const SiteRows& sites, const Vector& slope, const Vector& growth, const Vector& leftover,
                     std::vector<ConjugateTerms>& terms, Conjugates& out) {
  fill_in(sites, leftover, terms);
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    newton_conjugates(block, begin, row, count, slope, growth, terms, out);
  });
}

Vector conjugate_limits(const SiteRows& sites, const Vector& slope) {
  Vector out(sites.rows());
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    Vector own = slope.segment(row, count);
    for (Index i = 0; i < count; ++i) own(i) /= weight_of(sites, row + i);
    block.conjugate_limit(begin, view(own), piece(out, row, count));
    sites.weigh(row, piece(out, row, count));
  });
  return out;
}

}  // namespace gaussmith
