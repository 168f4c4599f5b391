// Class probabilities against plain sums, closed forms, plain Monte Carlo, and one rule against the other.

#include "numerics/class_probabilities.hpp"
#include "gaussmith/random.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>
#include <vector>

namespace gaussmith {
namespace {

struct Latents {
  Vector mean;
  Matrix covariance;
};

Latents random_latents(Index classes, double variance, Random& random) {
  Matrix root(classes, classes);
  for (Index i = 0; i < root.size(); ++i) root.data()[i] = random.normal();
  Latents f{Vector(classes), variance / static_cast<double>(classes) * root * root.transpose()};
  for (double& m : f.mean) m = random.normal();
  return f;
}

struct Answer {
  Vector probability;
  double error = 0.0;
};
Answer answer(ClassLink link, const Latents& f, const ProbabilityGoal& options) {
  Answer a{Vector(f.mean.size())};
  class_probabilities(link, f.mean.size(), view(f.mean),
                      {f.covariance.data(), static_cast<std::size_t>(f.covariance.size())}, options,
                      view(a.probability), {&a.error, 1});
  return a;
}

double distance(const Vector& a, const Vector& b) { return (a - b).cwiseAbs().maxCoeff(); }

TEST(ClassProbabilities, TwoClassesAreTheBinaryIntegral) {
  for (const double variance : {1e-8, 0.5, 9.0, 1e4}) {
    const Latents f{Vector{{0.3, 1.1}}, variance * Matrix{{1.0, 0.2}, {0.2, 0.6}}};
    const double sd = std::sqrt(variance * 1.2);
    double expected = 0.0;
    const double step = std::min(0.05, 0.5 / sd);
    for (double z = -9.0; z < 9.0; z += step)
      expected += sigmoid(0.8 + sd * z) * std::exp(-0.5 * z * z - log_sqrt_two_pi);
    EXPECT_NEAR(answer(ClassLink::logit, f, {}).probability(1), expected * step, 1e-9);
    EXPECT_NEAR(answer(ClassLink::probit, f, {}).probability(1), ndtr(0.8 / std::sqrt(2.0 + 1.2 * variance)), 1e-12);
  }
}

TEST(ClassProbabilities, ThreeClassesAreThoseOfAPlainSum) {
  Random random(51);
  for (const double variance : {0.1, 4.0}) {
    const Latents f = random_latents(3, variance, random);
    const Matrix root = f.covariance.llt().matrixL();
    Vector expected = Vector::Zero(3);
    constexpr double step = 0.2;
    double total = 0.0;
    for (int i = -35; i <= 35; ++i)
      for (int j = -35; j <= 35; ++j)
        for (int k = -35; k <= 35; ++k) {
          const Vector z = step * Vector{{double(i), double(j), double(k)}};
          const double weight = std::exp(-0.5 * z.squaredNorm());
          Vector p = (f.mean + root * z).array().exp();
          expected += weight / p.sum() * p;
          total += weight;
        }
    const Answer found = answer(ClassLink::logit, f, {});
    EXPECT_LE(distance(found.probability, expected / total), 1e-9);
    EXPECT_LE(found.error, 1e-9);
    EXPECT_NEAR(answer(ClassLink::probit, f, {}).probability.sum(), 1.0, 1e-12);
  }
}

TEST(ClassProbabilities, StatedErrorsHold) {
  Random random(52);
  for (const ClassLink link : {ClassLink::logit, ClassLink::probit})
    for (const double variance : {1e-2, 1.0, 1e2}) {
      int held = 0;
      for (int trial = 0; trial < 100; ++trial) {
        const Latents f = random_latents(3, variance, random);
        const auto seed = static_cast<std::uint64_t>(trial);
        const Answer by_points =
            answer(link, f, {.rule = ProbabilityRule::qmc, .tolerance = 1e-2, .seed = seed, .threads = 1});
        EXPECT_LE(by_points.error, 1e-2);
        held += distance(by_points.probability, answer(link, f, {}).probability) <= by_points.error ? 1 : 0;
      }
      EXPECT_GE(held, 95) << variance;
    }
}

/// A random covariance that turning the classes does not change: with equal means they are equally likely.
Latents turning_latents(Index classes, double variance, Random& random) {
  Vector first(classes);
  for (double& x : first) x = random.normal();
  Matrix root(classes, classes);
  for (Index i = 0; i < classes; ++i)
    for (Index j = 0; j < classes; ++j) root(i, j) = first((j - i + classes) % classes);
  return {Vector::Zero(classes), variance / first.squaredNorm() * root * root.transpose()};
}

TEST(ClassProbabilities, StatedErrorsOfManyClassesHold) {
#ifdef GAUSSMITH_INSTRUMENTED
  const std::vector<Index> counts{5, 10};  // Fifty take minutes under sanitizers.
#else
  const std::vector<Index> counts{5, 10, 50};
#endif
  Random random(56);
  for (const ClassLink link : {ClassLink::logit, ClassLink::probit})
    for (const Index classes : counts)
      for (const double variance : {1e-2, 1.0, 1e2}) {
        int held = 0;
        constexpr int trials = 40;
        for (int trial = 0; trial < trials; ++trial) {
          const Latents f = turning_latents(classes, variance, random);
          const Answer found =
              answer(link, f, {.tolerance = 1e-2, .seed = static_cast<std::uint64_t>(trial), .threads = 1});
          EXPECT_LE(found.error, 1e-2);
          held +=
              distance(found.probability, Vector::Constant(classes, 1.0 / static_cast<double>(classes))) <= found.error
                  ? 1
                  : 0;
        }
        EXPECT_GE(held, 38) << classes << " classes, variance " << variance;
      }
}

TEST(ClassProbabilities, StatedErrorsHoldWhereNoClassIsLikeAnother) {
  Random random(58);
  for (const ClassLink link : {ClassLink::logit, ClassLink::probit})
    for (const Index classes : {4, 6}) {
      int held = 0;
      constexpr int trials = 200;
      for (int trial = 0; trial < trials; ++trial) {
        const Latents f = random_latents(classes, trial % 2 == 0 ? 1.0 : 9.0, random);
        const auto seed = static_cast<std::uint64_t>(trial);
        const Answer found = answer(link, f, {.tolerance = 1e-2, .seed = seed, .threads = 1});
        const double sharper = std::max(0.1 * found.error, 3e-5);
        const Answer reference = answer(link, f, {.tolerance = sharper, .seed = seed + trials, .threads = 1});
        held += distance(found.probability, reference.probability) <= found.error + reference.error ? 1 : 0;
      }
      EXPECT_GE(held, trials * 95 / 100) << classes << " classes";
    }
}

TEST(ClassProbabilities, SinglePrecisionAgreesWithDouble) {
  // Tolerances below 2e-5 are served in double precision by other rules.
  Random random(57);
  for (const ClassLink link : {ClassLink::logit, ClassLink::probit})
    for (const Index classes : {4, 7})
      for (const double variance : {0.1, 2.0}) {
        const Latents f = random_latents(classes, variance, random);
        const Answer single = answer(link, f, {.tolerance = 1e-4, .seed = 3});
        const Answer other = answer(link, f, {.tolerance = 1.9e-5, .seed = 4});
        EXPECT_LE(single.error, 1e-4);
        EXPECT_LE(distance(single.probability, other.probability), single.error + other.error);
        EXPECT_NEAR(single.probability.sum(), 1.0, 1e-9);
      }
}

TEST(ClassProbabilities, SingularCovariancesOfTheProbitAreOrthantsToo) {
  // One direction for all: a chance is an integral over one variable.
  const Vector mean{{0.5, 0.0, -0.5, 0.2}};
  const Vector along{{2.0, -1.0, 0.5, 1.0}};
  Vector expected = Vector::Zero(4);
  for (double z = -8.0; z < 8.0; z += 0.05) {
    const double weight = 0.05 * std::exp(-0.5 * z * z - log_sqrt_two_pi);
    for (double x = -14.0; x < 14.0; x += 0.05)
      for (Index c = 0; c < 4; ++c) {
        double chance = weight * 0.05 * std::exp(-0.5 * std::pow(x - mean(c) - z * along(c), 2) - log_sqrt_two_pi);
        for (Index k = 0; k < 4; ++k)
          if (k != c) chance *= ndtr(x - mean(k) - z * along(k));
        expected(c) += chance;
      }
  }
  const Answer found = answer(ClassLink::probit, {mean, along * along.transpose()}, {});
  EXPECT_LE(found.error, 1e-4);
  EXPECT_LE(distance(found.probability, expected), found.error);
}

TEST(ClassProbabilities, IndependentLatentsNeedNoPoints) {
  // One latent that differs: its chance is an integral in closed form but for one variable.
  const Latents f{Vector{{1.0, 0.0, 0.0, 0.0, 0.0}}, Matrix(Vector{{9.0, 1.0, 1.0, 1.0, 1.0}}.asDiagonal())};
  double largest = 0.0;
  for (double x = -40.0; x < 40.0; x += 0.01)
    largest += 0.01 * std::exp(-0.05 * (x - 1.0) * (x - 1.0) - log_sqrt_two_pi) / std::sqrt(10.0) *
               std::pow(ndtr(x / std::sqrt(2.0)), 4);
  const Answer found = answer(ClassLink::probit, f, {});
  EXPECT_NEAR(found.probability(0), largest, 1e-6);
  EXPECT_LE(found.error, 1e-5);
}

TEST(ClassProbabilities, WideIndependentLatentsAreTheirLargest) {
  // The softmax is the largest but where two are within a few of each other.
  for (const double spread : {100.0, 1e3, 1e4}) {
    const Vector mean = spread * Vector{{0.4, -0.3, 0.0, 0.6, -0.1}};
    const Vector sd = spread * Vector{{1.0, 1.5, 1.2, 1.0, 1.4}};
    Vector expected = Vector::Zero(5);
    const double step = 0.01 * spread;
    for (double x = -10.0 * spread; x < 12.0 * spread; x += step)
      for (Index c = 0; c < 5; ++c) {
        const double z = (x - mean(c)) / sd(c);
        double chance = std::exp(-0.5 * z * z - log_sqrt_two_pi) / sd(c) * step;
        for (Index k = 0; k < 5; ++k) chance *= k == c ? 1.0 : ndtr((x - mean(k)) / sd(k));
        expected(c) += chance;
      }
    const Answer found = answer(ClassLink::logit, {mean, Matrix(sd.cwiseAbs2().asDiagonal())}, {});
    EXPECT_LE(distance(found.probability, expected), found.error + 3.0 / (spread * spread)) << spread;
    EXPECT_LE(found.error, 1e-4) << spread;
  }
}

TEST(ClassProbabilities, ManyClassesAreThoseOfMonteCarlo) {
  Random random(53);
  for (const Index classes : {10, 50}) {
    const Latents f = random_latents(classes, 4.0, random);
    const Matrix root = (f.covariance + 1e-12 * Matrix::Identity(classes, classes)).llt().matrixL();
    constexpr int draws = 20000;
    Vector softmax = Vector::Zero(classes), largest = Vector::Zero(classes);
    Vector z(classes);
    for (int draw = 0; draw < draws; ++draw) {
      for (double& x : z) x = random.normal();
      const Vector latent = f.mean + root * z;
      const Vector p = (latent.array() - latent.maxCoeff()).exp();
      softmax += p / (p.sum() * draws);
      Vector noisy = latent;
      for (double& x : noisy) x += random.normal();
      Index top = 0;
      noisy.maxCoeff(&top);
      largest(top) += 1.0 / draws;
    }
    const double spread = 5.0 * std::sqrt(0.25 / draws);
    const Answer logit = answer(ClassLink::logit, f, {.tolerance = 2e-3});
    EXPECT_LE(distance(logit.probability, softmax), spread);
    EXPECT_NEAR(logit.probability.sum(), 1.0, 1e-9);
    const Answer probit = answer(ClassLink::probit, f, {.tolerance = 5e-3});
    EXPECT_LE(distance(probit.probability, largest), spread);
    EXPECT_NEAR(probit.probability.sum(), 1.0, 2e-6);
  }
}

TEST(ClassProbabilities, EqualVariancesOfTheProbitNeedNoPoints) {
  const Latents f{Vector::Zero(8), 25.0 * Matrix::Identity(8, 8)};
  const Answer found = answer(ClassLink::probit, f, {});
  EXPECT_LE(distance(found.probability, Vector::Constant(8, 0.125)), 1e-6);
  EXPECT_LE(found.error, 2e-6);
}

TEST(ClassProbabilities, SmallerTolerancesBuySmallerErrors) {
  Random random(54);
  const Latents f = random_latents(6, 1.0, random);
  const Answer rough = answer(ClassLink::logit, f, {.tolerance = 1e-3});
  const Answer fine = answer(ClassLink::logit, f, {.tolerance = 1e-4});
  EXPECT_LE(rough.error, 1e-3);
  EXPECT_LE(fine.error, 1e-4);
  EXPECT_LE(distance(rough.probability, fine.probability), rough.error + fine.error);
}

TEST(ClassProbabilities, ASeedFixesEveryByteAtAnyNumberOfThreads) {
  Random random(55);
  constexpr Index classes = 5, rows = 70;
  Vector mean(rows * classes), covariance(rows * classes * classes);
  for (Index n = 0; n < rows; ++n) {
    const Latents f = random_latents(classes, 2.0, random);
    mean.segment(n * classes, classes) = f.mean;
    covariance.segment(n * classes * classes, classes * classes) = f.covariance.reshaped();
  }
  const auto run = [&](int threads, std::uint64_t seed) {
    Vector probability(rows * classes), error(rows);
    class_probabilities(ClassLink::logit, classes, view(mean), view(covariance),
                        {.tolerance = 1e-2, .seed = seed, .threads = threads}, view(probability), view(error));
    return probability;
  };
  const Vector one = run(1, 9);
  EXPECT_EQ(one, run(2, 9));
  EXPECT_EQ(one, run(3, 9));
  EXPECT_NE(one, run(1, 10));
}

}  // namespace
}  // namespace gaussmith
