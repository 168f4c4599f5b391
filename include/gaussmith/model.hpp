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

/// Few values of a process through which alone its rows are seen (docs/inducing.md): the posterior is that of these
/// values, and every other value follows from them by the prior. The evidence of `kl` stays a lower bound. Either
/// inputs or sites are given.
struct Inducing {
  SharedMatrix inputs = {};  ///< M x d: all latents at each of them.
  std::vector<std::pair<Index, Index>> sites =
      {};              ///< (row, latent): single latents at rows of the process, each once.
  double noise = 0.0;  ///< Variance added to the values that are seen, 0 or more.
  bool learn = false;  ///< The inputs are parameters, inducing.inputs[0][0], to be learned.
};

/// How inducing sites are chosen where only their number is given.
enum class InducingChoice {
  active,  ///< Where they tell most.
  random   ///< Rows at random, by the seed.
};
struct InducingSelection {
  Index count = 0;  ///< Of single latents.
  InducingChoice select = InducingChoice::active;
  Index block = 0;    ///< Several latents: chosen before the bound is optimised anew; 0: as many as latents.
  Index subset = 5;   ///< Several latents: rows, drawn at random, that all candidates are seen by first.
  Index filter = 20;  ///< Several latents: the best of these, which all rows then see; at least a block.
  double noise = 0.0;
};

/// "active" or "random".
[[nodiscard]] const char* name_of(InducingChoice choice);

/// w is a Gaussian process at the rows of inputs (N x d), with a constant mean.
struct GaussianProcess {
  SharedMatrix inputs;
  KernelHandle kernel;
  double mean = 0.0;
  std::optional<Inducing> inducing = {};
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
/// of w, which is held: w sums to zero, over each connected part of a graph. A linear trend of `rw2` stays free, unless
/// it is cyclic.
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
  /// Of random walks: where the nodes are, ascending; empty: one apart. Differences of `rw1` have the variance of their
  /// distance; those of `rw2` are divided differences, times the root of the distance that they stand for.
  Vector locations = {};
  bool cyclic = false;  ///< Of random walks with nodes one apart: the first follows the last.
  /// A factor of the precision for each connected part in the order of their first nodes, as scaled() finds them;
  /// empty: ones. Nodes without a neighbour, which are otherwise refused, are then independent, N(0, 1 / (factor
  /// precision)).
  Vector scale = {};
};
/// The same field with factors that make the geometric mean of its nodes' variances 1 / precision, in each connected
/// part, so that precisions of different graphs mean the same; the variances of `rw2` are those beside its free trend.
/// Throws InvalidModel for a field that is none. Cost of a sparse factorisation.
[[nodiscard]] IntrinsicField scaled(IntrinsicField field);

/// A field that is one part of a model.
using MarkovField = std::variant<IntrinsicField, SparsePrecision>;

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
/// each group, then the values of each field, or of the process, whose columns of the design are usually the identity.
/// Fields and a process do not go together.
struct Additive {
  FixedEffects fixed = {};
  std::vector<RandomEffects> random = {};
  std::optional<GaussianProcess> process = {};
  std::vector<MarkovField> fields = {};  ///< fields[0].precision

  [[nodiscard]] Index first_of(std::size_t term) const;         ///< The first weight of a group's effects.
  [[nodiscard]] Index first_of_field(std::size_t field) const;  ///< The first weight of a field.
  [[nodiscard]] Index weights() const;  ///< Coefficients, effects and fields: all but the process.
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
