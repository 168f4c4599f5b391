#include "active/candidates.hpp"
#include "active/classifier.hpp"
#include "gaussmith/active.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {
namespace {

struct Pool {
  SparseMatrix rows;
  Vector labels;

  [[nodiscard]] ActivePool pool() const {
    return {rows, [this](Index row) { return labels(row); }};
  }
  [[nodiscard]] ActiveTest test() const { return {rows, labels}; }
};

Pool make_pool(Index rows = 150, Index columns = 12, std::uint64_t seed = 5) {
  Random random(seed);
  Matrix dense = Matrix::Zero(rows, columns);
  Vector labels(rows);
  for (Index n = 0; n < rows; ++n) {
    double eta = 0.0;
    for (Index j = 0; j < columns; ++j)
      if (random.uniform() < 0.4) {
        dense(n, j) = random.normal();
        eta += dense(n, j) * (j % 3 == 0 ? 2.0 : -0.5);
      }
    labels(n) = random.uniform() < 1.0 / (1.0 + std::exp(-eta)) ? 1.0 : -1.0;
  }
  return {dense.sparseView(), labels};
}

ActiveOptions small_options(ActiveScore score) {
  ActiveOptions options;
  options.score = score;
  options.initial = 10;
  options.block = 3;
  options.labels = 30;
  return options;
}

TEST(WeightGaussian, RankOneUpdatesAreThoseOfTheWholeMatrix) {
  const Pool pool = make_pool();
  const Design design = pool.rows;
  const std::vector<Index> bought{3, 17, 40, 41, 99};
  Vector precision = Vector::LinSpaced(5, 0.05, 0.25);
  Vector shift = Vector::LinSpaced(5, -0.5, 0.5);
  const Vector prior = Vector::LinSpaced(12, 0.5, 2.0);
  // Exact variances; Lanczos' with systems solved by the inverse, and by conjugate gradients.
  for (const auto& [lanczos, few_weights] : {std::pair{0, 1000}, std::pair{12, 1000}, std::pair{12, 0}}) {
    WeightGaussian gaussian(design.select(bought), precision, shift, prior, {lanczos, 1, 1, few_weights});
    Matrix a = Matrix(prior.asDiagonal());
    const Matrix h = Matrix(pool.rows);
    Vector b = Vector::Zero(12);
    for (Index k = 0; k < 5; ++k) {
      const Vector row = h.row(bought[static_cast<std::size_t>(k)]);
      a += precision(k) * row * row.transpose();
      b += shift(k) * row;
    }
    for (const Index n : {0, 7, 8, 120}) {
      const Vector row = h.row(n);
      const IncludedSite site{0.2, n % 2 == 0 ? 0.5 : -0.5};
      gaussian.include(row, site, gaussian.solve(row));
      a += site.precision * row * row.transpose();
      b += site.shift * row;
      const Eigen::LLT<Matrix> factor(a);
      const Marginals latent = gaussian.marginals(design);
      const Vector mean = h * factor.solve(b);
      const Vector variance = h.cwiseProduct(factor.solve(h.transpose()).transpose()).rowwise().sum();
      EXPECT_LT((latent.mean - mean).cwiseAbs().maxCoeff(), lanczos > 0 ? 1e-8 : 1e-12);
      EXPECT_LT((latent.variance - variance).cwiseAbs().maxCoeff(), 1e-10);
    }
  }
}

/// One way for many rows, another for few; and what was found for the last label is not kept for the next.
TEST(WeightGaussian, VariancesOfLanczosDoNotDependOnTheRowsBesides) {
  const Pool pool = make_pool();
  const Design design = pool.rows;
  const std::vector<Index> bought{3, 17, 40, 41, 99};
  WeightGaussian gaussian(design.select(bought), Vector::Constant(5, 0.2), Vector::Constant(5, 0.5), Vector::Ones(12),
                          {4, 1, 1});
  Vector before;
  for (const Index n : {0, 7}) {
    const Vector all = gaussian.marginals(design).variance;
    for (Index row = 0; row < 20; ++row)
      EXPECT_NEAR(gaussian.marginals(design.select({row})).variance(0), all(row), 1e-12 * (1.0 + all(row)));
    if (before.size() > 0) {
      EXPECT_GT((all - before).cwiseAbs().maxCoeff(), 1e-3);
    }
    before = all;
    const Vector row = Matrix(pool.rows).row(n);
    gaussian.include(row, {0.2, 0.5}, gaussian.solve(row));
  }
}

TEST(WeightGaussian, IsThatOfTheFit) {
  const Pool pool = make_pool();
  std::vector<Index> bought;
  std::vector<double> labels;
  for (Index n = 0; n < 40; ++n) {
    bought.push_back(n);
    labels.push_back(pool.labels(n));
  }
  for (const ActivePrior& prior : {ActivePrior(GaussianWeights{2.0}), ActivePrior(LaplaceWeights{0.7})}) {
    const Posterior posterior = fit_from(classifier_model(pool.rows, bought, labels, prior), Vb{}, {}, {});
    const WeightGaussian gaussian = classifier_gaussian(pool.rows, bought, posterior.site_approximation(), prior, {});
    const Marginals latent = gaussian.marginals(pool.rows);
    const Prediction prediction = posterior.predict({.design = Design(pool.rows)});
    EXPECT_LT((latent.mean - prediction.latent_mean()).cwiseAbs().maxCoeff(), 1e-8);
    EXPECT_LT((latent.variance - prediction.latent_variance()).cwiseAbs().maxCoeff(), 1e-8);
    const TestScores scores = test_scores(gaussian, pool.test(), 1);
    EXPECT_NEAR(scores.log_loss, -prediction.log_density(pool.labels).mean(), 1e-8);
  }
}

TEST(ActiveLearning, FirstChoiceIsTheRowNearestToOneHalf) {
  const Pool pool = make_pool();
  const ActiveState state = learn_actively(pool.pool(), {}, small_options(ActiveScore::uncertainty));
  const std::vector<Index> bought(state.selected.begin(), state.selected.begin() + 10);
  const std::vector<double> labels(state.labels.begin(), state.labels.begin() + 10);
  const Posterior posterior = infer(classifier_model(pool.rows, bought, labels, GaussianWeights{}), Vb{});
  const Vector probability = posterior.predict({.design = Design(pool.rows)}).response_probability();
  Index best = -1;
  for (Index n = 0; n < probability.size(); ++n)
    if (std::find(bought.begin(), bought.end(), n) == bought.end() &&
        (best < 0 || std::abs(probability(n) - 0.5) < std::abs(probability(best) - 0.5)))
      best = n;
  EXPECT_EQ(state.selected[10], best);
}

TEST(ActiveLearning, EveryRowOnceAndLabelsOfChosenRowsAlone) {
  const Pool pool = make_pool();
  for (const ActiveScore score : {ActiveScore::uncertainty, ActiveScore::information_gain, ActiveScore::random}) {
    std::vector<Index> asked;
    const ActivePool watched{pool.rows, [&](Index row) {
                               asked.push_back(row);
                               return pool.labels(row);
                             }};
    const ActiveState state = learn_actively(watched, pool.test(), small_options(score));
    EXPECT_EQ(asked, state.selected);
    std::vector<Index> sorted = asked;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
    EXPECT_EQ(state.selected.size(), 30U);
    EXPECT_EQ(state.unconverged, 0);
    EXPECT_EQ(state.curve.size(), 8U);
    EXPECT_EQ(state.curve.back().labels, 30);
  }
}

TEST(ActiveLearning, SeedFixesAndChangesTheDraws) {
  const Pool pool = make_pool();
  const ActiveOptions options = small_options(ActiveScore::random);
  const auto selected = [&](std::uint64_t seed) {
    return learn_actively(pool.pool(), {}, options, {.seed = seed}).selected;
  };
  EXPECT_EQ(selected(3), selected(3));
  EXPECT_NE(selected(3), selected(4));
}

TEST(ActiveLearning, ResumedAnywhereItChoosesTheSame) {
  const Pool pool = make_pool();
  for (const ActivePrior& prior : {ActivePrior(GaussianWeights{}), ActivePrior(LaplaceWeights{0.5})})
    for (const int lanczos : {0, 6}) {
      ActiveOptions options = small_options(ActiveScore::uncertainty);
      options.prior = prior;
      options.lanczos = lanczos;
      std::vector<ActiveState> states;
      const ActiveState whole =
          learn_actively(pool.pool(), pool.test(), options, {}, {}, [&](const ActiveState& state) {
            states.push_back(state);
            return Next::proceed;
          });
      for (const ActiveState& state : states) {
        const ActiveState resumed = learn_actively(pool.pool(), pool.test(), options, {}, state);
        EXPECT_EQ(resumed.selected, whole.selected);
        EXPECT_EQ(resumed.sites, whole.sites);
        EXPECT_EQ(resumed.curve.back().test_log_loss, whole.curve.back().test_log_loss);
      }
    }
}

/// Few steps of Lanczos leave variances out; the site of a chosen row takes mean and variance from its solve all the
/// same.
TEST(ActiveLearning, SitesOfChosenRowsAreCorrectedForTheErrorOfLanczos) {
  const Pool pool = make_pool();
  const Matrix h = pool.rows;
  ActiveOptions options = small_options(ActiveScore::information_gain);
  options.lanczos = 3;
  options.block = 10;
  options.labels = 20;
  SiteApproximation sites;
  const ActiveState state = learn_actively(pool.pool(), {}, options, {}, {}, [&](const ActiveState& now) {
    if (now.selected.size() == 10) sites = now.sites;
    return Next::proceed;
  });
  const std::vector<Index> first(state.selected.begin(), state.selected.begin() + 10);
  Matrix a = Matrix::Identity(12, 12) / std::get<GaussianWeights>(options.prior).variance;
  Vector b = Vector::Zero(12);
  for (Index k = 0; k < 10; ++k) {
    const Vector row = h.row(first[static_cast<std::size_t>(k)]);
    a += sites.precision(k) * row * row.transpose();
    b += sites.shift(k) * row;
  }
  const auto block = [&](bool corrected) {
    Marginals latent =
        classifier_gaussian(pool.rows, first, sites, options.prior, {options.lanczos, 0, 1}).marginals(pool.rows);
    std::vector<char> taken(150, 0);
    for (const Index row : first) taken[static_cast<std::size_t>(row)] = 1;
    Matrix precision = a;
    Vector pull = b;
    std::vector<Index> chosen;
    for (int k = 0; k < 10; ++k) {
      const Index n = best_candidate(latent, taken, options.score, 1);
      chosen.push_back(n);
      taken[static_cast<std::size_t>(n)] = 1;
      const Vector row = h.row(n);
      const Eigen::LLT<Matrix> factor(precision);
      const Vector solution = factor.solve(row);
      const Marginal known = corrected ? Marginal{row.dot(factor.solve(pull)), row.dot(solution)}
                                       : Marginal{latent.mean(n), latent.variance(n)};
      const IncludedSite site = include_label(known, pool.labels(n));
      const Vector along = h * solution;
      const double ratio = 1.0 + site.precision * known.variance;
      latent.mean += (site.shift - site.precision * known.mean) / ratio * along;
      latent.variance -= site.precision / ratio * along.cwiseAbs2();
      precision += site.precision * row * row.transpose();
      pull += site.shift * row;
    }
    return chosen;
  };
  EXPECT_EQ(std::vector<Index>(state.selected.begin() + 10, state.selected.end()), block(true));
  EXPECT_NE(block(false), block(true));
}

TEST(ActiveLearning, OtherMethodsChooseToo) {
  const Pool pool = make_pool();
  for (const Method& method : {Method(Kl{}), Method(Laplace{}), Method(Ep{})}) {
    ActiveOptions options = small_options(ActiveScore::information_gain);
    options.method = method;
    const ActiveState state = learn_actively(pool.pool(), pool.test(), options);
    EXPECT_EQ(state.unconverged, 0);
    EXPECT_LT(state.curve.back().test_log_loss, std::log(2.0));
  }
}

TEST(ActiveLearning, RowsWithoutEntriesComeLast) {
  Pool pool = make_pool(40);
  Matrix dense = pool.rows;
  dense.row(0).setZero();
  pool.rows = dense.sparseView();
  ActiveOptions options = small_options(ActiveScore::uncertainty);
  options.initial = 3;
  options.labels = 40;
  const ActiveState state = learn_actively(pool.pool(), {}, options, {.seed = 3});
  ASSERT_EQ(std::find(state.selected.begin(), state.selected.begin() + 3, 0), state.selected.begin() + 3);
  EXPECT_EQ(state.selected.back(), 0);
  EXPECT_EQ(state.selected.size(), 40U);
}

TEST(ActiveLearning, RefusesWhatCannotBeRun) {
  const Pool pool = make_pool(40);
  const auto refused = [&](auto change) {
    ActiveOptions options = small_options(ActiveScore::uncertainty);
    change(options);
    EXPECT_THROW((void)learn_actively(pool.pool(), {}, options), InvalidOption);
  };
  refused([](ActiveOptions& o) { o.labels = 41; });
  refused([](ActiveOptions& o) { o.initial = 31; });
  refused([](ActiveOptions& o) { o.initial = 0; });
  refused([](ActiveOptions& o) { o.block = 0; });
  refused([](ActiveOptions& o) { o.prior = GaussianWeights{-1.0}; });
  refused([](ActiveOptions& o) { o.prior = LaplaceWeights{std::nan("")}; });
  refused([](ActiveOptions& o) { o.method = Exact{}; });
  refused([](ActiveOptions& o) {
    o.method = Laplace{};
    o.prior = LaplaceWeights{};
  });
  const ActivePool wrong{pool.rows, [](Index) { return 0.0; }};
  EXPECT_THROW((void)learn_actively(wrong, {}, small_options(ActiveScore::random)), InvalidModel);
  ActiveState foreign;
  foreign.selected = {1, 1};
  foreign.labels = {1.0, -1.0};
  foreign.sites = {Vector::Ones(2), Vector::Ones(2)};
  EXPECT_THROW((void)learn_actively(pool.pool(), {}, small_options(ActiveScore::random), {}, foreign), InvalidModel);
  EXPECT_THROW((void)active_score("entropy"), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
