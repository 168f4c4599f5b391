#include "learn/choose_latents.hpp"

#include "base/parallel_blocks.hpp"
#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "learn/inducing_scores.hpp"
#include "linalg/blas_threads.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace gaussmith {

namespace {

/// How well the bound is optimised between blocks: a gain bounds what a fit gains from wherever it is taken.
constexpr double rough_tolerance = 1e-3;

Model with_sites(const Model& model, const std::vector<InducingSite>& sites, double noise) {
  Model out = model;
  std::get<GaussianProcess>(out.prior).inducing = Inducing{.sites = sites, .noise = noise};
  return out;
}

/// The candidates with the largest estimates that are none of `taken`, best first.
std::vector<InducingSite> largest(const Vector& estimates, Index latents, std::size_t count,
                                  const std::set<InducingSite>& taken) {
  std::vector<Index> order(static_cast<std::size_t>(estimates.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const std::size_t some = std::min(order.size(), count + taken.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(some), order.end(),
                    [&](Index a, Index b) { return std::pair(-estimates(a), a) < std::pair(-estimates(b), b); });
  std::vector<InducingSite> out;
  for (std::size_t i = 0; i < some && out.size() < count; ++i) {
    const InducingSite site{order[i] / latents, order[i] % latents};
    if (!taken.contains(site)) out.push_back(site);
  }
  return out;
}

/// Takes the best candidate, looks at the others beside it, and so on; `choose` is told each.
template <class Choose>
void take_best(InducingScores& scores, const std::vector<InducingSite>& sites, std::size_t count, int threads,
               const Choose& choose) {
  std::vector<InducingScores::Candidate> left(sites.size());
  parallel_blocks(static_cast<Index>(sites.size()), 1, threads, [&](Index i, Index /*end*/) {
    const auto k = static_cast<std::size_t>(i);
    left[k] = scores.score(sites[k]);
  });
  std::vector<std::size_t> seen_at(left.size(), 0);  // How many were taken when the gain was computed.
  for (std::size_t taken = 0; taken < count && !left.empty();) {
    const auto best =
        std::max_element(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.gain < b.gain; });
    if (!(best->gain > 0.0)) return;
    const auto k = static_cast<std::size_t>(best - left.begin());
    if (seen_at[k] < taken) {
      // Gains nearly always shrink beside others: only the best is looked at again.
      *best = scores.score(best->site);
      seen_at[k] = taken;
      continue;
    }
    scores.take(*best);
    choose(*best);
    ++taken;
    left.erase(best);
    seen_at.erase(seen_at.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

void check_sites(const Model& model) {
  if (const Inducing* has = inducing_of(model); has != nullptr && has->learn)
    throw InvalidOption(
        "inducing.learn: those that are chosen among several latents are values of rows and stay where they are; give "
        "prior.inducing.inputs");
  for (const Sites& block : model.sites)
    if (block->traits().name != "multinomial-logit")
      throw InvalidOption(
          fmt::format("inducing: single latents are chosen for multinomial-logit; found {}", block->traits().name));
}

}  // namespace

ChosenInducing choose_single_latents(const Model& model, const InducingSelection& selection, const Run& run) {
  check_sites(model);
  const BlasThreads blas(resolve_threads(run.threads));
  const Index latents = model.latents.count;
  const auto count = static_cast<std::size_t>(selection.count);
  ChosenInducing out{with_sites(model, {}, selection.noise), {}, {}, {}};
  if (selection.select == InducingChoice::random) {
    for (const Index i : random_subset(model.rows() * latents, selection.count, run.seed))
      out.sites.emplace_back(i / latents, i % latents);
    out.model = with_sites(model, out.sites, selection.noise);
    out.how = fmt::format("{} inducing variables: single latents drawn at random", count);
    return out;
  }
  const auto block = static_cast<std::size_t>(selection.block > 0 ? selection.block : latents);
  const std::size_t filter = std::max(block, static_cast<std::size_t>(selection.filter));
  std::optional<Posterior> fit;
  std::set<InducingSite> taken;
  Run own = run;
  for (std::uint64_t round = 0; out.sites.size() < count; ++round) {
    InducingScores scores = fit ? InducingScores(*fit, blas.threads()) : InducingScores(model, blas.threads());
    const Vector estimates = scores.estimates(random_subset(model.rows(), selection.subset, run.seed + round));
    const std::size_t before = out.sites.size();
    take_best(scores, largest(estimates, latents, filter, taken), std::min(block, count - before), blas.threads(),
              [&](const InducingScores::Candidate& best) {
                out.sites.push_back(best.site);
                out.scores.push_back(best.gain);
                taken.insert(best.site);
              });
    if (out.sites.size() == before) break;
    out.model = with_sites(model, out.sites, selection.noise);
    if (out.sites.size() == count) break;
    own.warm_start = fit ? &*fit : nullptr;
    fit = infer(out.model, Kl{.tolerance = rough_tolerance}, own);
    if (fit->report().status == Status::stopped) break;
  }
  if (out.sites.empty()) throw InvalidOption("inducing: no latent of any row has any variance");
  out.how = out.sites.size() < count
                ? fmt::format(
                      "{} inducing variables, by what they add to the bound: no other latent adds to it, {} "
                      "were asked for",
                      out.sites.size(), count)
                : fmt::format("{} inducing variables, by what they add to the bound", count);
  return out;
}

}  // namespace gaussmith
