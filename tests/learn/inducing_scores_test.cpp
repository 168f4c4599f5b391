// What another inducing variable gains, and inducing variables of several latents that are chosen by that.

#include "learn/inducing_scores.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/inducing.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

const Kl sharp{.tolerance = 1e-10};

Model classes(Index n, Index count, LatentModel kind = LatentModel::identity) {
  const Matrix x = random_matrix(n, 2, 3);
  Vector y(n);
  for (Index i = 0; i < n; ++i)
    y(i) = std::min(static_cast<double>(count) - 1.0, std::floor(std::abs(x(i, 0) + 0.4 * x(i, 1)) * 1.7));
  y(0) = 0.0;
  Model model{.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {1.7}}, {"lengthscale", {0.9}}}), 0.0},
              .sites = {observe("multinomial-logit", y, {{"classes", one(static_cast<double>(count))}})},
              .latents = {.count = count, .model = kind}};
  if (kind == LatentModel::full) {
    model.latents.factor = Matrix::Identity(count, count);
    model.latents.factor(1, 0) = -0.7;
  }
  return model;
}

Model with_sites(Model model, std::vector<InducingSite> sites) {
  std::get<GaussianProcess>(model.prior).inducing = Inducing{.sites = std::move(sites)};
  return model;
}

double bound(const Model& model) { return infer(model, sharp).log_evidence().value; }

TEST(InducingScores, GainsAreBetweenNothingAndWhatANewFitGains) {
  for (const LatentModel kind : {LatentModel::identity, LatentModel::full}) {
    const Model model = classes(16, 3, kind);
    const std::vector<InducingSite> has = {{1, 0}, {4, 1}, {8, 2}, {12, 0}};
    const Posterior fit = infer(with_sites(model, has), sharp);
    const InducingScores scores(fit, 1);
    double share = 0.0;
    int counted = 0;
    for (Index n = 0; n < 16; n += 3)
      for (Index c = 0; c < 3; ++c) {
        std::vector<InducingSite> more = has;
        if (std::find(has.begin(), has.end(), InducingSite{n, c}) != has.end()) continue;
        more.emplace_back(n, c);
        const double gained = bound(with_sites(model, more)) - fit.log_evidence().value;
        const auto candidate = scores.score({n, c});
        EXPECT_GE(candidate.gain, 0.0);
        EXPECT_LE(candidate.gain, gained + 1e-8) << n << ", " << c;
        if (gained > 1e-3) {
          share += candidate.gain / gained;
          ++counted;
        }
      }
    EXPECT_GT(share / counted, 0.3);
    // What it has gains nothing.
    EXPECT_EQ(scores.score({4, 1}).gain, 0.0);
  }
}

TEST(InducingScores, EstimatesByAllRowsAreTheGains) {
  for (const LatentModel kind : {LatentModel::identity, LatentModel::full}) {
    const Model model = classes(12, 3, kind);
    const InducingScores scores(infer(with_sites(model, {{1, 0}, {4, 1}}), sharp), 1);
    std::vector<Index> all(12);
    std::iota(all.begin(), all.end(), Index{0});
    const Vector estimates = scores.estimates(all);
    for (Index i = 0; i < 36; i += 5)
      EXPECT_NEAR(estimates(i), scores.score({i / 3, i % 3}).gain, 1e-7 * (1.0 + estimates(i)));
  }
}

TEST(InducingScores, GainsOfABlockAddUpToLessThanItsFit) {
  const Model model = classes(20, 3);
  InducingScores scores(model, 1);
  // From the prior, whose bound is that of q = prior.
  double total = 0.0;
  std::vector<InducingSite> taken;
  for (const InducingSite& site : std::vector<InducingSite>{{2, 0}, {7, 1}, {3, 0}, {15, 2}}) {
    const auto candidate = scores.score(site);
    EXPECT_GT(candidate.gain, 0.0);
    total += candidate.gain;
    scores.take(candidate);
    taken.push_back(site);
  }
  Model nothing = model;
  std::get<GaussianProcess>(nothing.prior).inducing = Inducing{.inputs = Matrix::Constant(1, 2, 50.0)};
  EXPECT_LE(total, bound(with_sites(model, taken)) - bound(nothing) + 1e-8);
  EXPECT_GT(total, 0.2 * (bound(with_sites(model, taken)) - bound(nothing)));
}

TEST(ChooseLatents, ActiveBeatsRandomAndKeepsToTheSeed) {
  const Model model = classes(60, 3);
  const InducingSelection selection{.count = 18};
  const ChosenInducing active = choose_inducing(model, selection, {.seed = 4});
  ASSERT_EQ(active.sites.size(), 18U);
  EXPECT_EQ(active.scores.size(), 18U);
  EXPECT_EQ(std::set<InducingSite>(active.sites.begin(), active.sites.end()).size(), 18U);
  EXPECT_EQ(choose_inducing(model, selection, {.threads = 2, .seed = 4}).sites, active.sites);
  const double chosen = bound(active.model);
  for (const std::uint64_t seed : {1, 2, 3}) {
    InducingSelection random = selection;
    random.select = InducingChoice::random;
    EXPECT_GT(chosen, bound(choose_inducing(model, random, {.seed = seed}).model)) << seed;
  }
}

TEST(ChooseLatents, AsManyAsThereAreGiveTheFullBound) {
  const Model model = classes(8, 3, LatentModel::full);
  const ChosenInducing all = choose_inducing(model, {.count = 24, .block = 6});
  EXPECT_NEAR(bound(all.model), bound(model), 1e-6);
  EXPECT_THROW((void)choose_inducing(model, {.count = 25}), InvalidOption);
  EXPECT_THROW((void)choose_inducing(model, {.count = 0}), InvalidOption);
}

TEST(ChooseLatents, LearningChoosesAgain) {
  const Model model = classes(50, 3);
  const LearnedInducing found = learn_inducing(model, {.count = 24}, Kl{}, {.standard_errors = false}, {.seed = 1});
  const Learned full = learn(model, Kl{}, {.standard_errors = false});
  EXPECT_LE(found.learned.report.objective, full.report.objective + 1e-6);
  EXPECT_GT(found.learned.report.objective, bound(choose_inducing(model, {.count = 24}, {.seed = 1}).model));
  EXPECT_EQ(std::get<GaussianProcess>(found.learned.posterior.model().prior).inducing->sites, found.chosen.sites);
}

}  // namespace
}  // namespace gaussmith
