#pragma once
// The model p(w) ∝ N(w | mean, covariance) ∏ t_n(eta_n), eta = H w + offset. A plain value that is cheap to copy:
// designs, inputs and covariances are shared. Inference never changes it.

#include "gaussmith/design.hpp"
#include "gaussmith/kernels.hpp"
#include "gaussmith/shared_matrix.hpp"
#include "gaussmith/sites.hpp"
#include "gaussmith/types.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace gaussmith {

/// w ~ N(mean, variance I).
struct Isotropic {
  Vector mean;  ///< Its size is the dimension D.
  double variance = 1.0;
};

/// w ~ N(mean, diag(variance)).
struct Diagonal {
  Vector mean;
  Vector variance;
};

/// w ~ N(mean, covariance); the covariance may be singular but not indefinite.
struct DenseGaussian {
  Vector mean;
  SharedMatrix covariance;
};

/// w is a Gaussian process at the rows of inputs (N x d), with a constant mean.
struct GaussianProcess {
  SharedMatrix inputs;
  KernelHandle kernel;
  double mean = 0.0;
};

/// No Gaussian factor: all factors are sites.
struct NoGaussian {
  Index dimension = 0;
};

/// w ~ N(mean, precision^-1) with a sparse precision, for example a Markov field. Symmetric, both halves or the lower
/// one alone; positive definite.
struct SparsePrecision {
  Vector mean;
  SparseMatrix precision;
};

/// Intrinsic Markov fields: log p(w) = -precision/2 times a sum of squared differences. It says nothing about the level
/// of w, which is held: w sums to zero, over each connected part of a graph. A linear trend of `rw2` stays free.
enum class FieldKind {
  rw1,   ///< Random walk: differences w_(j+1) - w_j.
  rw2,   ///< Second differences w_(j+1) - 2 w_j + w_(j-1).
  besag  ///< Differences over the edges of a graph.
};
struct IntrinsicField {
  FieldKind kind = FieldKind::rw1;
  Index dimension = 0;
  double precision = 1.0;                           ///< prior.precision
  std::vector<std::pair<Index, Index>> edges = {};  ///< Of `besag`, each once.
};

/// Coefficients of columns, independent of one another: w_j ~ N(mean_j, (sd_j scale)^2) where it is scaled_j, else
/// N(mean_j, sd_j^2).
struct FixedEffects {
  Vector mean;
  Vector sd;
  std::vector<bool> scaled = {};  ///< One a coefficient; empty: none.
  double scale = 1.0;             ///< prior.scale

  [[nodiscard]] Index size() const { return mean.size(); }
  [[nodiscard]] bool is_scaled(Index j) const { return !scaled.empty() && scaled[static_cast<std::size_t>(j)]; }
  [[nodiscard]] double variance(Index j) const;
};

/// Effects of the levels of a group: every level has one effect or two, drawn anew from N(0, C). Weights stand level by
/// level, the effects of a level side by side.
struct RandomEffects {
  Index levels = 0;
  Vector sd;                               ///< Of the effects: one or two.
  std::optional<double> correlation = {};  ///< Of two effects; empty: independent.

  [[nodiscard]] Index effects() const { return sd.size(); }
  [[nodiscard]] Index size() const { return levels * effects(); }
  [[nodiscard]] Matrix covariance() const;  ///< C, of the effects of one level.
};

/// Parts that are independent of one another and added up by the design: w holds the coefficients, then the effects of
/// each group, then the values of the process, whose columns of the design are usually the identity.
struct Additive {
  FixedEffects fixed = {};
  std::vector<RandomEffects> random = {};
  std::optional<GaussianProcess> process = {};

  [[nodiscard]] Index first_of(std::size_t term) const;  ///< The first weight of a group's effects.
  [[nodiscard]] Index weights() const;                   ///< Coefficients and effects: all but the process.
};

using Prior = std::variant<Isotropic, Diagonal, DenseGaussian, GaussianProcess, NoGaussian, SparsePrecision, Additive,
                           IntrinsicField>;

/// The name of a prior in problem files: "isotropic", "gp", "besag", "none".
[[nodiscard]] const char* type_of(const Prior& prior);

/// How the functions of a row with several latents are related before any data, K^c scaled to trace C but for `given`.
enum class LatentModel {
  identity,          ///< Independent functions of the same size.
  given,             ///< A matrix that is neither learned nor scaled.
  diagonal,          ///< diag(weight).
  centred_diagonal,  ///< M - M11'M / 1'M1 + I, M = diag(weight).
  centred,           ///< The same with M = F F'.
  full               ///< F F'.
};

/// Several latent functions a row: eta is N x C, stored row by row, and cov(w_dc, w_ec') = Sigma_de K^c_cc'. The design
/// applies to every function alike.
struct Latents {
  Index count = 1;  ///< C.
  LatentModel model = LatentModel::identity;
  Vector weight = {};  ///< Of the diagonal models: C positive numbers; empty: ones.
  /// F of `centred` and `full`: C x C, lower triangle, positive diagonal; empty: I. K^c itself of `given`.
  Matrix factor = {};
  /// One kernel for each function instead of the process's own, which is then not looked at; with model `identity`.
  std::vector<KernelHandle> kernels = {};
  Vector mean = {};  ///< Empty, or C numbers that are added to the mean of the prior.

  [[nodiscard]] Matrix covariance() const;  ///< K^c.
};

/// The name of a model of K^c in problem files: "centred-diagonal".
[[nodiscard]] const char* name_of(LatentModel model);

/// Where learning moves a parameter, so that every number there is a value it may have.
enum class ParameterScale {
  logarithm,     ///< Positive parameters.
  inverse_tanh,  ///< Correlations, between -1 and 1.
  itself         ///< Any number.
};

/// One named parameter of a model. Gradients and learning work on its scale, nearly always the logarithm.
struct Parameter {
  std::string name;  ///< kernel.lengthscale[0], prior.variance, sites[0].scale
  double value;
  /// False for data such as trials given as a single number, and for prior.scale, which is learned under a hyperprior.
  bool learnable;
  ParameterScale scale = ParameterScale::logarithm;

  [[nodiscard]] double on_scale() const;  ///< log(value), atanh(value) or value.
};

/// The value of a parameter whose place on its scale this is.
[[nodiscard]] double value_on(ParameterScale scale, double place);

struct Model {
  Prior prior;
  Design design = Identity{};
  Vector offset = {};        ///< Empty, or one value for every entry of eta.
  std::vector<Sites> sites;  ///< Blocks in row order; together they cover all rows.
  Vector weights = {};       ///< Empty, or one positive number a row: its site counts as t^weight.
  Latents latents = {};      ///< How many functions a row has, and how they are related.

  [[nodiscard]] Index rows() const;       ///< N, the number of sites.
  [[nodiscard]] Index dimension() const;  ///< D, the length of w, of one of its functions where there are several.

  /// Throws InvalidModel naming the part, the value found and what would be accepted.
  void validate() const;

  /// All scalar parameters by their full names: kernel, prior, sites.
  [[nodiscard]] std::vector<Parameter> parameters() const;

  /// The full name of a parameter: resolves the short form likelihood.scale of a model with one block.
  /// Throws InvalidOption listing all names when there is no such parameter.
  [[nodiscard]] std::string resolve_parameter(std::string_view name) const;

  /// The same model with some parameters replaced, by full or short name. Throws InvalidOption for an unknown name and
  /// InvalidModel for a value outside the parameter's domain.
  [[nodiscard]] Model with_parameters(const std::map<std::string, double, std::less<>>& values) const;
};

}  // namespace gaussmith
