// Sequential design against dense algebra: gains, updates, directions, candidates, refits, states.

#include "gaussmith/measurement.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "measurement/candidate_scores.hpp"
#include "measurement/directions.hpp"
#include "measurement/measured_fit.hpp"
#include "measurement/updated_gaussian.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gaussmith {
namespace {

Matrix normal_numbers(Index rows, Index cols, std::uint64_t seed) {
  Random random(seed);
  Matrix out(rows, cols);
  for (double& x : out.reshaped()) x = random.normal();
  return out;
}

/// Q diag(values) Q'.
Matrix with_spectrum(const Vector& values, std::uint64_t seed) {
  const Matrix q = Eigen::HouseholderQR<Matrix>(normal_numbers(values.size(), values.size(), seed)).householderQ();
  return q * values.asDiagonal() * q.transpose();
}

Vector decaying(Index size, double rate) {
  Vector out(size);
  for (Index i = 0; i < size; ++i) out(i) = std::exp(-rate * static_cast<double>(i));
  return out;
}

double log_det(const Matrix& a) { return Eigen::SelfAdjointEigenSolver<Matrix>(a).eigenvalues().array().log().sum(); }

double dense_gain(const Matrix& v, const Matrix& rows, double variance) {
  return 0.5 * log_det(Matrix::Identity(rows.rows(), rows.rows()) + rows * v * rows.transpose() / variance);
}

LeadingSpace space_of(const Matrix& v, Index count, std::uint64_t seed, double tolerance = 1e-3) {
  Random random(seed);
  const auto fresh = [&] {
    Vector out(v.rows());
    for (double& x : out) x = random.normal();
    return out;
  };
  Matrix start(v.rows(), count);
  for (Index k = 0; k < count; ++k) start.col(k) = fresh();
  return leading_space([&](const Matrix& x) -> Matrix { return v * x; }, start, tolerance, 60 + 40 * count, fresh);
}

Model signal(Index d, double scale = 0.3) {
  return {.prior = NoGaussian{d},
          .design = Identity{},
          .sites = {observe("laplace", Vector::Zero(d), {{"scale", one(scale)}})}};
}

Vector sparse_truth(Index d) {
  Random random(17);
  Vector out = Vector::Zero(d);
  for (double& x : out) x = (random.uniform() < 0.5 ? -1.0 : 1.0) * 0.3 * random.exponential();
  return out;
}

TEST(UpdatedGaussian, IsTheGaussianOfAFreshInverse) {
  const Index d = 60;
  const double variance = 0.02;
  const Matrix v = with_spectrum(decaying(d, 0.1), 1);
  UpdatedGaussian q(normal_numbers(d, 1, 2).col(0), std::make_shared<Matrix>(v));
  const Vector mean = q.mean();
  Matrix a = v.inverse();
  Vector h = a * mean;
  double gains = 0.0;
  double evidence = 0.0;
  Matrix all(0, d);
  Vector values(0);
  for (int step = 0; step < 4; ++step) {
    const Matrix rows = normal_numbers(3, d, 10 + static_cast<std::uint64_t>(step)).rowwise().normalized();
    const Vector y = normal_numbers(3, 1, 20 + static_cast<std::uint64_t>(step)).col(0);
    EXPECT_NEAR(q.gain(rows.transpose(), variance), dense_gain(a.inverse(), rows, variance), 1e-9);
    const UpdatedGaussian::Step taken = q.measure(rows.transpose(), y, variance);
    q.take(taken);
    gains += taken.gain;
    evidence += taken.log_density;
    a += rows.transpose() * rows / variance;
    h += rows.transpose() * y / variance;
    all.conservativeResize(all.rows() + 3, d);
    all.bottomRows(3) = rows;
    values.conservativeResize(all.rows());
    values.tail(3) = y;
  }
  const Matrix truth = a.inverse();
  EXPECT_LT((q.mean() - truth * h).norm(), 1e-9);
  EXPECT_LT((q.variances() - truth.diagonal()).norm(), 1e-9);
  EXPECT_LT((*q.covariance() - truth).norm(), 1e-9);
  EXPECT_LT((q.times(Matrix::Identity(d, d)) - truth).norm(), 1e-9);
  // The gains are what entropies fall by, and the densities those of all values at once.
  EXPECT_NEAR(gains, 0.5 * (log_det(v) - log_det(truth)), 1e-9);
  const Matrix s = all * v * all.transpose() + variance * Matrix::Identity(all.rows(), all.rows());
  const Vector misfit = values - all * mean;
  EXPECT_NEAR(evidence,
              -0.5 * misfit.dot(s.ldlt().solve(misfit)) - 0.5 * log_det(s) -
                  0.5 * static_cast<double>(all.rows()) * std::log(2.0 * std::numbers::pi),
              1e-9);
}

TEST(LeadingSpace, FindsTheLargestEigenvaluesAlsoWhereTheyCoincide) {
  for (const double rate : {0.0, 0.02, 0.5}) {
    Vector values = decaying(80, rate);
    if (rate == 0.5) values.head(4).setConstant(2.0);
    const Matrix v = with_spectrum(values, 4);
    for (const Index count : {1, 3}) {
      const LeadingSpace found = space_of(v, count, 5);
      EXPECT_TRUE(found.converged) << rate;
      for (Index k = 0; k < count; ++k) {
        EXPECT_NEAR(found.values(k), values(k), 1e-3 * values(k)) << rate;
        EXPECT_NEAR(found.vectors.col(k).norm(), 1.0, 1e-14);
        Index largest = 0;
        found.vectors.col(k).cwiseAbs().maxCoeff(&largest);
        EXPECT_GT(found.vectors(largest, k), 0.0);
      }
      const Matrix q = found.vectors;
      EXPECT_LT((q.transpose() * q - Matrix::Identity(count, count)).norm(), 1e-8);
    }
  }
}

/// Q diag(values) Q' x for a Q of three reflections, each as long as x.
class ReflectedSpectrum {
 public:
  ReflectedSpectrum(Vector values, std::uint64_t seed)
      : values_(std::move(values)), mirrors_(normal_numbers(values_.size(), 3, seed).colwise().normalized()) {}

