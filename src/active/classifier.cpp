#include "active/classifier.hpp"

#include "base/overloaded.hpp"
#include "base/parallel_blocks.hpp"
#include "engines/engine.hpp"
#include "gaussmith/errors.hpp"
#include "numerics/expectations.hpp"
#include "posterior/posterior_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index rows_at_once = 1024;
/// Bytes of A^-1 and of its factorisation beyond which exact variances are refused.
constexpr double most_covariance_bytes = 4e9;

void check_range(const char* name, Index value, Index lowest, Index highest) {
  if (value < lowest || value > highest)
    throw InvalidOption(fmt::format("{} is {}; {} to {} are accepted", name, value, lowest, highest));
}

void check_positive(const char* name, double value) {
  if (!(value > 0.0) || !std::isfinite(value))
    throw InvalidOption(fmt::format("{} is {}; a positive number is accepted", name, value));
}

void check_rows(const char* name, const Design& rows) {
  const auto [row, column] = rows.first_not_finite();
  if (row >= 0) throw InvalidModel(fmt::format("{}: entry ({}, {}) is not a finite number", name, row, column));
}

/// Identity rows below the design.
Design with_weights_below(const Design& rows) {
  const Index n = rows.rows();
  const Index dimension = rows.cols();
  if (const Matrix* const dense = rows.entries().dense) {
    Matrix out(n + dimension, dimension);
    out << *dense, Matrix::Identity(dimension, dimension);
    return {std::move(out)};
  }
  const Design in_double = rows.in_double();
  const SparseMatrix& sparse = *in_double.entries().sparse;
  SparseMatrix out(n + dimension, dimension);
  out.reserve(sparse.nonZeros() + dimension);
  for (Index i = 0; i < n + dimension; ++i) {
    out.startVec(i);
    if (i >= n) {
      out.insertBack(i, i - n) = 1.0;
      continue;
    }
    for (SparseMatrix::InnerIterator entry(sparse, i); entry; ++entry) out.insertBack(i, entry.col()) = entry.value();
  }
  out.finalize();
  return {std::move(out)};
}

}  // namespace

void check_active_label(double label, const char* of, Index row) {
  if (label != -1.0 && label != 1.0)
    throw InvalidModel(fmt::format("{}, row {}: label {}; -1 and 1 are accepted", of, row, label));
}

