#include "gaussmith/calibrate.hpp"

#include "base/parallel_blocks.hpp"
#include "base/progress.hpp"
#include "base/random_stream.hpp"
#include "engines/infer_valid.hpp"
#include "engines/sampling_fit.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "model/prior.hpp"
#include "numerics/normal_numbers.hpp"

#include <fmt/format.h>
#include <boost/math/special_functions/gamma.hpp>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr double fewest_expected = 10.0;
/// Simulations between two looks at the caller's wishes.
constexpr Index round_length = 8;

/// The same model with responses drawn at latents.
Model with_responses(const Model& model, const Vector& eta, Random& random) {
  Model out = model;
  Index row = 0;
  for (Sites& block : out.sites) {
    const Index width = block->width();
    const Vector at = eta.segment(row * width, block->size() * width);
    Vector y(block->size());
    block->response_sample(0, view(at), random, view(y));
    row += block->size();
    SiteArguments arguments;
    for (const SiteParameter& p : block->parameters()) arguments[p.name] = p.values;
    block = block->with(y, arguments);
  }
  return out;
}

/// What one simulation gives: a rank of every quantity, none where its fit failed.
struct Ranks {
  std::vector<int> ranks;
  bool converged = true;
};

}  // namespace

double uniformity(const std::vector<int>& ranks, int draws) {
  const auto count = static_cast<double>(ranks.size());
  const int values = draws + 1;
  const int bins = std::clamp(static_cast<int>(count / fewest_expected), 1, std::min(20, values));
  if (bins < 2) return 1.0;
  std::vector<double> seen(static_cast<std::size_t>(bins), 0.0);
  std::vector<double> expected(seen.size(), 0.0);
  for (int rank = 0; rank < values; ++rank) expected[static_cast<std::size_t>(rank * bins / values)] += count / values;
  for (const int rank : ranks) seen[static_cast<std::size_t>(rank * bins / values)] += 1.0;
  double square = 0.0;
  for (std::size_t b = 0; b < seen.size(); ++b)
    square += (seen[b] - expected[b]) * (seen[b] - expected[b]) / expected[b];
  return boost::math::gamma_q(0.5 * (bins - 1), 0.5 * square);
}

Calibration calibrate(const Model& model, const Method& method, const CalibrationOptions& options, const Run& run) {
  model.validate();
  check_method(model, method);
  const bool improper = has_only_precision(model.prior) && prior_precision(model.prior)->improper > 0;
  if (!has_gaussian(model.prior) || improper)
    throw InvalidOption("calibration draws weights from the prior, which must be a Gaussian distribution");
  if (model.weights.size() > 0 && (model.weights.array() != 1.0).any())
    throw InvalidOption("calibration draws responses of single rows; leave out the weights of rows");
  if (options.simulations < 1 || options.draws < 1)
    throw InvalidOption(fmt::format("calibration needs at least 1 simulation and 1 draw, found {} and {}",
                                    options.simulations, options.draws));
  const Index width = model.latents.count;
  const Index weights = model.dimension() * width;
  for (const Index weight : options.weights)
    if (weight < 0 || weight >= weights)
      throw InvalidOption(fmt::format("weight {} does not exist; the model has weights 0 to {}", weight, weights - 1));
  Index before = 0;
  for (const Sites& block : model.sites) {
    if (find_likelihood(block->traits().name) == nullptr)
      throw InvalidOption(fmt::format("responses of {} cannot be drawn", block->traits().name));
    const Vector censored = censored_rows(*block);
    for (Index i = 0; i < censored.size(); ++i)
      if (censored(i) != 0.0)
        throw InvalidOption(fmt::format(
            "calibration draws responses, and nothing says when a row of {} is censored: row {} is; leave the "
            "censored rows out",
            block->traits().name, before + i));
    before += block->size();
  }

  const BlasThreads one(1);
  const SamplingSpace space(model);
  const SiteTotals totals(model);
  const int threads = totals.any_thread() ? resolve_threads(run.threads) : 1;
  const Progress progress(run.progress, nullptr);
  Calibration out;
  out.draws = options.draws;
  for (const Index weight : options.weights)
    out.quantities.push_back(
        {width > 1 ? fmt::format("weight {}[{}]", weight / width, weight % width) : fmt::format("weight {}", weight),
         {}});
  out.quantities.push_back({"log_likelihood", {}});
  std::vector<Ranks> all(static_cast<std::size_t>(options.simulations));
  Index done = 0;
  while (done < options.simulations && !out.stopped) {
    const Index until = std::min<Index>(options.simulations, done + round_length);
    parallel_blocks(until - done, 1, threads, [&](Index i, Index /*end*/) {
      const Index number = done + i;
      Random random = random_stream(run.seed, static_cast<std::uint64_t>(number));
      Vector v(space.rank());
      fill_normal(random, view(v));
      const Vector eta = space.latent_mean() + space.rows() * v;
      Vector w = space.weight_mean();
      w += space.weights_are_latents() ? Vector(space.rows() * v) : Vector(space.weight_rows() * v);
      if (space.unseen_variance().size() > 0) w += space.unseen_draws(1, random).col(0);
      const Model simulated = with_responses(model, eta, random);
      Ranks& mine = all[static_cast<std::size_t>(number)];
      const std::uint64_t seed = random.bits();
      Run own{.threads = 1, .seed = seed, .form = run.form, .substitutes = true, .progress = {}, .warm_start = {}};
      try {
        const Posterior posterior = infer_valid(simulated, method, own);
        mine.converged = posterior.report().converged();
        if (posterior.report().status == Status::numerical_failure) return;
        const Matrix draws = posterior.sample_weights(options.draws, seed + 1);
        const SiteTotals likelihood(simulated);
        const Matrix latents = latents_of(simulated, draws);
        for (const Index weight : options.weights)
          mine.ranks.push_back(static_cast<int>((draws.row(weight).array() < w(weight)).count()));
        const double truth = likelihood.total(view(eta));
        int below = 0;
        for (Index s = 0; s < latents.cols(); ++s)
          if (likelihood.total({latents.col(s).data(), static_cast<std::size_t>(latents.rows())}) < truth) ++below;
        mine.ranks.push_back(below);
      } catch (const InvalidInput&) {
        mine.converged = false;
      }
    });
    done = until;
    out.stopped = progress.tell({static_cast<int>(done), static_cast<double>(done),
                                 static_cast<double>(options.simulations - done), "simulations"}) != Next::proceed &&
                  done < options.simulations;
  }
  for (Index i = 0; i < done; ++i) {
    const Ranks& one_of = all[static_cast<std::size_t>(i)];
    if (!one_of.converged || one_of.ranks.empty()) ++out.failed;
    for (std::size_t q = 0; q < one_of.ranks.size(); ++q) out.quantities[q].ranks.push_back(one_of.ranks[q]);
  }
  for (CalibratedQuantity& quantity : out.quantities) quantity.p_value = uniformity(quantity.ranks, options.draws);
  return out;
}

}  // namespace gaussmith