  [[nodiscard]] Matrix times(const Matrix& x) const {
    Matrix out = x;
    for (Index k = 0; k < mirrors_.cols(); ++k) reflect(k, out);
    out = values_.asDiagonal() * out;
    for (Index k = mirrors_.cols(); k-- > 0;) reflect(k, out);
    return out;
  }
  [[nodiscard]] double quadratic(const Vector& x) const { return x.dot(times(x).col(0)); }

 private:
  void reflect(Index k, Matrix& x) const { x -= 2.0 * mirrors_.col(k) * (mirrors_.col(k).transpose() * x); }

  Vector values_;
  Matrix mirrors_;
};

LeadingSpace space_of(const ReflectedSpectrum& v, Index size, Index count, Index most) {
  Random random(11);
  const auto fresh = [&] {
    Vector out(size);
    for (double& x : out) x = random.normal();
    return out;
  };
  Matrix start(size, count);
  for (Index k = 0; k < count; ++k) start.col(k) = fresh();
  return leading_space([&](const Matrix& x) { return v.times(x); }, start, 1e-3, most, fresh);
}

/// Spectra without a gap at the top, largest first.
std::vector<Vector> spectra_without_gap(Index size) {
  Vector power(size);
  for (Index i = 0; i < size; ++i) power(i) = std::pow(static_cast<double>(i + 1), -0.25);
  // Of a sparse signal after a few measurements: most weights as wide as before.
  Vector measured = Vector::LinSpaced(size, 0.08, 0.078);
  measured.tail(size / 6).setConstant(0.004);
  return {Vector::Ones(size),
          Vector::LinSpaced(size, 1.0, 0.999),
          Vector::LinSpaced(size, 1.0, 1e-3),
          decaying(size, 0.01),
          power,
          measured};
}

TEST(LeadingSpace, SpectraOfSixHundredWithoutAGap) {
  const Index d = 600;
  const double variance = 0.005;
  for (const Vector& values : spectra_without_gap(d)) {
    const ReflectedSpectrum v(values, 6);
    const LeadingSpace one_row = space_of(v, d, 1, 100);
    const Vector row = eigen_rows(one_row).row(0);
    EXPECT_NEAR(0.5 * std::log1p(v.quadratic(row) / variance), 0.5 * std::log1p(values(0) / variance), 1e-3);
    // Three rows one at a time: a measured eigenvector keeps what the noise leaves of it.
    const Matrix greedy = greedy_rows(space_of(v, d, 3, 180), variance);
    const Matrix seen = greedy * v.times(greedy.transpose());
    Vector left = values;
    double best = 0.0;
    for (int k = 0; k < 3; ++k) {
      Index top = 0;
      best += 0.5 * std::log1p(left.maxCoeff(&top) / variance);
      left(top) *= variance / (variance + left(top));
    }
    EXPECT_NEAR(0.5 * log_det(Matrix::Identity(3, 3) + seen / variance), best, 3e-3);
  }
}

TEST(LeadingSpace, EndsAtItsMostColumnsAndSaysSo) {
  const Index d = 600;
  const ReflectedSpectrum v(Vector::LinSpaced(d, 1.0, 1e-3), 6);
  double before = 0.0;
  for (const Index most : {4, 8, 16}) {
    const LeadingSpace found = space_of(v, d, 2, most);
    EXPECT_FALSE(found.converged);
    EXPECT_EQ(found.basis.cols(), most);
    EXPECT_EQ(found.products, most);
    // What was found is a part of the space: rows of unit norm whose values grow with the columns, and stay below.
    for (Index k = 0; k < 2; ++k) {
      EXPECT_NEAR(found.vectors.col(k).norm(), 1.0, 1e-14);
      EXPECT_NEAR(v.quadratic(found.vectors.col(k)), found.values(k), 1e-12);
      EXPECT_LT(found.values(k), 1.0);
    }
    EXPECT_GT(found.values(0), before);
    before = found.values(0);
  }
}

TEST(Directions, GreedyNeverGainsLessThanEigenAndFollowsTheDenseChoice) {
  Random random(8);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Index d = 12 + static_cast<Index>(random.uniform() * 30.0);
    const Index count = 1 + static_cast<Index>(seed % 4);
    const double variance = std::exp(-8.0 * random.uniform());
    const Matrix v = with_spectrum(decaying(d, 1.5 * random.uniform() * random.uniform()), seed + 100);
    const LeadingSpace space = space_of(v, count, seed);
    const Matrix eigen = eigen_rows(space);
    const Matrix greedy = greedy_rows(space, variance);
    EXPECT_LT((greedy.rowwise().norm() - Vector::Ones(count)).norm(), 1e-12);
    const double gain = dense_gain(v, greedy, variance);
    EXPECT_GE(gain, dense_gain(v, eigen, variance) - 1e-3) << seed;
    // Eigenvectors of dense matrices, one at a time.
    Matrix left = v;
    double best = 0.0;
    for (Index k = 0; k < count; ++k) {
      const Eigen::SelfAdjointEigenSolver<Matrix> dense(left);
      const double value = dense.eigenvalues()(d - 1);
      const Vector x = dense.eigenvectors().col(d - 1);
      best += 0.5 * std::log1p(value / variance);
      left -= left * x * x.transpose() * left / (variance + value);
    }
    EXPECT_NEAR(gain, best, 1e-3 * static_cast<double>(count)) << seed;
  }
}

