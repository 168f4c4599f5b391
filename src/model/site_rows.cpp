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
/// Rows of several latents take so long that few of them are worth a thread.
constexpr Index wide_rows_per_call = 16;

Span piece_of(Vector* whole, Index row, Index count) {
  return whole ? Span(whole->data() + row, static_cast<std::size_t>(count)) : Span();
}

ConstSpan piece_of(const Vector& whole, Index row, Index count) {
  return {whole.data() + row, static_cast<std::size_t>(count)};
}

/// log Phi(y m) - v/2.
void noisy_sign_expectation(const SiteBlock& block, Index begin, ConstSpan mean, ConstSpan variance,
                            const ExpectationOut& out) {
  block.log_density(begin, mean, {.value = out.value, .first = out.d_mean, .second = {}, .third = {}});
  for (std::size_t i = 0; i < out.value.size(); ++i) out.value[i] -= 0.5 * variance[i];
  std::fill(out.d_variance.begin(), out.d_variance.end(), -0.5);
}

void smooth(Smoothing smoothing, const SiteBlock& block, Index begin, ConstSpan mean, ConstSpan variance,
            const ExpectationOut& out) {
  if (smoothing == Smoothing::expectation)
    block.expectation(begin, mean, variance, out);
  else if (smoothing == Smoothing::mean_field && is_noisy_sign(block))
    noisy_sign_expectation(block, begin, mean, variance, out);
  else
    tangent_expectation(block, begin, mean, variance, out);
}

/// One quantity of all rows, `each` numbers a row; null where it is not asked for.
struct RowNumbers {
  Vector* whole;
  Index each;

  [[nodiscard]] Span piece(Index row, Index count) const { return piece_of(whole, row * each, count * each); }
};

}  // namespace

bool is_noisy_sign(const SiteBlock& block) { return block.traits().name == "bernoulli-probit"; }

SiteRows::SiteRows(const std::vector<Sites>& blocks, int threads) : blocks_(&blocks), threads_(threads) {
  for (const Sites& block : blocks) {
    const Index most = block->width() > 1 ? wide_rows_per_call : rows_per_call;
    for (Index first = 0; first < block->size(); first += most) {
      const Index count = std::min(most, block->size() - first);
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
  if (linear_ != nullptr) return linear_expectation(mean, variance, value, d_mean, d_variance);
  const Index square = width_ * width_;
  const std::array<RowNumbers, 3> out = {{{value, 1}, {d_mean, width_}, {d_variance, square}}};
  for (const RowNumbers& column : out)
    if (column.whole) column.whole->resize(rows_ * column.each);
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const ConstSpan m = piece_of(mean, row * width_, count * width_);
    const ConstSpan v = piece_of(variance, row * square, count * square);
    const ExpectationOut piece{out[0].piece(row, count), out[1].piece(row, count), out[2].piece(row, count)};
    smooth(smoothing_, block, begin, m, v, piece);
    for (const RowNumbers& column : out) weigh(row, column.piece(row, count), column.each);
  });
}

void SiteRows::averaged_expectation(const Vector& mean, const Vector& covariance, std::uint64_t seed, Vector* value,
                                    Vector* d_mean, Vector* d_variance, Vector* total) const {
  const Index square = width_ * width_;
  Vector each;
  const std::array<RowNumbers, 4> out = {
      {{value, 1}, {d_mean, width_}, {d_variance, square}, {total ? &each : nullptr, expectation_replicates}}};
  for (const RowNumbers& column : out)
    if (column.whole) column.whole->resize(rows_ * column.each);
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    block.averaged_expectation(
        begin, piece_of(mean, row * width_, count * width_), piece_of(covariance, row * square, count * square), seed,
        {out[0].piece(row, count), out[1].piece(row, count), out[2].piece(row, count)}, out[3].piece(row, count));
    for (const RowNumbers& column : out) weigh(row, column.piece(row, count), column.each);
  });
  if (total) *total = Eigen::Map<const Matrix>(each.data(), expectation_replicates, rows_).rowwise().sum();
}

void SiteRows::linear_expectation(const Vector& mean, const Vector& variance, Vector* value, Vector* d_mean,
                                  Vector* d_variance) const {
  SiteRows plain = *this;
  plain.linear_ = nullptr;
  const auto from = linear_->deviation.array();
  const Vector sigma = (variance.array() + from.square()) / (2.0 * from);
  plain.expectation(mean, sigma.cwiseAbs2(), value, d_mean, d_variance);
  const Eigen::ArrayXd moved = sigma.array() - from;
  if (value != nullptr)
    value->array() -= 0.5 * moved.square() * (linear_->penalty.array() + linear_->quartic * moved.square());
  if (d_variance != nullptr)
    *d_variance = (2.0 * sigma.array() * d_variance->array() -
                   moved * (linear_->penalty.array() + 2.0 * linear_->quartic * moved.square())) /
                  (2.0 * from);
}

Vector SiteRows::curvature(const Vector& mean, const Vector& variance, const Vector& d_variance) const {
  if (linear_ != nullptr) {
    // -d2/dmean2 is that of the expectation at sigma.
    const auto from = linear_->deviation.array();
    const Vector sigma = (variance.array() + from.square()) / (2.0 * from);
    Vector plain;
    SiteRows rows = *this;
    rows.linear_ = nullptr;
    rows.expectation(mean, sigma.cwiseAbs2(), nullptr, nullptr, &plain);
    return -2.0 * plain;
  }
  Vector out = -2.0 * d_variance;
  if (smoothing_ == Smoothing::expectation) return out;
  for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const auto size = static_cast<std::size_t>(count);
    Vector bend(count);
    if (smoothing_ == Smoothing::mean_field && is_noisy_sign(block)) {
      block.log_density(begin, ConstSpan(mean.data() + row, size),
                        {.value = {}, .first = {}, .second = view(bend), .third = {}});
      weigh(row, view(bend));
      out.segment(row, count) = -bend;
      return;
    }
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

const SiteRows::Piece& SiteRows::piece_with(Index row) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), row,
                                      [](Index wanted, const Piece& piece) { return wanted < piece.row; });
  return *std::prev(after);
}

SiteRows::Smoothed SiteRows::expectation_row(Index row, double mean, double variance) const {
  const Piece& piece = piece_with(row);
  Smoothed out{};
  smooth(smoothing_, *piece.block, piece.first + row - piece.row, {&mean, 1}, {&variance, 1},
         {{}, {&out.d_mean, 1}, {&out.d_variance, 1}});
  weigh(row, {&out.d_mean, 1});
  weigh(row, {&out.d_variance, 1});
  return out;
}

SiteRows::Tilted SiteRows::tilted_row(Index row, double mean, double variance, double power) const {
  const Piece& piece = piece_with(row);
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
