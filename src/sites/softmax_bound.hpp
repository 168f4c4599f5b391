#pragma once
// The lower bound h of E[log softmax_y(f)], f ~ N(m, V), that a mixture of Gaussians gives: for every vector b and
// every positive definite S
//   h(b, S) = C/2 + log|SV|/2 - tr(SV)/2 + m_y - log sum_c exp(a_c),  a_c = m_c + (b - e_c)' S^-1 (b - e_c)/2,
// concave in (b, S). With log sum_c exp(a_c) = max_p [p'a - sum_c p_c log p_c] its maximum is the minimum of the convex
//   D(p) = m_y - p'm + sum_c p_c log p_c + sum_k (1 + log(s_k)/2 - s_k)
// over probability vectors p, where A = diag p - pp', V = LL', L'AL = P Lambda P', s_k = (1 + sqrt(1 + 4 lambda_k))/2:
// b = p and X = S^-1 = L P diag(1/s) P' L', the solution of XAX + X = V, are best for this p. So C - 1 unknowns remain,
// and every p brackets the answer: h(p, X(p)) <= h <= D(p), with the gap KL(p || softmax(a)).

#include "gaussmith/types.hpp"

#include <memory>

namespace gaussmith {

/// One row at a time; the object is the memory of the work, for rows of `classes` >= 2 classes.
class SoftmaxBound {
 public:
  explicit SoftmaxBound(Index classes);
  ~SoftmaxBound();
  SoftmaxBound(SoftmaxBound&&) noexcept;
  SoftmaxBound& operator=(SoftmaxBound&&) noexcept;

  struct Out {
    Span probabilities;   ///< b, C numbers. In: where to start, any scale, or zeros for nothing known.
    Span d_mean;          ///< e_y - b = dh/dm, C numbers; empty if not wanted.
    Span precision;       ///< T = A (I + XA)^-1 = -2 dh/dV, C * C numbers, T1 = 0; empty if not wanted.
    double enough = 0.0;  ///< A residual to stop at before rounding does; the value lacks about its square.
  };
  struct Result {
    double value;     ///< h(b, X(b)) at the b returned: a lower bound whether or not it is the largest one.
    double gap;       ///< At most this much is left to the largest.
    double residual;  ///< max_c |b_c - softmax(a)_c|, zero at the optimum, where the derivatives hold.
    int steps;        ///< Factorisations beyond the first.
    bool converged;   ///< The residual is down to rounding, or to what is enough.
  };

  /// Newton in the log-odds of b, each step made to lower D. Any finite mean, any positive semidefinite covariance.
  /// A step is one eigendecomposition of order C - 1 and a few products of C^3 flops.
  Result maximise(Index label, ConstSpan mean, ConstSpan covariance, const Out& out);

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace gaussmith