TEST(Directions, GreedyOfTheWorkedExample) {
  const Vector values = (Vector(3) << 1.0, 0.004, 0.003).finished();
  const Matrix v = values.asDiagonal();
  const LeadingSpace space = space_of(v, 3, 1);
  EXPECT_NEAR(dense_gain(v, eigen_rows(space), 0.005), 3.1805, 1e-4);
  EXPECT_NEAR(dense_gain(v, greedy_rows(space, 0.005), 0.005), 3.2909, 1e-4);
}

/// Scores all candidates at every choice.
std::vector<Index> full_scoring(const CandidateRows& candidates, const Matrix& covariance, double variance,
                                Index count) {
  const Matrix rows = candidates.rows.columns(0, candidates.rows.cols());
  Matrix v = covariance;
  std::vector<Index> out;
  for (Index k = 0; k < count; ++k) {
    Index best = -1;
    double best_gain = -1.0;
    for (Index group = 0; group < candidates.count(); ++group) {
      if (!candidates.repeats && std::find(out.begin(), out.end(), group) != out.end()) continue;
      const Matrix x = rows(group_rows(candidates, group), Eigen::all);
      const double gain = dense_gain(v, x, variance);
      if (gain > best_gain + 1e-12) {
        best = group;
        best_gain = gain;
      }
    }
    out.push_back(best);
    const Matrix x = rows(group_rows(candidates, best), Eigen::all);
    const Matrix g = v * x.transpose();
    v -= g * (x * g + variance * Matrix::Identity(x.rows(), x.rows())).inverse() * g.transpose();
  }
  return out;
}

