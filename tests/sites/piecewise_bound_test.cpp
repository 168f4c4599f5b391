// Piecewise bounds of log(1 + e^x): their errors, and sites made of them.

#include "gaussmith/errors.hpp"
#include "gaussmith/sites.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace gaussmith {
namespace {

double softplus_by_log(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

TEST(PiecewiseBound, ErrorsAsPublished) {
  constexpr std::array<std::pair<int, double>, 8> linear = {
      {{3, .2231}, {4, .1094}, {5, .0648}, {6, .0429}, {8, .0227}, {10, .0140}, {15, .00597}, {20, .00329}}};
  constexpr std::array<std::pair<int, double>, 8> quadratic = {
      {{3, .0510}, {4, .0330}, {5, .00948}, {6, .00742}, {8, .00276}, {10, .00131}, {15, 3.11e-4}, {20, 1.42e-4}}};
  for (const auto& [pieces, error] : linear)
    EXPECT_NEAR((PiecewiseBound{.quadratic = false, .pieces = pieces}.error()), error, 5e-3 * error);
  for (const auto& [pieces, error] : quadratic)
    EXPECT_NEAR((PiecewiseBound{.quadratic = true, .pieces = pieces}.error()), error, 5e-3 * error);
}

TEST(PiecewiseBound, LiesAboveByNoMoreThanItsErrorAndTouchesBoth) {
  for (const bool quadratic : {false, true})
    for (const int pieces : {3, 4, 7, 12, 20}) {
      const PiecewiseBound bound{quadratic, pieces};
      const PiecewiseQuadratic f = bound.sites();
      ASSERT_EQ(f.pieces.size(), static_cast<std::size_t>(pieces));
      const double error = bound.error();
      std::vector<double> largest(f.pieces.size(), 0.0);
      // The outermost pieces come to their error only where the logistic function is flat.
      for (double s = -20.0; s < 20.0; s += 1e-3) {
        const auto k =
            static_cast<std::size_t>(std::upper_bound(f.breaks.begin(), f.breaks.end(), s) - f.breaks.begin());
        const auto& p = f.pieces[k];
        const double below = -softplus_by_log(-s) - (p.constant + s * (p.slope + s * p.square));
        EXPECT_GE(below, -1e-14);
        EXPECT_LE(below, error * (1.0 + 1e-9));
        largest[k] = std::max(largest[k], below);
      }
      // One error for all pieces, to what steps of 1e-3 see.
      for (const double found : largest) EXPECT_NEAR(found, error, 0.01 * error);
    }
}

TEST(PiecewiseBound, TextAndCode) {
  const PiecewiseBound bound = PiecewiseBound::parse("quadratic:7");
  EXPECT_EQ(bound.text(), "quadratic:7");
  EXPECT_EQ(PiecewiseBound::from_code(bound.code()).text(), "quadratic:7");
  EXPECT_EQ(PiecewiseBound::from_code(PiecewiseBound::parse("linear:20").code()).text(), "linear:20");
  for (const char* wrong : {"quadratic:2", "linear:21", "cubic:5", "quadratic", "quadratic:5x", ""})
    EXPECT_THROW((void)PiecewiseBound::parse(wrong), InvalidModel) << wrong;
  EXPECT_THROW((void)observe("bernoulli-logit", one(1.0), {{"bound", one(2.0)}}), InvalidModel);
}

TEST(PiecewiseBound, SitesOfBothSigns) {
  const Vector y{{1.0, -1.0}};
  const PiecewiseBound bound{true, 20};
  const Sites exact = observe("bernoulli-logit", y);
  const Sites pieces = observe("bernoulli-logit", y, {{"bound", one(bound.code())}});
  const Vector m{{0.7, 0.4}};
  const Vector v{{1.3, 2.1}};
  Vector a(2), b(2), da(2), db(2), va(2), vb(2);
  exact->expectation(0, view(m), view(v), {view(a), view(da), view(va)});
  pieces->expectation(0, view(m), view(v), {view(b), view(db), view(vb)});
  for (Index n = 0; n < 2; ++n) {
    EXPECT_GE(a(n), b(n));
    EXPECT_LE(a(n) - b(n), bound.error());
    EXPECT_NEAR(da(n), db(n), 2e-3);
    EXPECT_NEAR(va(n), vb(n), 2e-3);
  }
  Vector p(2), q(2), unused(2), rest(2);
  exact->response(0, view(m), view(v), {view(unused), view(rest), view(p)});
  pieces->response(0, view(m), view(v), {view(unused), view(rest), view(q)});
  EXPECT_EQ(p, q);
  EXPECT_EQ(pieces->with(-y, {})->parameters().front().values(0), 20.0);
  // The bound of the mirrored response is the mirrored bound.
  Vector c(2), dc(2), vc(2);
  pieces->with(-y, {})->expectation(0, view(Vector(-m)), view(v), {view(c), view(dc), view(vc)});
  EXPECT_LT((b - c).norm(), 1e-15);
  EXPECT_LT((db + dc).norm(), 1e-15);
}

}  // namespace
}  // namespace gaussmith
