#include "engines/kl_starts.hpp"

#include "base/random_choice.hpp"
#include "model/tangent_sites.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Glances that believe one row; as many believe a set of rows, and as many are scattered.
constexpr int most_glances = 32;
/// Beyond this many rows a factorisation is dear.
constexpr Index many_rows = 300;
constexpr int few_glances = 4;
/// Steps of a glance, the first with the rows that it believes.
constexpr int glance_steps = 4;
/// What counts of a row that is not believed: enough to determine weights that nothing else does.
constexpr double disbelief = 1e-6;
/// Two glances that agree to this have seen the same optimum.
constexpr double same_bound = 1e-6;

/// The precisions alone: the ascent finds the mean.
bool set_precision(GaussianCore& core, const Vector& precision) {
  return core.set({precision, Vector::Zero(core.rows())});
}

/// Every heavy-tailed site at its centre, where it is narrowest, and the others as in the first start.
struct Trust {
  SiteApproximation sites;
  std::vector<Index> heavy;  ///< The rows of heavy-tailed sites.
};

Trust trust(const SiteRows& sites, const KlStart& first) {
  Trust out{{first.precision, first.precision.cwiseProduct(first.mean.eta)}, {}};
  std::vector<char> is_heavy(static_cast<std::size_t>(sites.rows()), 0);
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const SiteTraits& traits = block.traits();
    if (!traits.super_gaussian || traits.log_concave) return;
    const auto size = static_cast<std::size_t>(count);
    const std::vector<double> centre(size, 0.0);
    tangent_sites(block, begin, centre, {out.sites.precision.data() + row, size}, {out.sites.shift.data() + row, size});
    sites.weigh(row, {out.sites.precision.data() + row, size});
    sites.weigh(row, {out.sites.shift.data() + row, size});
    std::fill_n(is_heavy.begin() + row, count, 1);
  });
  for (Index n = 0; n < sites.rows(); ++n)
    if (is_heavy[static_cast<std::size_t>(n)] != 0) out.heavy.push_back(n);
  return out;
}

void scale_site(SiteApproximation& sites, Index row, double share) {
  sites.precision(row) *= share;
  sites.shift(row) *= share;
}

Index glances_at(Index rows) { return rows > many_rows ? few_glances : most_glances; }

/// All of them, or as many evenly spread.
std::vector<Index> some_of(const std::vector<Index>& rows, Index most) {
  const auto all = static_cast<Index>(rows.size());
  const Index count = std::min(all, most);
  std::vector<Index> out;
  for (Index k = 0; k < count; ++k) out.push_back(rows[static_cast<std::size_t>(k * all / count)]);
  return out;
}

struct Glance {
  KlStart start;
  double bound;
};

/// A few plain steps of the site equations with negative precisions left out; the best point on the way.
std::optional<Glance> glance(GaussianCore& core, const SiteRows& sites, SiteApproximation at, int& iterations,
                             const LatentPoint* mean = nullptr) {
  std::optional<Glance> best;
  for (int step = 0; step < glance_steps; ++step) {
    ++iterations;
    if (!core.set(at)) break;
    SmoothedPoint point =
        smoothed_point(core, sites, core.variances(), step == 0 && mean != nullptr ? *mean : core.mean());
    const double bound = point.objective - core.half_log_det().value + core.half_trace(at.precision, core.variances());
    if (!std::isfinite(bound)) break;
    Vector next = (-2.0 * point.d_variance).cwiseMax(0.0);
    Vector shift = point.d_mean + next.cwiseProduct(point.at.eta);
    if (const double certain = certain_bound(core, point.at, bound); !best || certain > best->bound)
      best = Glance{{at.precision, std::move(point.at)}, certain};
    at = {std::move(next), std::move(shift)};
  }
  return best;
}

/// The starts with the highest bounds, each optimum once.
std::vector<KlStart> best_of(std::vector<Glance> seen, int wanted) {
  std::stable_sort(seen.begin(), seen.end(), [](const Glance& a, const Glance& b) { return a.bound > b.bound; });
  std::vector<KlStart> out;
  double last = 0.0;
  for (Glance& g : seen) {
    if (static_cast<int>(out.size()) == wanted) break;
    if (!out.empty() && last - g.bound <= same_bound * (1.0 + std::abs(last))) continue;
    last = g.bound;
    out.push_back(std::move(g.start));
  }
  return out;
}

}  // namespace