TEST(CandidateScores, LazyGreedyIsFullScoring) {
  const Index d = 30;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Matrix v = with_spectrum(decaying(d, 0.2), seed);
    CandidateRows candidates{normal_numbers(120, d, seed + 50)};
    if (seed % 2 == 1) {
      candidates.groups.resize(24);
      for (Index row = 0; row < 120; ++row) candidates.groups[static_cast<std::size_t>(row * 7 % 24)].push_back(row);
    }
    candidates.repeats = seed % 4 >= 2;
    std::vector<char> taken(static_cast<std::size_t>(candidates.count()), 0);
    CandidateScores scores(candidates, candidates.rows, v, 0.05, taken);
    std::vector<Index> lazy;
    double gains = 0.0;
    for (int k = 0; k < 15; ++k) {
      const CandidateScores::Choice choice = scores.choose();
      lazy.push_back(choice.group);
      gains += choice.gain;
    }
    EXPECT_EQ(lazy, full_scoring(candidates, v, 0.05, 15)) << seed;
    EXPECT_LT(scores.rescored(), 15 * candidates.count());
    std::vector<Index> rows;
    for (const Index group : lazy)
      for (const Index row : group_rows(candidates, group)) rows.push_back(row);
    const Matrix all = candidates.rows.columns(0, d)(rows, Eigen::all);
    EXPECT_NEAR(gains, dense_gain(v, all, 0.05), 1e-8);
  }
}

TEST(CandidateScores, OperatorsAreScoredAsTheirRows) {
  const Grid grid{.height = 4, .width = 8};
  const FrequencyMask all = FrequencyMask::Constant(4, 8, true);
  const Design lines = subsampled_fourier(grid, all);
  CandidateRows candidates{lines};
  candidates.groups.resize(4);
  for (Index k = 0; k < 32; ++k)
    for (const Index row : {k, 32 + k}) candidates.groups[static_cast<std::size_t>(k / 8)].push_back(row);
  const Matrix v = with_spectrum(decaying(32, 0.1), 3);
  CandidateRows dense = candidates;
  dense.rows = lines.with_entries();
  const std::vector<char> taken(4, 0);
  CandidateScores by_operator(candidates, dense.rows, v, 0.1, taken);
  const std::vector<Index> truth = full_scoring(dense, v, 0.1, 3);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(by_operator.choose().group, truth[static_cast<std::size_t>(k)]);
}