void check_active(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options) {
  const DesignEntries entries = pool.rows.entries();
  if ((entries.dense == nullptr && !entries.is_sparse()) || pool.rows.rows() == 0 || pool.rows.cols() == 0)
    throw InvalidModel(
        fmt::format("the pool is {} design of {} rows and {} columns; a dense or sparse one with some is accepted",
                    pool.rows.kind(), pool.rows.rows(), pool.rows.cols()));
  if (!pool.label) throw InvalidModel("the pool has no function that labels its rows");
  check_rows("the pool", pool.rows);
  if (test.labels.size() > 0) {
    if (test.rows.rows() != test.labels.size() || test.rows.cols() != pool.rows.cols())
      throw InvalidModel(fmt::format("the test rows are {} x {} with {} labels, but the pool has {} columns",
                                     test.rows.rows(), test.rows.cols(), test.labels.size(), pool.rows.cols()));
    check_rows("the test rows", test.rows);
    for (Index n = 0; n < test.labels.size(); ++n) check_active_label(test.labels(n), "test", n);
  }
  check_range("labels", options.labels, 1, pool.rows.rows());
  check_range("initial", options.initial, 1, options.labels);
  check_range("block", options.block, 1, pool.rows.rows());
  check_range("every", options.every, 1, std::numeric_limits<Index>::max());
  check_range("lanczos", options.lanczos, 0, 100'000);
  std::visit(Overloaded{[](const GaussianWeights& prior) { check_positive("prior variance", prior.variance); },
                        [](const LaplaceWeights& prior) { check_positive("prior scale", prior.scale); }},
             options.prior);
  check_options(options.method);
  if (std::holds_alternative<Exact>(options.method))
    throw InvalidOption("method exact: labels are not Gaussian; vb, kl, laplace and ep are accepted");
  if (std::holds_alternative<Laplace>(options.method) && std::holds_alternative<LaplaceWeights>(options.prior))
    throw InvalidOption("method laplace: Laplace weights have a kink at zero; vb, kl and ep are accepted");
  const auto dimension = static_cast<double>(pool.rows.cols());
  if (const double bytes = 8.0 * dimension * dimension; options.lanczos == 0 && bytes > most_covariance_bytes)
    throw InvalidOption(fmt::format(
        "exact variances of {} weights take {:.0f} GB; variances by Lanczos (some hundred steps) do without",
        pool.rows.cols(), bytes / 1e9));
}

Index prior_sites(const ActivePrior& prior, Index dimension) {
  return std::holds_alternative<LaplaceWeights>(prior) ? dimension : 0;
}

Model classifier_model(const Design& pool, const std::vector<Index>& selected, const std::vector<double>& labels,
                       const ActivePrior& prior) {
  const Index dimension = pool.cols();
  const Sites classes =
      observe("bernoulli-logit", Eigen::Map<const Vector>(labels.data(), static_cast<Index>(labels.size())));
  if (const auto* const gaussian = std::get_if<GaussianWeights>(&prior))
    return {.prior = Isotropic{Vector::Zero(dimension), gaussian->variance},
            .design = pool.select(selected),
            .sites = {classes}};
  const double scale = std::get<LaplaceWeights>(prior).scale;
  return {.prior = NoGaussian{dimension},
          .design = with_weights_below(pool.select(selected)),
          .sites = {classes, observe("laplace", Vector::Zero(dimension), {{"scale", one(scale)}})}};
}

Posterior fit_from(const Model& model, const Method& method, const SiteApproximation& sites, const Run& run) {
  if (sites.rows() == 0) return infer(model, method, run);
  const auto state = std::make_shared<Posterior::State>(model, method);
  state->sites = sites;
  const Posterior start(state);
  Run warm = run;
  warm.warm_start = &start;
  return infer(model, method, warm);
}

WeightGaussian classifier_gaussian(const Design& pool, const std::vector<Index>& selected,
                                   const SiteApproximation& sites, const ActivePrior& prior,
                                   const GaussianAccess& access) {
  const auto rows = static_cast<Index>(selected.size());
  const auto* const gaussian = std::get_if<GaussianWeights>(&prior);
  const Vector weight_precision = gaussian != nullptr ? Vector::Constant(pool.cols(), 1.0 / gaussian->variance)
                                                      : Vector(sites.precision.tail(pool.cols()));
  return {pool.select(selected), sites.precision.head(rows), sites.shift.head(rows), weight_precision, access};
}

Vector class_probabilities(const Marginals& latent, int threads) {
  Vector out(latent.mean.size());
  parallel_blocks(out.size(), rows_at_once, threads, [&](Index begin, Index end) {
    const auto first = static_cast<std::size_t>(begin);
    const auto count = static_cast<std::size_t>(end - begin);
    softplus_expectation(view(latent.mean).subspan(first, count), view(latent.variance).subspan(first, count),
                         {.value = {}, .d_mean = view(out).subspan(first, count), .d_variance = {}});
  });
  return out.cwiseMax(0.0).cwiseMin(1.0);
}

TestScores test_scores(const WeightGaussian& gaussian, const ActiveTest& test, int threads) {
  const auto rows = static_cast<double>(test.labels.size());
  if (test.labels.size() == 0) return {};
  Marginals latent = gaussian.marginals(test.rows);
  latent.variance = latent.variance.cwiseMax(0.0);
  // P(y) at mean m is P(1) at mean y m: no difference from one is taken.
  latent.mean = latent.mean.cwiseProduct(test.labels);
  const Vector probability = class_probabilities(latent, threads);
  const double wrong = static_cast<double>((latent.mean.array() < 0.0).count());
  const double undecided = static_cast<double>((latent.mean.array() == 0.0).count());
  const double smallest = std::numeric_limits<double>::min();
  return {(wrong + 0.5 * undecided) / rows, -probability.cwiseMax(smallest).array().log().sum() / rows};
}

}  // namespace gaussmith
