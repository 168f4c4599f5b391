#include "sites/cases.hpp"

namespace gaussmith::testing {

namespace {

Vector values(std::initializer_list<double> numbers) {
  Vector v(static_cast<Index>(numbers.size()));
  Index i = 0;
  for (const double number : numbers) v[i++] = number;
  return v;
}

}  // namespace

const std::vector<SiteCase>& site_cases() {
  static const std::vector<SiteCase> cases{
      {"gaussian", values({1.3, -0.4}), {{"variance", one(0.2)}}},
      {"bernoulli-logit", values({1, -1}), {}},
      {"bernoulli-probit", values({1, -1}), {}},
      {"binomial-logit", values({3, 0, 12}), {{"trials", values({7, 4, 12})}}},
      {"poisson", values({4, 0, 23}), {{"exposure", values({2.5, 1, 4})}}},
      {"negative-binomial", values({3, 0, 40}), {{"shape", one(1.7)}, {"exposure", values({1, 2.5, 4})}}},
      {"negative-binomial", values({2, 5}), {{"shape", one(0.4)}}},
      {"student-t", values({2.0, -0.3}), {{"nu", one(4.5)}, {"scale", one(0.3)}}},
      {"student-t", values({0.5}), {{"nu", one(150)}, {"scale", one(1.2)}}},
      {"laplace", values({0.7, -1.1}), {{"scale", one(0.4)}}},
      {"cauchy", values({-1.0, 0.2}), {{"scale", one(0.5)}}},
      {"weibull", values({1.7, 0.4}), {{"shape", one(1.3)}, {"censored", values({0, 1})}}},
      {"exponential", values({0.6, 2.0}), {{"censored", values({0, 1})}}},
      {"gamma", values({2.2, 0.3}), {{"shape", one(3.5)}}},
  };
  return cases;
}

}  // namespace gaussmith::testing