double certain_bound(GaussianCore& core, const LatentPoint& mean, double bound) {
  const double certain = bound - core.evidence_rounding(mean);
  return std::isnan(certain) ? -std::numeric_limits<double>::infinity() : certain;
}

OptionalKlStart proper_start(GaussianCore& core, KlStart start) {
  if (!set_precision(core, start.precision)) return {};
  return start;
}

OptionalKlStart warm_kl_start(GaussianCore& core, const Posterior* warm) {
  if (warm == nullptr || warm->site_approximation().rows() != core.rows() || !core.set(warm->site_approximation()))
    return {};
  return KlStart{warm->site_approximation().precision, core.mean()};
}

OptionalKlStart trusting_start(GaussianCore& core, const SiteRows& sites, const KlStart& first) {
  const SiteApproximation trusting = trust(sites, first).sites;
  if (!core.set(trusting)) return {};
  return KlStart{trusting.precision, core.mean()};
}

OptionalKlStart wide_start(GaussianCore& core, const SiteRows& sites) {
  LatentPoint centre = core.centre();
  Vector d_variance;
  const Vector variance = core.prior_variances().cwiseMin(widest_variance);
  sites.expectation(centre.eta, variance, nullptr, nullptr, &d_variance);
  return proper_start(core, {(-2.0 * d_variance).cwiseMax(0.0), std::move(centre)});
}

OptionalKlStart scattered_start(GaussianCore& core, const SiteRows& sites, const KlStart& first, Random& random) {
  if (!set_precision(core, first.precision)) return {};
  const Vector width = core.prior_variances().cwiseMin(core.variances().maxCoeff()).cwiseSqrt();
  Vector shift(core.rows());
  for (Index n = 0; n < shift.size(); ++n)
    shift(n) = first.precision(n) * (core.prior_mean()(n) + 2.0 * width(n) * random.normal());
  return proper_start(core, independent_start(core, sites, core.mean(shift)));
}

OptionalKlStart family_start(GaussianCore& core, const KlFamilyStart& found) {
  for (const Vector& precision : {found.precision, Vector(found.precision.cwiseMax(0.0))})
    if (core.set({precision, found.d_mean + precision.cwiseProduct(found.eta)})) return KlStart{precision, core.mean()};
  return {};
}

std::vector<KlStart> believing_starts(GaussianCore& core, const SiteRows& sites, const KlStart& first, int starts,
                                      Random& random, int& iterations) {
  const Trust trusted = trust(sites, first);
  const std::vector<Index>& heavy = trusted.heavy;
  const auto rows = static_cast<Index>(heavy.size());
  if (rows == 0) return {};
  std::vector<Glance> seen;
  const auto look = [&](const std::vector<Index>& believed) {
    SiteApproximation at = trusted.sites;
    for (const Index n : heavy)
      if (std::find(believed.begin(), believed.end(), n) == believed.end()) scale_site(at, n, disbelief);
    if (auto found = glance(core, sites, std::move(at), iterations)) seen.push_back(std::move(*found));
  };
  const Index glances = glances_at(core.rows());
  for (const Index n : some_of(heavy, glances)) look({n});
  const Index most = std::min(core.geometry().dimension(), rows);
  for (Index k = 0; k < glances && most > 1; ++k) {
    std::vector<Index> believed(static_cast<std::size_t>(2 + k % (most - 1)));
    for (Index& n : believed) n = heavy[static_cast<std::size_t>(random_below(rows, random))];
    look(believed);
  }
  for (Index k = 0; k < glances; ++k)
    if (const OptionalKlStart start = scattered_start(core, sites, first, random))
      if (auto found = glance(core, sites, {start->precision, Vector::Zero(core.rows())}, iterations, &start->mean))
        seen.push_back(std::move(*found));
  return best_of(std::move(seen), core.rows() > many_rows ? 1 : 3 * (starts - 1));
}

}  // namespace gaussmith