TEST(DesignSession, RefitsAreFreshFitsAndUpdatesHoldTheSites) {
  const Index d = 40;
  const Vector truth = sparse_truth(d);
  const Model model = signal(d);
  DesignOptions options{.noise_variance = 0.02, .rule = DesignRule::greedy, .refit = 3};
  DesignSession session(model, Kl{}, options);
  session.observe(random_rows(10, d, 1, 0), random_rows(10, d, 1, 0) * truth);
  const Matrix start = session.covariance_times(Matrix::Identity(d, d));
  const Vector mean = session.belief().mean;
  const double evidence = session.belief().log_evidence.value;
  Matrix measured(0, d);
  for (int step = 0; step < 2; ++step) {
    const MeasurementProposal proposal = session.propose(2);
    EXPECT_NEAR(proposal.gain, session.gain(proposal.rows), 1e-12);
    EXPECT_EQ(session.propose(2).rows, proposal.rows);
    session.observe(proposal.rows * truth);
    measured.conservativeResize(measured.rows() + 2, d);
    measured.bottomRows(2) = proposal.rows;
  }
  EXPECT_EQ(session.state().fitted, 10);
  // Sites held: one update of the Gaussian that the fit left.
  const Matrix a = start.inverse() + measured.transpose() * measured / 0.02;
  const Vector moved = a.inverse() * (start.inverse() * mean + measured.transpose() * (measured * truth) / 0.02);
  EXPECT_LT((session.belief().mean - moved).norm(), 1e-9);
  EXPECT_LT((session.belief().variance - a.inverse().diagonal()).norm(), 1e-9);
  EXPECT_LT((session.belief().latent.variance - a.inverse().diagonal()).norm(), 1e-9);
  EXPECT_LT((session.belief().latent.mean - moved).norm(), 1e-9);
  const Matrix s = measured * start * measured.transpose() + 0.02 * Matrix::Identity(4, 4);
  const Vector misfit = measured * (truth - mean);
  EXPECT_NEAR(session.belief().log_evidence.value - evidence,
              -0.5 * misfit.dot(s.ldlt().solve(misfit)) - 0.5 * log_det(s) - 2.0 * std::log(2.0 * std::numbers::pi),
              1e-9);
  // The third step is a fit of everything.
  session.observe(session.propose(2).rows * truth);
  EXPECT_EQ(session.state().fitted, 16);
  MeasuredRows all{session.state().rows, session.state().values, 0.02};
  const Posterior fresh = infer(with_measurements(model, all), Kl{});
  EXPECT_NEAR(session.belief().log_evidence.value, fresh.log_evidence().value, 1e-6);
  EXPECT_LT((session.belief().mean - fresh.weights().mean).norm(), 1e-6);
}

TEST(DesignSession, AStateGoesOnBitForBit) {
  const Index d = 36;
  const Grid grid{.height = 6, .width = 6};
  Model model = signal(d);
  model.design = stacked({finite_differences(grid), from_matrix(SparseMatrix(Matrix::Identity(d, d).sparseView()))});
  model.sites = {observe("laplace", Vector::Zero(96), {{"scale", one(0.3)}})};
  for (const DesignRule rule : {DesignRule::greedy, DesignRule::eigen, DesignRule::random})
    for (const bool candidates : {false, true}) {
      DesignOptions options{.noise_variance = 0.02, .rule = rule, .refit = 3};
      if (candidates) options.candidates = CandidateRows{random_rows(60, d, 9, 0)};
      const MeasurementSimulation simulation{sparse_truth(d), 8, 11, 2};
      std::vector<MeasurementState> states;
      DesignSession whole(model, Vb{}, options);
      simulate_design(whole, simulation, 0, [&](const MeasurementState& state) {
        states.push_back(state);
        return Next::proceed;
      });
      ASSERT_EQ(states.size(), 12U);
      EXPECT_EQ(whole.state().measurements(), candidates ? 8 + 22 : 30);
      for (const std::size_t at : {0U, 1U, 2U, 3U, 7U}) {
        DesignSession again(model, Vb{}, options, {}, states[at]);
        simulate_design(again, simulation, 0);
        EXPECT_EQ(again.state().rows, whole.state().rows);
        EXPECT_EQ(again.state().values, whole.state().values);
        EXPECT_EQ(again.state().taken, whole.state().taken);
        EXPECT_EQ(again.state().iterations, whole.state().iterations);
        ASSERT_EQ(again.state().curve.size(), whole.state().curve.size());
        for (std::size_t k = 0; k < states.size(); ++k) {
          EXPECT_EQ(again.state().curve[k].error, whole.state().curve[k].error);
          EXPECT_EQ(again.state().curve[k].log_evidence, whole.state().curve[k].log_evidence);
          EXPECT_EQ(again.state().curve[k].gain, whole.state().curve[k].gain);
        }
      }
      if (candidates) {
        std::vector<Index> taken = whole.state().taken;
        std::sort(taken.begin(), taken.end());
        EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end()), taken.end());
      }
    }
}

TEST(DesignSession, RowsDrawnForAStartAreNotTheRulesOwn) {
  const Index d = 20;
  DesignSession session(signal(d), Kl{}, {.noise_variance = 0.02});
  const Matrix drawn = session.propose_at_random(2).rows;
  EXPECT_EQ(session.propose_at_random(2).rows, drawn);
  const MeasurementProposal chosen = session.propose(2);
  EXPECT_GT(chosen.gain, 0.0);
  EXPECT_GT((chosen.rows - drawn).norm(), 0.1);
  EXPECT_EQ(session.propose(2).rows, chosen.rows);
  EXPECT_EQ(session.propose_at_random(2).rows, drawn);
}

