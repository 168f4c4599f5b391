#pragma once
// What a response says about the output f of its row: the tilted normaliser
//
//   l(m, V) = log int int t(y | f, theta)^p N(f | m, V) N(theta | cavity) df dtheta.

#include "gaussmith/sites.hpp"
#include "numerics/gauss_hermite.hpp"

#include <memory>

namespace gaussmith {

/// l and its slopes: alpha = dl/dm, beta = -d2l/dm2.
struct OutputSlopes {
  Span log_normaliser, slope, curvature;
};

/// Rows are asked in blocks: the spans stand for `first` and the rows after it.
class OutputLaw {
 public:
  OutputLaw() = default;
  OutputLaw(const OutputLaw&) = delete;
  OutputLaw& operator=(const OutputLaw&) = delete;
  virtual ~OutputLaw() = default;

  virtual void slopes(Index first, ConstSpan mean, ConstSpan variance, const OutputSlopes& out) const = 0;
  /// exp(l) as factor exp(exponent), so that it neither overflows nor costs a logarithm.
  virtual void normaliser(Index first, ConstSpan mean, ConstSpan variance, Span exponent, Span factor) const = 0;
};

/// Sites of the catalogue by their tilted moments: alpha = (tilted mean - m) / V, beta = (V - tilted variance) / V^2.
class CatalogueOutput final : public OutputLaw {
 public:
  CatalogueOutput(Sites sites, double power) : sites_(std::move(sites)), power_(power) {}
  void slopes(Index first, ConstSpan mean, ConstSpan variance, const OutputSlopes& out) const override;
  void normaliser(Index first, ConstSpan mean, ConstSpan variance, Span exponent, Span factor) const override;

 private:
  Sites sites_;
  double power_;
};

/// N(y | f, e^theta): theta by a Gauss-Hermite rule, t^p -> N(y | m, V + e^theta / p) (2 pi e^theta)^((1 - p) / 2)
/// p^(-1/2). The rule is that of the cavity of theta or, where the output of a row is known about, of the normal with
/// the peak and the curvature there of the whole integrand: an outlier asks for a theta that the cavity hardly reaches.
class NoisyOutput final : public OutputLaw {
 public:
  /// The responses are lent.
  NoisyOutput(const Vector& responses, double power, Index nodes);

  /// The cavity of theta in these rows, variance 0 where theta is known; and about where m and V will be (empty: not
  /// known).
  void set_noise(Index first, ConstSpan mean, ConstSpan variance, ConstSpan output_mean = {},
                 ConstSpan output_variance = {});
  /// The same with rules where another has them.
  void set_noise(Index first, ConstSpan mean, ConstSpan variance, const NoisyOutput& like);

  void slopes(Index first, ConstSpan mean, ConstSpan variance, const OutputSlopes& out) const override;
  void normaliser(Index first, ConstSpan mean, ConstSpan variance, Span exponent, Span factor) const override;

  /// Mean and variance of theta under the tilted distribution.
  void noise_moments(Index first, ConstSpan mean, ConstSpan variance, Span noise_mean, Span noise_variance) const;

 private:
  /// Nodes of the rules that stand in centre_ and deviation_.
  void set_nodes(Index first, ConstSpan mean, ConstSpan variance);
  /// Calls use(begin, count, shares) for one chunk of rows after the other.
  template <class Use>
  void with_shares(Index first, ConstSpan mean, ConstSpan variance, const Use& use) const;

  const Vector* responses_;
  double power_;
  GaussHermite rule_;
  Matrix noise_;               // A column a node: e^theta / p; longer than n by what a chunk may read beyond its end.
  Matrix factor_;              // Likewise: the rest of the integrand that does not depend on m and V.
  Vector centre_, deviation_;  // Of the rule.
  Vector exponent_;            // A factor exp(exponent) of factor_ that might not be a number by itself.
};

}  // namespace gaussmith
