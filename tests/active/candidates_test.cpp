#include "active/candidates.hpp"
#include "gaussmith/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

/// Means and variances over many powers of ten, some of them equal, some variances not positive.
Marginals make_marginals(Index rows, std::uint64_t seed) {
  Random random(seed);
  Marginals out{Vector(rows), Vector(rows)};
  for (Index n = 0; n < rows; ++n) {
    out.mean(n) = random.normal() * std::exp(2.0 * random.normal());
    out.variance(n) = random.uniform() < 0.05 ? -0.1 * random.uniform() : std::exp(2.0 * random.normal());
    if (n > 0 && random.uniform() < 0.1) {
      out.mean(n) = out.mean(n - 1);
      out.variance(n) = out.variance(n - 1);
    }
  }
  return out;
}

/// Along marginals of rising |mean| or falling variance scores only fall, to the accuracy that scores have.
void expect_falling(const Marginals& latent, ActiveScore score) {
  const Vector scores = scores_of(latent, score, 1);
  for (Index n = 1; n < scores.size(); ++n)
    EXPECT_LE(scores(n), scores(n - 1) + 1e-6 * std::abs(scores(n - 1)) + 1e-12)
        << to_string(score) << " at mean " << latent.mean(n) << ", variance " << latent.variance(n);
}

TEST(Candidates, ScoresFallWithTheMeanAndRiseWithTheVariance) {
  const Index steps = 200;
  const Vector up = Vector::LinSpaced(steps, -4.0, 2.0).unaryExpr([](double x) { return std::pow(10.0, x); });
  const Vector down = up.reverse();
  for (const ActiveScore score : {ActiveScore::uncertainty, ActiveScore::information_gain})
    for (Index k = 0; k < steps; k += 5)
      for (const double sign : {-1.0, 1.0}) {
        expect_falling({sign * up, Vector::Constant(steps, up(k) * up(k))}, score);
        expect_falling({Vector::Constant(steps, sign * up(k)), down.cwiseAbs2()}, score);
      }
}

TEST(Candidates, BestIsThatOfAllScores) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Index rows = seed % 4 == 0 ? 3 : 400;
    Marginals latent = make_marginals(rows, seed);
    if (seed % 3 == 0) latent.mean *= 1e-5;
    std::vector<char> taken(static_cast<std::size_t>(rows), 0);
    for (const ActiveScore score : {ActiveScore::uncertainty, ActiveScore::information_gain}) {
      const Vector scores = scores_of(latent, score, 1);
      for (int k = 0; k < 3; ++k) {
        Index best = -1;
        for (Index n = 0; n < rows; ++n)
          if (taken[static_cast<std::size_t>(n)] == 0 && (best < 0 || scores(n) > scores(best))) best = n;
        const Index found = best_candidate(latent, taken, score, 1);
        EXPECT_EQ(found, best) << "seed " << seed;
        if (k < 2 && rows > 3) taken[static_cast<std::size_t>(found)] = 1;
      }
    }
  }
}

TEST(Candidates, FewAreLeftToScore) {
  const Marginals latent = make_marginals(10'000, 7);
  std::vector<char> taken(10'000, 0);
  const std::vector<Index> left = not_ruled_out(latent, taken);
  EXPECT_LT(left.size(), 200U);
  EXPECT_TRUE(std::is_sorted(left.begin(), left.end()));
  for (const Index n : left) taken[static_cast<std::size_t>(n)] = 1;
  for (const Index n : not_ruled_out(latent, taken)) EXPECT_EQ(taken[static_cast<std::size_t>(n)], 0);
}

TEST(Candidates, RowsThatCannotBeScoredAreStillFound) {
  const Marginals latent{Vector::LinSpaced(3, 0.0, 2.0), Vector{{0.0, -0.5, 0.0}}};
  EXPECT_EQ(best_candidate(latent, {0, 0, 0}, ActiveScore::uncertainty, 1), 0);
  EXPECT_EQ(best_candidate(latent, {1, 0, 0}, ActiveScore::information_gain, 1), 1);
}

}  // namespace
}  // namespace gaussmith