TEST(DesignSession, NoiseTooSmallForTheFitIsNamed) {
  const Index d = 12;
  for (const Method& method : {Method(Kl{}), Method(Vb{}), Method(Ep{})}) {
    DesignSession session(signal(d), method, {.noise_variance = 1e-40});
    const Matrix rows = random_rows(5, d, 1, 0);
    session.observe(rows, rows * sparse_truth(d));
    try {
      (void)session.belief();
      FAIL() << name_of(method);
    } catch (const InvalidOption& error) {
      EXPECT_NE(std::string(error.what()).find("the noise variance 1e-40 is too small"), std::string::npos)
          << error.what();
    }
  }
  // Rows that say nothing about a weight are another matter.
  Model model = signal(5);
  model.prior = NoGaussian{d};
  model.design = Matrix(Matrix::Identity(5, d));
  DesignSession session(model, Kl{}, {.noise_variance = 1e-4});
  session.observe(Matrix(Matrix::Identity(1, d)), Vector::Ones(1));
  EXPECT_THROW((void)session.belief(), InvalidModel);
}

TEST(DesignSession, DesignedRowsGainMoreThanRandomOnes) {
  const Index d = 50;
  DesignSession session(signal(d), Ep{.power = 0.9}, {.noise_variance = 0.02});
  session.observe(random_rows(10, d, 1, 0), random_rows(10, d, 1, 0) * sparse_truth(d));
  const double designed = session.propose(3).gain;
  for (Index k = 0; k < 20; ++k) EXPECT_LT(session.gain(random_rows(3, d, 2, 100 * k)), designed);
}

TEST(DesignSession, RefusesWhatCannotBe) {
  const Index d = 10;
  const Model model = signal(d);
  const auto refuses = [&](const DesignOptions& options, const char* says) {
    try {
      DesignSession session(model, Kl{}, options);
      FAIL() << says;
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refuses({.noise_variance = 0.0}, "noise variance is 0");
  refuses({.noise_variance = 1e-101}, "noise variance is 1e-101; a number from 1e-100 to 1e+100 is accepted");
  refuses({.noise_variance = 1e101}, "noise variance is 1e+101");
  refuses({.noise_variance = std::numeric_limits<double>::quiet_NaN()}, "noise variance");
  refuses({.noise_variance = 1.0, .refit = 0}, "refit is 0");
  refuses({.candidates = CandidateRows{normal_numbers(4, 9, 1)}}, "rows of 9 numbers");
  Matrix rows = normal_numbers(4, d, 1);
  rows.row(2).setZero();
  refuses({.candidates = CandidateRows{rows}}, "row 2 has length zero");
  rows(2, 1) = std::numeric_limits<double>::infinity();
  refuses({.candidates = CandidateRows{rows}}, "not a finite number");
  refuses({.candidates = CandidateRows{normal_numbers(4, d, 1), {{0, 1}, {1, 2, 3}}}}, "comes twice");
  refuses({.candidates = CandidateRows{normal_numbers(4, d, 1), {{0, 1}}}}, "row 2 is in no group");
  DesignSession session(model, Kl{}, {.candidates = CandidateRows{normal_numbers(4, d, 1)}});
  EXPECT_THROW(session.observe(Vector::Ones(1)), InvalidModel);
  EXPECT_THROW(session.propose(5), InvalidOption);
  EXPECT_EQ(session.propose(4).rows.rows(), 4);
  EXPECT_THROW(session.observe(Vector::Ones(3)), InvalidModel);
  session.observe(Vector::Ones(4));
  EXPECT_THROW(session.propose(1), InvalidOption);
  EXPECT_THROW(session.observe(Matrix::Ones(1, 9), Vector::Ones(1)), InvalidModel);
  EXPECT_THROW(session.observe(Matrix::Ones(1, d), Vector::Constant(1, std::nan(""))), InvalidModel);
  EXPECT_THROW(DesignSession(model, NoUTurn{}, {}), InvalidOption);
  MeasurementState state = session.state();
  state.fitted = 2;
  EXPECT_THROW(DesignSession(model, Kl{}, {}, {}, state), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
