#include "active/candidates.hpp"
#include "active/classifier.hpp"
#include "base/parallel_blocks.hpp"
#include "base/random_choice.hpp"
#include "gaussmith/active.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr std::array<std::pair<ActiveScore, std::string_view>, 3> score_names{
    {{ActiveScore::uncertainty, "uncertainty"},
     {ActiveScore::information_gain, "information-gain"},
     {ActiveScore::random, "random"}}};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// One run: what does not change, and the state.
class ActiveRun {
 public:
  ActiveRun(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options, const Run& run,
            ActiveState state)
      : pool_(pool),
        test_(test),
        options_(options),
        run_(run),
        blas_(resolve_threads(run.threads)),
        state_(std::move(state)),
        order_(random_order(pool.rows.rows(), run.seed)),
        taken_(order_.size(), 0),
        started_(now() - state_.seconds) {
    if (!state_.selected.empty()) check_state();
    for (const Index row : state_.selected) taken_[static_cast<std::size_t>(row)] = 1;
  }

  ActiveState go(const ActiveProgress& progress) {
    if (state_.selected.empty()) {
      for (Index k = 0; k < options_.initial; ++k) buy(order_[static_cast<std::size_t>(k)]);
      fit();
      settle(progress);
    }
    while (bought() < options_.labels && !ended_) {
      choose_block(std::min(options_.block, options_.labels - bought()));
      fit();
      settle(progress);
    }
    return std::move(state_);
  }

 private:
  [[nodiscard]] Index bought() const { return static_cast<Index>(state_.selected.size()); }

  void check_state() const {
    const Index sites = bought() + prior_sites(options_.prior, pool_.rows.cols());
    if (static_cast<Index>(state_.labels.size()) != bought() || state_.sites.rows() != sites ||
        state_.sites.precision.size() != sites)
      throw InvalidModel(fmt::format("the state has {} rows, {} labels and {} sites, which do not fit together",
                                     bought(), state_.labels.size(), state_.sites.rows()));
    if (bought() > options_.labels)
      throw InvalidOption(fmt::format("the state has {} labels already, but labels is {}", bought(), options_.labels));
    if (!state_.sites.precision.allFinite() || !state_.sites.shift.allFinite() ||
        !(state_.sites.precision.array() > 0.0).all())
      throw InvalidModel("the state has a site that is not finite with a positive precision");
    std::vector<char> seen(taken_.size(), 0);
    for (std::size_t k = 0; k < state_.selected.size(); ++k) {
      const Index row = state_.selected[k];
      if (row < 0 || row >= pool_.rows.rows() || seen[static_cast<std::size_t>(row)] != 0)
        throw InvalidModel(fmt::format("the state selects row {}, which is not in the pool or comes twice", row));
      seen[static_cast<std::size_t>(row)] = 1;
      check_active_label(state_.labels[k], "state", row);
    }
  }

  double buy(Index row) {
    const double label = pool_.label(row);
    check_active_label(label, "pool", row);
    taken_[static_cast<std::size_t>(row)] = 1;
    state_.selected.push_back(row);
    state_.labels.push_back(label);
    return label;
  }

  [[nodiscard]] WeightGaussian gaussian() const {
    return classifier_gaussian(pool_.rows, state_.selected, state_.sites, options_.prior,
                               {options_.lanczos, run_.seed, blas_.threads()});
  }

  /// Kept from the last fit on: the test takes it, then the next block.
  WeightGaussian& current() {
    if (!gaussian_) gaussian_.emplace(gaussian());
    return *gaussian_;
  }

  void fit() {
    const double begin = now();
    const Posterior posterior = fit_from(classifier_model(pool_.rows, state_.selected, state_.labels, options_.prior),
                                         options_.method, state_.sites, run_);
    state_.sites = posterior.site_approximation();
    // A site that tells nothing, far out where the logistic is flat, still has to be one.
    state_.sites.precision = state_.sites.precision.cwiseMax(std::numeric_limits<double>::min());
    state_.unconverged += posterior.report().converged() ? 0 : 1;
    state_.fit_seconds += now() - begin;
    gaussian_.reset();
  }

