#pragma once
// One row of C >= 2 classes under the multinomial probit: the largest of f_c + e_c, e_c ~ N(0, 1), is observed,
//   p(y | f) = integral N(u | 0, 1) prod_{c != y} Phi(u + f_y - f_c) du.
// The C numbers of a row stand side by side, and so do the C * C numbers of its symmetric matrices.

#include "gaussmith/types.hpp"
#include "numerics/ndtr_product.hpp"

namespace gaussmith {

/// The object is the memory of the work, for rows of `classes` classes.
class ProbitClasses {
 public:
  explicit ProbitClasses(Index classes);

  /// log p(label | eta), its gradient and its Hessian; an empty span is not wanted, but `second` needs `first`.
  /// Relatively accurate to about 1e-13, far tails included. About 25 sqrt(C) (C - 1) evaluations of Phi and a
  /// product of C^2 numbers for each 25 sqrt(C).
  [[nodiscard]] double log_density(Index label, ConstSpan eta, Span first = {}, Span second = {});

  /// The most classes that tilted() takes.
  static constexpr Index most_classes_by_quadrature = 4;

  struct Tilted {
    double log_normaliser;
    bool
        accurate;  ///< False if the covariance is so uneven that the nodes would not suffice; nothing is computed then.
  };
  /// Normaliser, mean and covariance of N(f | mean, covariance) p(label | f), C <= most_classes_by_quadrature. With
  /// x_j = f_y + e_y - f_j - e_j ~ N(mu, Omega) the normaliser is P(x > 0). Omega = kappa I + kappa LL' with its
  /// smallest eigenvalue kappa leaves an integral of prod_j Phi(mu_j/sqrt(kappa) + l_j'z) over C - 2 standard normal z,
  /// and the moments follow from its derivatives in mu.
  Tilted tilted(Index label, ConstSpan mean, ConstSpan covariance, Span tilted_mean, Span tilted_covariance);

 private:
  Index classes_;
  NdtrProduct product_;
  Vector offset_, slope_;
  Matrix loadings_, hessian_;
};

}  // namespace gaussmith
