#pragma once
// Synthetic rows of the shape of rcv1's: documents as bags of words. Frequencies of words follow Zipf's law, lengths of
// documents a lognormal law, values are (1 + log count) log(N / documents expected with the word) with rows scaled to
// length one, labels come from a logistic model with few weights that are not zero.

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace gaussmith::bench {

struct TextShape {
  Index rows = 677399;
  Index columns = 42736;
  double entries_a_row = 73.2;
};

/// The shape with about this many entries in all, and as many columns.
inline TextShape text_shape_of(double entries) {
  TextShape shape;
  shape.rows = std::max<Index>(1, static_cast<Index>(entries / shape.entries_a_row));
  return shape;
}

/// Makes one row after the other; the same seed gives the same rows.
class TextRows {
 public:
  struct Row {
    std::vector<std::pair<int, double>> entries;  ///< Columns ascending.
    double label = 1.0;
  };

  explicit TextRows(const TextShape& shape, std::uint64_t seed = 1) : shape_(shape), random_(seed) {
    const auto size = static_cast<std::size_t>(shape.columns);
    cumulative_.resize(size);
    column_.resize(size);
    importance_.resize(size);
    count_.assign(size, 0);
    double sum = 0.0;
    for (std::size_t k = 0; k < size; ++k) {
      sum += std::pow(static_cast<double>(k) + 30.0, -1.1);
      cumulative_[k] = sum;
      column_[k] = static_cast<int>(k);
    }
    for (std::size_t left = size; left > 1; --left)
      std::swap(column_[static_cast<std::size_t>(random_.bits() % left)], column_[left - 1]);
    weight_ = Vector::Zero(shape.columns);
    for (std::size_t k = 0; k < size; ++k) {
      const double share = (cumulative_[k] - (k > 0 ? cumulative_[k - 1] : 0.0)) / sum;
      importance_[k] = -std::log1p(-std::exp(-shape.entries_a_row * share));
      if (random_.uniform() < 0.02) weight_(column_[k]) = 8.0 * random_.normal();
    }
    for (double& value : cumulative_) value /= sum;
    // Where to begin the search for a uniform number.
    guide_.resize(guides + 1);
    for (std::size_t g = 0, k = 0; g <= guides; ++g) {
      while (k + 1 < size && cumulative_[k] < static_cast<double>(g) / guides) ++k;
      guide_[g] = static_cast<int>(k);
    }
  }

  void next(Row& row) {
    constexpr double spread = 0.6;
    const double mean_length = shape_.entries_a_row * std::exp(-0.5 * spread * spread);
    const auto length = static_cast<std::size_t>(
        std::clamp(std::round(mean_length * std::exp(spread * random_.normal())), 1.0, 0.2 * most_words()));
    words_.clear();
    while (words_.size() < length) {
      const int word = draw();
      if (count_[static_cast<std::size_t>(word)]++ == 0) words_.push_back(word);
    }
    row.entries.clear();
    double square = 0.0;
    for (const int word : words_) {
      const auto at = static_cast<std::size_t>(word);
      const double value = (1.0 + std::log(static_cast<double>(count_[at]))) * importance_[at];
      square += value * value;
      row.entries.emplace_back(column_[at], value);
      count_[at] = 0;
    }
    std::sort(row.entries.begin(), row.entries.end());
    double eta = 0.0;
    for (auto& [column, value] : row.entries) {
      value /= std::sqrt(square);
      eta += weight_(column) * value;
    }
    row.label = random_.uniform() < 1.0 / (1.0 + std::exp(-eta)) ? 1.0 : -1.0;
  }

 private:
  static constexpr std::size_t guides = 1 << 16;

  [[nodiscard]] double most_words() const { return static_cast<double>(shape_.columns); }

  int draw() {
    const double u = random_.uniform();
    auto k = static_cast<std::size_t>(guide_[static_cast<std::size_t>(u * guides)]);
    while (k + 1 < cumulative_.size() && cumulative_[k] < u) ++k;
    return static_cast<int>(k);
  }

  TextShape shape_;
  Random random_;
  std::vector<double> cumulative_, importance_;
  std::vector<int> column_, guide_, count_, words_;
  Vector weight_;
};

/// All rows as a matrix of either precision, without a second copy, and the labels.
template <class Value>
std::pair<Eigen::SparseMatrix<Value, Eigen::RowMajor>, Vector> text_matrix(const TextShape& shape,
                                                                           std::uint64_t seed = 1) {
  std::pair<Eigen::SparseMatrix<Value, Eigen::RowMajor>, Vector> out;
  auto& h = out.first;
  h.resize(shape.rows, shape.columns);
  h.reserve(static_cast<Index>(1.02 * shape.entries_a_row * static_cast<double>(shape.rows)) + 1000);
  out.second.resize(shape.rows);
  TextRows rows(shape, seed);
  TextRows::Row row;
  for (Index n = 0; n < shape.rows; ++n) {
    rows.next(row);
    out.second(n) = row.label;
    h.startVec(n);
    for (const auto& [column, value] : row.entries) h.insertBack(n, column) = static_cast<Value>(value);
  }
  h.finalize();
  return out;
}

}  // namespace gaussmith::bench