  /// The sites of new rows go before those of the prior.
  void add_sites(const std::vector<IncludedSite>& added) {
    const auto count = static_cast<Index>(added.size());
    const Index rows = bought() - count;
    const Index behind = state_.sites.rows() - rows;
    SiteApproximation next;
    next.precision.resize(rows + count + behind);
    next.shift.resize(rows + count + behind);
    next.precision.head(rows) = state_.sites.precision.head(rows);
    next.shift.head(rows) = state_.sites.shift.head(rows);
    for (Index k = 0; k < count; ++k) {
      next.precision(rows + k) = added[static_cast<std::size_t>(k)].precision;
      next.shift(rows + k) = added[static_cast<std::size_t>(k)].shift;
    }
    next.precision.tail(behind) = state_.sites.precision.tail(behind);
    next.shift.tail(behind) = state_.sites.shift.tail(behind);
    state_.sites = std::move(next);
  }

  void choose_block(Index count) {
    const double begin = now();
    WeightGaussian& weights = current();
    const bool scored = options_.score != ActiveScore::random;
    Marginals latent = scored ? weights.marginals(pool_.rows) : Marginals{};
    std::vector<IncludedSite> added;
    for (Index k = 0; k < count; ++k) {
      const Index row = scored ? best_candidate(latent, taken_, options_.score, blas_.threads())
                               : order_[static_cast<std::size_t>(bought())];
      const Vector entries = pool_.rows.transposed_rows(row, row + 1).col(0);
      const Vector solution = weights.solve(entries);
      // From the solve: exact where the variances of the pool are not.
      const Marginal marginal{entries.dot(weights.mean()), std::max(0.0, entries.dot(solution))};
      const IncludedSite site = include_label(marginal, buy(row));
      added.push_back(site);
      weights.include(entries, site, solution);
      if (!scored || k + 1 == count) continue;
      const Vector along = pool_.rows.times(solution, blas_.threads());
      const double ratio = 1.0 + site.precision * marginal.variance;
      latent.mean += (site.shift - site.precision * marginal.mean) / ratio * along;
      latent.variance -= site.precision / ratio * along.cwiseAbs2();
    }
    add_sites(added);
    state_.score_seconds += now() - begin;
  }

  void settle(const ActiveProgress& progress) {
    const Index last = state_.curve.empty() ? 0 : state_.curve.back().labels;
    if (state_.curve.empty() || bought() >= last + options_.every || bought() == options_.labels) {
      const TestScores scores = test_scores(current(), test_, blas_.threads());
      state_.curve.push_back({bought(), scores.error, scores.log_loss, now() - started_});
    }
    state_.seconds = now() - started_;
    if (!progress) return;
    const Next next = progress(state_);
    if (next == Next::discard) throw Interrupted();
    ended_ = next == Next::accept;
  }

  const ActivePool& pool_;
  const ActiveTest& test_;
  const ActiveOptions& options_;
  const Run& run_;
  BlasThreads blas_;
  ActiveState state_;
  std::vector<Index> order_;
  std::vector<char> taken_;
  double started_;
  std::optional<WeightGaussian> gaussian_;
  bool ended_ = false;
};

}  // namespace

std::string_view to_string(ActiveScore score) {
  return std::find_if(score_names.begin(), score_names.end(), [&](const auto& known) { return known.first == score; })
      ->second;
}

ActiveScore active_score(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& known : score_names) {
    if (known.second == name) return known.first;
    names.emplace_back(known.second);
  }
  throw InvalidOption(fmt::format("unknown score \"{}\"{}; uncertainty, information-gain and random are accepted", name,
                                  suggestion(name, names)));
}

ActiveState learn_actively(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options, const Run& run,
                           ActiveState state, const ActiveProgress& progress) {
  check_active(pool, test, options);
  return ActiveRun(pool, test, options, run, std::move(state)).go(progress);
}

ActivePoint learn_from_all(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options,
                           const Run& run) {
  ActiveOptions all = options;
  all.initial = all.labels = pool.rows.rows();
  return learn_actively(pool, test, all, run).curve.back();
}

}  // namespace gaussmith
