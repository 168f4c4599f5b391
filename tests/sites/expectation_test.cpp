// E[log t] under a Gaussian.

#include "sites/adaptor.hpp"
#include "sites/bernoulli_logit.hpp"
#include "sites/bernoulli_probit.hpp"
#include "sites/binomial_logit.hpp"
#include "sites/cases.hpp"
#include "sites/cauchy.hpp"
#include "sites/exponential.hpp"
#include "sites/gamma.hpp"
#include "sites/gaussian.hpp"
#include "sites/helpers.hpp"
#include "sites/laplace.hpp"
#include "sites/negative_binomial.hpp"
#include "sites/poisson.hpp"
#include "sites/student_t.hpp"
#include "sites/weibull.hpp"

#include <gtest/gtest.h>

namespace gaussmith::testing {
namespace {

TEST(SiteExpectation, DerivativesMatchCentralDifferences) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double m : {-1.7, 0.3, 2.2}) {
        for (const double v : {0.09, 1.3}) {
          const Expectation e = expectation(*sites, row, m, v);
          const double h = 1e-3;
          const double in_mean = difference([&](double x) { return expectation(*sites, row, x, v).value; }, m, h);
          const double in_variance =
              difference([&](double x) { return expectation(*sites, row, m, x).value; }, v, v * h);
          EXPECT_NEAR(e.d_mean, in_mean, 1e-7 * (1 + std::abs(in_mean))) << c.likelihood << ' ' << m << ' ' << v;
          EXPECT_NEAR(e.d_variance, in_variance, 1e-6 * (1 + std::abs(in_variance))) << c.likelihood << ' ' << m;
        }
      }
    }
  }
}

TEST(SiteExpectation, MatchesAPlainSum) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    if (!sites->traits().smooth) continue;
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double m : {-2.5, 0.4, 3.0}) {
        const double v = 0.7, s = std::sqrt(v);
        const double sum = trapezoid([&](double x) { return normal_density(x, m, v) * log_value(*sites, row, x); },
                                     m - 11 * s, m + 11 * s, 6000);
        EXPECT_NEAR(expectation(*sites, row, m, v).value, sum, 1e-9 * (1 + std::abs(sum))) << c.likelihood << ' ' << m;
      }
    }
  }
}

TEST(SiteExpectation, VanishingVarianceGivesBackTheLogDensity) {
  for (const SiteCase& c : site_cases()) {
    const Sites sites = c.sites();
    for (Index row = 0; row < sites->size(); ++row) {
      for (const double m : {-3.1, 0.11, 1.9}) {
        const Derivatives d = log_density(*sites, row, m);
        for (const double v : {0.0, 1e-300, 1e-14}) {
          const Expectation e = expectation(*sites, row, m, v);
          EXPECT_NEAR(e.value, d.value, 1e-11 * (1 + std::abs(d.value))) << c.likelihood << ' ' << m << ' ' << v;
          EXPECT_NEAR(e.d_mean, d.first, 1e-9 * (1 + std::abs(d.first))) << c.likelihood << ' ' << m << ' ' << v;
          EXPECT_NEAR(e.d_variance, 0.5 * d.second, 1e-8 * (1 + std::abs(d.second))) << c.likelihood << ' ' << m;
        }
      }
    }
  }
}

TEST(SiteExpectation, ManyRowsAtOnceEqualOneByOne) {
  const Index rows = 1000;
  Vector y(rows), m(rows), v(rows), value(rows), slope(rows);
  Random random(7);
  for (Index i = 0; i < rows; ++i) {
    y[i] = random.uniform() < 0.5 ? -1 : 1;
    m[i] = 5 * random.normal();
    v[i] = random.exponential();
  }
  const Sites sites = observe("bernoulli-logit", y);
  sites->expectation(0, view(std::as_const(m)), view(std::as_const(v)), {view(value), view(slope), {}});
  for (Index i = 0; i < rows; ++i) {
    const Expectation e = expectation(*sites, i, m[i], v[i]);
    ASSERT_EQ(value[i], e.value);
    ASSERT_EQ(slope[i], e.d_mean);
  }
}

