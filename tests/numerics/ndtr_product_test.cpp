// Integrals of products of Phi against closed forms, identities and differences.

#include "numerics/ndtr_product.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

struct Product {
  double value;
  Vector first;
  Matrix second;
};
Product product_of(const Vector& offset, const Matrix& loadings) {
  Product found{0.0, Vector(offset.size()), Matrix(offset.size(), offset.size())};
  NdtrProduct work(offset.size());
  found.value = work.log_integral(offset, loadings, view(found.first),
                                  {found.second.data(), static_cast<std::size_t>(found.second.size())});
  return found;
}

TEST(NdtrProduct, OneFactorHasAClosedForm) {
  for (const double o : {-1e3, -30.0, -2.0, 0.0, 0.7, 5.0, 30.0, 200.0}) {
    for (const Matrix& l :
         {Matrix(1, 0), Matrix{{0.0}}, Matrix{{1.0}}, Matrix{{-3.0}}, Matrix{{40.0}}, Matrix{{0.5, 2.0}}}) {
      if (l.cols() == 2 && o > 6.0) continue;  // Derivatives this far out are zero beside 1.
      const double spread = std::sqrt(1.0 + l.squaredNorm());
      const LogNdtrDerivatives expected = log_ndtr_derivatives(o / spread);
      const Product found = product_of(Vector{{o}}, l);
      EXPECT_NEAR(found.value, expected.value, 2e-14 * (1.0 + std::abs(expected.value))) << o << '\n' << l;
      const auto same = [&](double a, double b) { EXPECT_NEAR(a, b, 2e-12 * std::abs(b) + 1e-300) << o << '\n' << l; };
      same(found.first(0), expected.first / spread);
      same(found.second(0, 0), expected.second / (spread * spread));
    }
  }
}

TEST(NdtrProduct, EqualFactorsCountTheLargestOfNormals) {
  for (Index factors = 1; factors <= 60; factors += 7) {
    const Product found = product_of(Vector::Zero(factors), Matrix::Ones(factors, 1));
    EXPECT_NEAR(found.value, -std::log(static_cast<double>(factors) + 1.0), 1e-13);
  }
}

TEST(NdtrProduct, FactorsOnDifferentAxesAreIndependent) {
  const Product both = product_of(Vector{{0.4, -1.0}}, Matrix{{3.0, 0.0}, {0.0, 0.7}});
  const Product one = product_of(Vector{{0.4}}, Matrix{{3.0}});
  const Product other = product_of(Vector{{-1.0}}, Matrix{{0.7}});
  EXPECT_NEAR(both.value, one.value + other.value, 1e-13);
  EXPECT_NEAR(both.first(0), one.first(0), 1e-13);
  EXPECT_NEAR(both.second(1, 1), other.second(0, 0), 1e-13);
  EXPECT_NEAR(both.second(0, 1), 0.0, 1e-14);
}

TEST(NdtrProduct, DerivativesAreThoseOfDifferences) {
  const Vector offset{{0.3, -2.0, 1.1}};
  for (const Matrix& l : {Matrix{{1.0}, {2.0}, {-0.5}}, Matrix{{1.0, 1.0}, {2.0, -1.0}, {-1.0, -1.0}}}) {
    const Product at = product_of(offset, l);
    for (Index k = 0; k < 3; ++k) {
      const auto moved = [&](double t) { return product_of(offset + t * Vector::Unit(3, k), l); };
      const double h = 1e-3;
      const auto slope = [&](auto&& f) { return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h); };
      EXPECT_NEAR(at.first(k), slope([&](double t) { return moved(t).value; }), 1e-10);
      for (Index j = 0; j < 3; ++j)
        EXPECT_NEAR(at.second(j, k), slope([&](double t) { return moved(t).first(j); }), 1e-10);
    }
  }
}

}  // namespace
}  // namespace gaussmith
