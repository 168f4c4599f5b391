#include "sampling/chain_diagnostics.hpp"

#include "numerics/special.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gaussmith {

namespace {

/// Every chain in two halves; the middle draw of an odd number is left out.
Matrix split(const Matrix& draws) {
  const Index half = draws.rows() / 2;
  Matrix out(half, 2 * draws.cols());
  for (Index c = 0; c < draws.cols(); ++c) {
    out.col(2 * c) = draws.col(c).head(half);
    out.col(2 * c + 1) = draws.col(c).tail(half);
  }
  return out;
}

/// Normal scores of the ranks among all chains, ties averaged.
Matrix normal_scores(const Matrix& draws) {
  const Index size = draws.size();
  std::vector<Index> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), Index{0});
  const double* values = draws.data();
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] < values[b]; });
  Matrix out(draws.rows(), draws.cols());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double rank = 0.5 * static_cast<double>(i + 1 + end);
    const double score = normal_quantile((rank - 0.375) / (static_cast<double>(size) + 0.25));
    for (; i < end; ++i) out.data()[order[i]] = score;
  }
  return out;
}

struct Variances {
  double within, total;  // total: the estimate that counts differences between chains.
};

Variances variances(const Matrix& x) {
  const auto n = static_cast<double>(x.rows());
  const Vector means = x.colwise().mean();
  double within = 0.0;
  for (Index c = 0; c < x.cols(); ++c) within += (x.col(c).array() - means(c)).square().sum() / (n - 1.0);
  within /= static_cast<double>(x.cols());
  const double between =
      x.cols() > 1 ? (means.array() - means.mean()).square().sum() / static_cast<double>(x.cols() - 1) : 0.0;
  return {within, within * (n - 1.0) / n + between};
}

double r_hat(const Matrix& x) {
  const Variances v = variances(x);
  if (!(v.within > 0.0)) return v.total > 0.0 ? std::numeric_limits<double>::infinity() : 1.0;
  return std::sqrt(v.total / v.within);
}

/// Geyer's initial monotone sequence over the autocorrelations of all chains together.
double effective_size(const Matrix& x) {
  const Index n = x.rows();
  const auto all = static_cast<double>(x.size());
  const Variances v = variances(x);
  if (!(v.total > 0.0)) return all;
  Matrix centred = x;
  centred.rowwise() -= Eigen::RowVectorXd(x.colwise().mean());
  const auto correlation = [&](Index lag) {
    double covariance = 0.0;
    for (Index c = 0; c < x.cols(); ++c)
      covariance += centred.col(c).head(n - lag).dot(centred.col(c).tail(n - lag)) / static_cast<double>(n);
    covariance /= static_cast<double>(x.cols());
    return 1.0 - (v.within - covariance * static_cast<double>(n) / static_cast<double>(n - 1)) / v.total;
  };
  double sum = 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (Index lag = 0; lag + 1 < n; lag += 2) {
    const double pair = (lag == 0 ? 1.0 : correlation(lag)) + correlation(lag + 1);
    if (pair <= 0.0) break;
    least = std::min(least, pair);
    sum += least;
  }
  const double time = std::max(2.0 * sum - 1.0, 1.0 / std::log10(all));
  return all / time;
}

/// Where a draw is below the quantile.
Matrix below(const Matrix& draws, double level) {
  std::vector<double> sorted(draws.data(), draws.data() + draws.size());
  std::sort(sorted.begin(), sorted.end());
  const double place = level * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(low);
  const double quantile = low + 1 < sorted.size() ? (1.0 - share) * sorted[low] + share * sorted[low + 1] : sorted[low];
  return (draws.array() <= quantile).cast<double>();
}

double median(const Matrix& draws) {
  std::vector<double> values(draws.data(), draws.data() + draws.size());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

ChainDiagnostics diagnose_chains(const Matrix& draws) {
  ChainDiagnostics out;
  const auto all = static_cast<double>(draws.size());
  if (!draws.allFinite() || draws.rows() < 8) {
    out.rhat = std::numeric_limits<double>::infinity();
    return out;
  }
  if (draws.maxCoeff() == draws.minCoeff()) return {1.0, all, all, all, all};
  const Matrix halves = split(draws);
  const Matrix ranks = normal_scores(halves);
  const Matrix folded = normal_scores((halves.array() - median(halves)).abs());
  out.rhat = std::max(r_hat(ranks), r_hat(folded));
  out.bulk_ess = effective_size(ranks);
  out.tail_ess = std::min(effective_size(below(halves, 0.05)), effective_size(below(halves, 0.95)));
  out.mean_ess = effective_size(halves);
  out.square_ess = effective_size((halves.array() - halves.mean()).square());
  return out;
}

ChainDiagnostics worse(const ChainDiagnostics& a, const ChainDiagnostics& b) {
  return {std::max(a.rhat, b.rhat), std::min(a.bulk_ess, b.bulk_ess), std::min(a.tail_ess, b.tail_ess),
          std::min(a.mean_ess, b.mean_ess), std::min(a.square_ess, b.square_ess)};
}

}  // namespace gaussmith