// The same likelihood with its closed forms hidden, so that the adaptor takes its quadrature defaults.
template <class Shape>
struct Opaque {
  Shape shape;
  template <class Real>
  Real operator()(const Real& eta) const {
    return shape(eta);
  }
  Feature feature() const { return shape.feature(); }
  auto kinks() const { return shape.kinks(); }
};
template <class L>
struct WithoutClosedForms : L {
  template <class P>
  static auto shape(double y, const P& p) {
    return Opaque<decltype(L::shape(y, p))>{L::shape(y, p)};
  }
};

template <class L>
void closed_equals_default(double y, const SiteArguments& arguments) {
  const Sites catalogued = observe(L::info().traits.name, one(y), arguments);
  const SiteBlock& closed = *catalogued;
  const LikelihoodBlock<WithoutClosedForms<L>> plain(one(y), arguments);
  const auto same = [&](double a, double b, double m, double v, const char* what) {
    EXPECT_NEAR(a, b, 2e-9 * (1 + std::abs(a))) << closed.traits().name << ' ' << what << " m=" << m << " v=" << v;
  };
  for (const double m : {-50.0, -3.0, 0.2, 8.0}) {
    for (const double v : {1e-6, 0.3, 40.0}) {
      const Expectation a = expectation(closed, 0, m, v), b = expectation(plain, 0, m, v);
      same(a.value, b.value, m, v, "E");
      for (const double power : {0.1, 0.5, 0.9, 1.0}) {
        const Tilted s = tilted(closed, 0, m, v, power), t = tilted(plain, 0, m, v, power);
        same(s.log_normaliser, t.log_normaliser, m, v, "log Z");
        same(s.mean, t.mean, m, v, "mean");
        same(s.variance, t.variance, m, v, "variance");
      }
      for (int j = 0; j < L::argument_count; ++j) {
        if (!closed.parameters()[static_cast<std::size_t>(j)].learnable) continue;
        double p = 0, q = 0;
        closed.parameter_expectation(0, j, {&m, 1}, {&v, 1}, {&p, 1});
        plain.parameter_expectation(0, j, {&m, 1}, {&v, 1}, {&q, 1});
        same(p, q, m, v, "parameter expectation");
        closed.parameter_tilted(0, j, {&m, 1}, {&v, 1}, 0.5, {&p, 1});
        plain.parameter_tilted(0, j, {&m, 1}, {&v, 1}, 0.5, {&q, 1});
        same(p, q, m, v, "parameter under the tilted density");
      }
    }
  }
}

TEST(SiteExpectation, ClosedFormsEqualTheQuadratureDefaults) {
  closed_equals_default<likelihoods::Gaussian>(1.3, {{"variance", one(0.2)}});
  closed_equals_default<likelihoods::BernoulliLogit>(-1, {});
  closed_equals_default<likelihoods::BernoulliProbit>(1, {});
  closed_equals_default<likelihoods::Poisson>(4, {});
  closed_equals_default<likelihoods::StudentT>(2, {{"nu", one(3)}, {"scale", one(0.3)}});
  closed_equals_default<likelihoods::Laplace>(0.7, {{"scale", one(0.4)}});
  closed_equals_default<likelihoods::BinomialLogit>(3, {{"trials", one(50)}});
  closed_equals_default<likelihoods::NegativeBinomial>(3, {{"shape", one(0.4)}});
  closed_equals_default<likelihoods::Cauchy>(-1, {{"scale", one(2)}});
  closed_equals_default<likelihoods::Weibull>(1.7, {{"shape", one(1.3)}});
  closed_equals_default<likelihoods::Exponential>(2, {{"censored", one(1)}});
  closed_equals_default<likelihoods::Gamma>(2.2, {{"shape", one(3.5)}});
}

}  // namespace
}  // namespace gaussmith::testing
