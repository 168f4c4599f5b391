#include "model/site_rows.hpp"

#include "base/parallel_blocks.hpp"
#include "model/tangent_sites.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

namespace gaussmith {

namespace {

/// One virtual call covers this many rows, so its cost vanishes and the loop inside vectorises.
constexpr Index rows_per_call = 1024;

Span piece_of(Vector* whole, Index row, Index count) {
  return whole ? Span(whole->data() + row, static_cast<std::size_t>(count)) : Span();
}

ConstSpan piece_of(const Vector& whole, Index row, Index count) {
  return {whole.data() + row, static_cast<std::size_t>(count)};
}

/// One quantity of all rows, `each` numbers a row; null where it is not asked for.
struct RowNumbers {
  Vector* whole;
  Index each;

  [[nodiscard]] Span piece(Index row, Index count) const { return piece_of(whole, row * each, count * each); }
};

}  // namespace

SiteRows::SiteRows(const std::vector<Sites>& blocks, int threads) : blocks_(&blocks), threads_(threads) {
  for (const Sites& block : blocks) {
    for (Index first = 0; first < block->size(); first += rows_per_call) {
      const Index count = std::min(rows_per_call, block->size() - first);
      pieces_.push_back({block.get(), first, rows_ + first, count});
    }
    rows_ += block->size();
    width_ = block->width();
  }
}

SiteRows::SiteRows(const Model& model, int threads, Smoothing smoothing) : SiteRows(model.sites, threads) {
  smoothing_ = smoothing;
  if (model.weights.size() > 0) weights_ = &model.weights;
}

void SiteRows::weigh(Index row, Span values, Index each) const {
  if (weights_ == nullptr) return;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= (*weights_)(row + static_cast<Index>(i) / each);
}

void SiteRows::for_pieces(const std::function<void(const SiteBlock&, Index, Index, Index)>& body) const {
  const auto run = [&](const Piece& piece) { body(*piece.block, piece.first, piece.row, piece.count); };
  parallel_blocks(static_cast<Index>(pieces_.size()), 1, threads_, [&](Index begin, Index /*end*/) {
    const Piece& piece = pieces_[static_cast<std::size_t>(begin)];
    if (piece.block->traits().any_thread) run(piece);
  });
  for (const Piece& piece : pieces_)
    if (!piece.block->traits().any_thread) run(piece);
}

void SiteRows::log_density(const Vector& eta, Vector* value, Vector* first, Vector* second, Vector* third) const {
  const std::array<RowNumbers, 4> out = {{{value, 1}, {first, width_}, {second, width_ * width_}, {third, width_}}};
  for (const RowNumbers& column : out)
    if (column.whole) column.whole->resize(rows_ * column.each);
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    block.log_density(
        begin, piece_of(eta, row * width_, count * width_),
        {out[0].piece(row, count), out[1].piece(row, count), out[2].piece(row, count), out[3].piece(row, count)});
    for (const RowNumbers& column : out) weigh(row, column.piece(row, count), column.each);
  });
}

Vector SiteRows::curvature_slope(const Vector& eta, const Vector& covariance) const {
  Vector slope(eta.size());
  const RowNumbers out{&slope, width_};
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    block.curvature_slope(begin, piece_of(eta, row * width_, count * width_),
                          piece_of(covariance, row * width_ * width_, count * width_ * width_), out.piece(row, count));
    weigh(row, out.piece(row, count), width_);
  });
  return slope;
}

Vector SiteRows::star(const Vector& eta) const {
  if (!all(&SiteTraits::star)) return {};
  Vector pi(eta.size());
  const RowNumbers out{&pi, width_};
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    block.star(begin, piece_of(eta, row * width_, count * width_), out.piece(row, count));
    weigh(row, out.piece(row, count), width_);
  });
  return pi;
}

void SiteRows::expectation(const Vector& mean, const Vector& variance, Vector* value, Vector* d_mean,
                           Vector* d_variance) const {
  const Index square = width_ * width_;
  const std::array<RowNumbers, 3> out = {{{value, 1}, {d_mean, width_}, {d_variance, square}}};
  for (const RowNumbers& column : out)
    if (column.whole) column.whole->resize(rows_ * column.each);
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const ConstSpan m = piece_of(mean, row * width_, count * width_);
    const ConstSpan v = piece_of(variance, row * square, count * square);
    const ExpectationOut piece{out[0].piece(row, count), out[1].piece(row, count), out[2].piece(row, count)};
    if (smoothing_ == Smoothing::tangent)
      tangent_expectation(block, begin, m, v, piece);
    else
      block.expectation(begin, m, v, piece);
    for (const RowNumbers& column : out) weigh(row, column.piece(row, count), column.each);
  });
}

Vector SiteRows::curvature(const Vector& mean, const Vector& variance, const Vector& d_variance) const {
  Vector out = -2.0 * d_variance;
  if (smoothing_ == Smoothing::expectation) return out;
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const auto size = static_cast<std::size_t>(count);
    Vector bend(count);
    tangent_bend(block, begin, ConstSpan(mean.data() + row, size), ConstSpan(variance.data() + row, size), view(bend));
    weigh(row, view(bend));
    out.segment(row, count) -= bend;
  });
  return out;
}

Index SiteRows::tilted(const Vector& mean, const Vector& variance, double power, Vector& log_normaliser,
                       Vector& tilted_mean, Vector& tilted_variance) const {
  for (Vector* out : {&log_normaliser, &tilted_mean, &tilted_variance}) out->resize(rows_);
  std::atomic<Index> inaccurate = 0;
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    Index missed = 0;
    // One call for as many rows as share an exponent: for all of the piece unless weights lie below one.
    for (Index from = row; from < row + count;) {
      const double power_here = exponent(from, power);
      Index to = from + 1;
      while (to < row + count && exponent(to, power) == power_here) ++to;
      const auto size = static_cast<std::size_t>(to - from);
      block.tilted(begin + from - row, ConstSpan(mean.data() + from, size), ConstSpan(variance.data() + from, size),
                   power_here,
                   {piece_of(&log_normaliser, from, to - from), piece_of(&tilted_mean, from, to - from),
                    piece_of(&tilted_variance, from, to - from), &missed});
      from = to;
    }
    inaccurate += missed;
  });
  return inaccurate;
}

SiteRows::Tilted SiteRows::tilted_row(Index row, double mean, double variance, double power) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), row,
                                      [](Index wanted, const Piece& piece) { return wanted < piece.row; });
  const Piece& piece = *std::prev(after);
  Tilted out{};
  piece.block->tilted(piece.first + row - piece.row, ConstSpan(&mean, 1), ConstSpan(&variance, 1), exponent(row, power),
                      {Span(&out.log_normaliser, 1), Span(&out.mean, 1), Span(&out.variance, 1), nullptr});
  return out;
}

double SiteRows::total(const Vector& eta) const {
  Vector value;
  log_density(eta, &value);
  return value.sum();
}

bool SiteRows::all(bool SiteTraits::*property) const {
  return std::all_of(blocks_->begin(), blocks_->end(), [&](const Sites& b) { return b->traits().*property; });
}

std::vector<bool> SiteRows::which(bool SiteTraits::*property) const {
  std::vector<bool> out;
  if (std::none_of(blocks_->begin(), blocks_->end(), [&](const Sites& b) { return b->traits().*property; })) return out;
  for (const Sites& block : *blocks_)
    out.insert(out.end(), static_cast<std::size_t>(block->size()), block->traits().*property);
  return out;
}

}  // namespace gaussmith
