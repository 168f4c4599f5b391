#pragma once
// The law of a posterior: what is asked of it once inference is over. Moments and draws at new points, the rows without
// their own sites, a form to save. Implementations: DualLaw (covariance form), FactorLaw (precision form), SparseLaw
// (sparse form), RootLaw (constrained covariances), InducingLaw (inducing form), JointLaw and JointInducingLaw (several
// latents a row), DrawsLaw (samplers).

#include "gaussian/prior_geometry.hpp"
#include "gaussian/site_form.hpp"
#include "gaussmith/predict.hpp"
#include "gaussmith/random.hpp"

#include <memory>
#include <optional>

namespace gaussmith {

class PosteriorLaw {
 public:
  explicit PosteriorLaw(std::shared_ptr<const PriorGeometry> geometry) : geometry_(std::move(geometry)) {}
  PosteriorLaw(const PosteriorLaw&) = delete;
  PosteriorLaw& operator=(const PosteriorLaw&) = delete;
  virtual ~PosteriorLaw() = default;

  [[nodiscard]] const PriorGeometry& geometry() const { return *geometry_; }

  /// C, the latents of a point: below, a mean has C numbers a point and a variance C x C.
  [[nodiscard]] virtual Index width() const { return 1; }

  /// How many numbers a new point takes while it is predicted; bounds the size of blocks.
  [[nodiscard]] virtual Index numbers_per_point() const = 0;

  /// Mean (without offset) and variance of new points [begin, end).
  virtual void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const = 0;
  /// The same for all points, in blocks of bounded memory.
  [[nodiscard]] Marginals predict(const NewPoints& points) const;
  /// Mean and variance of w.
  [[nodiscard]] virtual Marginals weights() const;
  /// Cov(w_j, w_(j+1)); the last is 0. A law that knows few of them may leave out those of weights that neither prior
  /// nor rows join.
  [[nodiscard]] virtual Vector neighbour_covariances() const;

  /// Of a law that is a mixture of draws: new points given each of some draws of equal weight. Otherwise empty.
  [[nodiscard]] virtual std::vector<Marginals> by_draw(const NewPoints& points) const;

  /// Covariance of new points, all pairs.
  [[nodiscard]] virtual Matrix joint_covariance(const NewPoints& points) const = 0;

  /// A root S of the covariance of w, S S' = Cov(w): D rows.
  [[nodiscard]] virtual Matrix weight_root() const = 0;
  /// Draws of w minus its mean: D x draws. By default S z.
  [[nodiscard]] virtual Matrix weight_deviations(int draws, Random& random) const;
  /// Draws of w: D x draws.
  [[nodiscard]] Matrix sample_weights(int draws, Random& random) const;

  /// The model's rows without their own sites (power 1). Where a variance is not positive there is no such Gaussian.
  /// Exact in the site form; under a constrained covariance the site is divided out of the row's marginal.
  [[nodiscard]] Marginals cavities() const;

  /// Writes what prediction needs into the plain form.
  virtual void describe(FittedGaussian& out) const = 0;

  /// Tells the law about the rows it was inferred from; laws made from saved models know none.
  void know_rows(RowMarginals rows, SiteApproximation sites);
  [[nodiscard]] const RowMarginals& rows() const { return *rows_; }

 protected:
  std::shared_ptr<const PriorGeometry> geometry_;

 private:
  std::optional<RowMarginals> rows_;
  SiteApproximation sites_;
};

/// The law of a fitted Gaussian given as plain data. Throws InvalidModel where its parts do not fit together.
[[nodiscard]] std::unique_ptr<PosteriorLaw> make_law(const FittedGaussian& fitted, int threads);

/// Standard normal numbers, column by column.
[[nodiscard]] Matrix normal_matrix(Index rows, Index cols, Random& random);

}  // namespace gaussmith
