// The softmax row against long-hand sums and differences.

#include "sites/softmax.hpp"
#include "sites/helpers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gaussmith::testing {
namespace {

struct Row {
  explicit Row(Index classes) : first(classes), second(classes, classes) {}
  double value = 0.0;
  Vector first;
  Matrix second;
};

Row softmax_row(Index label, const Vector& eta) {
  Row row(eta.size());
  row.value = softmax_log_density(label, view(eta), view(row.first),
                                  {row.second.data(), static_cast<std::size_t>(row.second.size())});
  return row;
}

const std::vector<Vector>& latents() {
  static const std::vector<Vector> all = {Vector{{0.3, -1.2}}, Vector{{0.5, 2.0, -0.7, 0.1}}, Vector{{1.0, 1.0, 1.0}},
                                          Vector{{-3.0, 4.0, 4.5, -0.5, 2.0, 0.0}}};
  return all;
}

TEST(Softmax, ValueAndDerivativesAreThoseOfTheFormula) {
  for (const Vector& eta : latents())
    for (Index y = 0; y < eta.size(); ++y) {
      const Row row = softmax_row(y, eta);
      EXPECT_NEAR(row.value, eta(y) - std::log(eta.array().exp().sum()), 1e-14);
      EXPECT_EQ(softmax_log_density(y, view(eta)), row.value);
      for (Index k = 0; k < eta.size(); ++k) {
        const auto at = [&](double x) {
          Vector moved = eta;
          moved(k) = x;
          return softmax_row(y, moved);
        };
        EXPECT_NEAR(row.first(k), difference([&](double x) { return at(x).value; }, eta(k), 1e-3), 1e-10);
        for (Index j = 0; j < eta.size(); ++j)
          EXPECT_NEAR(row.second(j, k), difference([&](double x) { return at(x).first(j); }, eta(k), 1e-3), 1e-10);
      }
    }
}

TEST(Softmax, SmallNumbersKeepTheirDigits) {
  const double tiny = std::exp(-40.0);
  const Row sure = softmax_row(0, Vector{{40.0, 0.0, 0.0}});
  EXPECT_NEAR(sure.value / (-2.0 * tiny), 1.0, 1e-14);
  EXPECT_NEAR(sure.first(0) / (2.0 * tiny), 1.0, 1e-14);
  EXPECT_NEAR(sure.second(0, 0) / (-2.0 * tiny), 1.0, 1e-14);
  EXPECT_NEAR(sure.second(1, 2) / (tiny * tiny), 1.0, 1e-13);
  const Row wrong = softmax_row(2, Vector{{1e3, 0.0, -1e3}});
  EXPECT_EQ(wrong.value, -2e3);
  EXPECT_EQ(wrong.first, (Vector{{-1.0, 0.0, 1.0}}));
  EXPECT_TRUE(wrong.second.allFinite());
}

TEST(Softmax, CurvatureSlopeIsADifferenceOfTheHessian) {
  for (const Vector& eta : latents()) {
    const Index classes = eta.size();
    Matrix v(classes, classes);
    for (Index a = 0; a < classes; ++a)
      for (Index b = 0; b < classes; ++b) v(a, b) = std::cos(double((a + 1) * (b + 1))) + (a == b ? 2.0 : 0.0);
    Vector slope(classes);
    softmax_curvature_slope(view(eta), {v.data(), static_cast<std::size_t>(v.size())}, view(slope));
    for (Index k = 0; k < classes; ++k) {
      const auto traced = [&](double x) {
        Vector moved = eta;
        moved(k) = x;
        return softmax_row(0, moved).second.cwiseProduct(v).sum();
      };
      EXPECT_NEAR(slope(k), difference(traced, eta(k), 1e-3), 1e-9);
    }
    // A variance that all classes share is not seen, however large.
    Vector shared(classes);
    const Matrix wide = v.array() + 0x1p40;
    softmax_curvature_slope(view(eta), {wide.data(), static_cast<std::size_t>(v.size())}, view(shared));
    EXPECT_NEAR((slope - shared).cwiseAbs().maxCoeff(), 0.0, 1e-3);
    EXPECT_NEAR(shared.sum(), 0.0, 1e-12);
  }
}

TEST(Softmax, CurvatureSlopeOfASureClassIsSmallAndExact) {
  // Two classes: third derivative of -log(1 + e^-x) in x = eta_0 - eta_1 is e^-x for large x.
  const Vector eta{{50.0, 0.0}};
  const Matrix v = Matrix{{3.0, 1.0}, {1.0, 2.0}};
  Vector slope(2);
  softmax_curvature_slope(view(eta), {v.data(), 4}, view(slope));
  EXPECT_NEAR(slope(0) / (3.0 * std::exp(-50.0)), 1.0, 1e-13);
  EXPECT_EQ(slope(1), -slope(0));
}

}  // namespace
}  // namespace gaussmith::testing
