#include "numerics/sobol_sequence.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace gaussmith {

namespace {

/// A primitive polynomial over GF(2), the highest power first, and the first direction numbers of its dimension.
struct Dimension {
  std::uint32_t polynomial;
  std::array<std::uint32_t, 9> first;
};

// Dimensions 2 to 64 of Joe and Kuo (2008), "Constructing Sobol sequences with better two-dimensional projections".
constexpr std::array<Dimension, SobolSequence::most_dimensions - 1> dimensions = {{
    {3, {1}},
    {7, {1, 3}},
    {11, {1, 3, 1}},
    {13, {1, 1, 1}},
    {19, {1, 1, 3, 3}},
    {25, {1, 3, 5, 13}},
    {37, {1, 1, 5, 5, 17}},
    {41, {1, 1, 5, 5, 5}},
    {47, {1, 1, 7, 11, 19}},
    {55, {1, 1, 5, 1, 1}},
    {59, {1, 1, 1, 3, 11}},
    {61, {1, 3, 5, 5, 31}},
    {67, {1, 3, 3, 9, 7, 49}},
    {91, {1, 1, 1, 15, 21, 21}},
    {97, {1, 3, 1, 13, 27, 49}},
    {103, {1, 1, 1, 15, 7, 5}},
    {109, {1, 3, 1, 15, 13, 25}},
    {115, {1, 1, 5, 5, 19, 61}},
    {131, {1, 3, 7, 11, 23, 15, 103}},
    {137, {1, 3, 7, 13, 13, 15, 69}},
    {143, {1, 1, 3, 13, 7, 35, 63}},
    {145, {1, 3, 5, 9, 1, 25, 53}},
    {157, {1, 3, 1, 13, 9, 35, 107}},
    {167, {1, 3, 1, 5, 27, 61, 31}},
    {171, {1, 1, 5, 11, 19, 41, 61}},
    {185, {1, 3, 5, 3, 3, 13, 69}},
    {191, {1, 1, 7, 13, 1, 19, 1}},
    {193, {1, 3, 7, 5, 13, 19, 59}},
    {203, {1, 1, 3, 9, 25, 29, 41}},
    {211, {1, 3, 5, 13, 23, 1, 55}},
    {213, {1, 3, 7, 3, 13, 59, 17}},
    {229, {1, 3, 1, 3, 5, 53, 69}},
    {239, {1, 1, 5, 5, 23, 33, 13}},
    {241, {1, 1, 7, 7, 1, 61, 123}},
    {247, {1, 1, 7, 9, 13, 61, 49}},
    {253, {1, 3, 3, 5, 3, 55, 33}},
    {285, {1, 3, 1, 15, 31, 13, 49, 245}},
    {299, {1, 3, 5, 15, 31, 59, 63, 97}},
    {301, {1, 3, 1, 11, 11, 11, 77, 249}},
    {333, {1, 3, 1, 11, 27, 43, 71, 9}},
    {351, {1, 1, 7, 15, 21, 11, 81, 45}},
    {355, {1, 3, 7, 3, 25, 31, 65, 79}},
    {357, {1, 3, 1, 1, 19, 11, 3, 205}},
    {361, {1, 1, 5, 9, 19, 21, 29, 157}},
    {369, {1, 3, 7, 11, 1, 33, 89, 185}},
    {391, {1, 3, 3, 3, 15, 9, 79, 71}},
    {397, {1, 3, 7, 11, 15, 39, 119, 27}},
    {425, {1, 1, 3, 1, 11, 31, 97, 225}},
    {451, {1, 1, 1, 3, 23, 43, 57, 177}},
    {463, {1, 3, 7, 7, 17, 17, 37, 71}},
    {487, {1, 3, 1, 5, 27, 63, 123, 213}},
    {501, {1, 1, 3, 5, 11, 43, 53, 133}},
    {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
    {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
    {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
    {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
    {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
    {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
    {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
    {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
    {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
    {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
    {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
}};

/// v_1..v_32 of one dimension, the binary point left of the highest bit.
std::array<std::uint32_t, 32> direction_numbers(Index dimension) {
  std::array<std::uint32_t, 32> v{};
  if (dimension == 0) {
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1U << (31 - i);
    return v;
  }
  const Dimension& d = dimensions[static_cast<std::size_t>(dimension - 1)];
  const auto order = static_cast<std::size_t>(std::bit_width(d.polynomial) - 1);
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i < order) {
      v[i] = d.first[i] << (31 - i);
      continue;
    }
    v[i] = v[i - order] ^ (v[i - order] >> order);
    for (std::size_t k = 1; k < order; ++k)
      if (((d.polynomial >> (order - k)) & 1U) != 0) v[i] ^= v[i - k];
  }
  return v;
}

}  // namespace

SobolSequence::SobolSequence(Index dimensions, Random& random) : beyond_(random.bits()), dimensions_(dimensions) {
  const auto even = static_cast<std::size_t>(std::min(dimensions, most_dimensions));
  directions_.resize(even);
  shift_.resize(even);
  for (std::size_t i = 0; i < even; ++i) {
    shift_[i] = static_cast<std::uint32_t>(random.bits() >> 32);
    const std::array<std::uint32_t, bits> plain = direction_numbers(static_cast<Index>(i));
    directions_[i].fill(0);
    for (int row = 0; row < bits; ++row) {
      // Digit `row` depends on itself and on random higher digits.
      const std::uint32_t own = 1U << (31 - row);
      const auto higher = static_cast<std::uint32_t>(random.bits() >> 32) & ~(own | (own - 1U));
      for (std::size_t k = 0; k < plain.size(); ++k)
        if ((std::popcount(plain[k] & (own | higher)) & 1) != 0) directions_[i][k] |= own;
    }
  }
}

void SobolSequence::point(std::uint32_t index, Span out) const {
  assert(static_cast<Index>(out.size()) == dimensions_);
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    std::uint32_t x = shift_[i];
    for (std::uint32_t rest = index; rest != 0; rest &= rest - 1)
      x ^= directions_[i][static_cast<std::size_t>(std::countr_zero(rest))];
    out[i] = (static_cast<double>(x) + 0.5) * 0x1p-32;
  }
  if (out.size() == directions_.size()) return;
  Random plain(beyond_ + index);
  for (std::size_t i = directions_.size(); i < out.size(); ++i) out[i] = plain.uniform();
}

void SobolSequence::block(std::uint32_t first, Eigen::Ref<Matrix> out) const {
  const auto count = static_cast<std::uint32_t>(out.rows());
  assert(std::has_single_bit(count) && first % count == 0 && out.cols() == dimensions_);
  for (std::size_t i = 0; i < directions_.size(); ++i) {
    const auto column = static_cast<Index>(i);
    std::uint32_t x = shift_[i];
    for (std::uint32_t rest = first; rest != 0; rest &= rest - 1)
      x ^= directions_[i][static_cast<std::size_t>(std::countr_zero(rest))];
    for (std::uint32_t k = 0; k < count; ++k) {
      if (k > 0) x ^= directions_[i][static_cast<std::size_t>(std::countr_zero(k))];
      out(k, column) = (static_cast<double>(x) + 0.5) * 0x1p-32;
    }
  }
  const auto beyond = static_cast<Index>(directions_.size());
  for (Index b = 0; b < out.rows() && beyond < dimensions_; ++b) {
    Random plain(beyond_ + first + static_cast<std::uint64_t>(b));
    for (Index i = beyond; i < dimensions_; ++i) out(b, i) = plain.uniform();
  }
}

}  // namespace gaussmith
