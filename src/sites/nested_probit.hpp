#pragma once
// Nested EP for one row of the multinomial probit. Given (f, u), u ~ N(0, 1), the row is a product of scalar probit
// factors Phi(s_j), s_j = u + f_y - f_j, j != y; each has a site exp(nu_j s_j - tau_j s_j^2/2), tau_j >= 0, found by EP
// under f ~ N(m, V). Integrating u out of the sites leaves exp(nu'f - f'Tf/2 + c) with a star
//   T = diag pi - pi pi'/1'pi,  pi_y = 1, pi_j = tau_j,
//   nu = sum_j (e_y - e_j) (nu_j - tau_j sum_k nu_k/(1 + sum_k tau_k)),
//   c = (sum_j nu_j)^2/(2 (1 + sum_j tau_j)) - log(1 + sum_j tau_j)/2.

#include "gaussmith/types.hpp"

#include <memory>

namespace gaussmith {

/// The object is the memory of the work, for rows of `classes` >= 2 classes.
class NestedProbit {
 public:
  explicit NestedProbit(Index classes);
  ~NestedProbit();
  NestedProbit(NestedProbit&&) noexcept;
  NestedProbit& operator=(NestedProbit&&) noexcept;

  /// When to stop: after so many sweeps (1: one visit of each inner site), once the residual is small, or when rounding
  /// lets it fall no more.
  struct Stop {
    int sweeps = 1;
    double residual = 0.0;
  };
  /// C - 1 numbers each, classes in order without the label's. In: where to start, zeros for nothing known.
  struct Inner {
    Span precision, shift;
  };
  struct Out {
    Span star;   ///< pi, C numbers; empty if not wanted.
    Span shift;  ///< nu, C numbers; empty if not wanted.
  };
  struct Result {
    /// log of the integral of N(f | m, V) p(y | f) as EP has it: that of N(f | m, V) exp(nu'f - f'Tf/2), plus
    /// `constant`.
    double log_normaliser;
    /// c + sum_j (log Zhat_j - log Zsite_j): the factor and the site of j integrated under its cavity. The evidence of
    /// scalar EP with C - 1 sites a row is log Z_site of the stars plus the sum of this over rows, at a fixed point,
    /// where its gradient in the prior is that of log Z_site at fixed sites.
    double constant;
    /// Largest mismatch of a factor's tilted moments with the marginal of its s_j: max(|dm|/sqrt(v), |dv|/v).
    double residual;
    int sweeps;
  };

  /// EP from the given inner sites: sequential sweeps, O(C^3) each, damped where the residual does not fall. `mean` and
  /// `covariance` are those of f without this row's sites.
  Result fit(Index label, ConstSpan mean, ConstSpan covariance, const Stop& stop, const Inner& inner, const Out& out);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace gaussmith
