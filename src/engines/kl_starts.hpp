#pragma once
// Where the ascents of the site form begin when sites are not log-concave and the bound may have several optima.

#include "engines/kl_family_start.hpp"
#include "engines/kl_full.hpp"
#include "gaussmith/random.hpp"

#include <optional>
#include <vector>

namespace gaussmith {

/// Empty where K^-1 + T is not positive definite.
using OptionalKlStart = std::optional<KlStart>;

/// The start itself where its precisions give a Gaussian.
[[nodiscard]] OptionalKlStart proper_start(GaussianCore& core, KlStart start);

/// The site parameters of an earlier posterior with the same rows.
[[nodiscard]] OptionalKlStart warm_kl_start(GaussianCore& core, const Posterior* warm);

/// Every heavy-tailed site taken at its word: the least-squares fit, which no outlier has left.
[[nodiscard]] OptionalKlStart trusting_start(GaussianCore& core, const SiteRows& sites, const KlStart& first);

/// As wide as the prior, so that every mode is seen at once: narrow heavy-tailed sites hide them from one another.
[[nodiscard]] OptionalKlStart wide_start(GaussianCore& core, const SiteRows& sites);

/// A mean pulled towards responses drawn from the prior's marginals.
[[nodiscard]] OptionalKlStart scattered_start(GaussianCore& core, const SiteRows& sites, const KlStart& first,
                                              Random& random);

/// Where the families end. The mean of their optimum is that of the sites nu = de/dm + tau m, whatever tau: negative
/// precisions that leave no Gaussian beside a constrained covariance are left out.
[[nodiscard]] OptionalKlStart family_start(GaussianCore& core, const KlFamilyStart& found);

/// The best of many glances, best first and 3 (starts - 1) at most: one heavy-tailed row after the other is believed
/// and all others nearly ignored, then sets of up to D rows drawn at random, then scattered starts. A glance is a few
/// plain steps, one factorisation each, which are added to `iterations`; the bound that they reach orders them. With
/// many rows there are fewer glances, and only the best is returned.
[[nodiscard]] std::vector<KlStart> believing_starts(GaussianCore& core, const SiteRows& sites, const KlStart& first,
                                                    int starts, Random& random, int& iterations);

/// The bound less what rounding leaves uncertain in it at the core's sites: an ascent that left all precision behind
/// may end with any number.
[[nodiscard]] double certain_bound(GaussianCore& core, const LatentPoint& mean, double bound);

}  // namespace gaussmith
