#pragma once
// The one room for priors: everything that the rest of the library asks of one. A new prior answers these questions in
// prior.cpp, and the compiler names those it has left open.

#include "gaussmith/model.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// d log Z / d log(parameter) by the name of the parameter.
using ParameterGradient = std::map<std::string, double, std::less<>>;

/// D, the length of w.
[[nodiscard]] Index dimension_of(const Prior& prior);
/// The mean of w; zero without a Gaussian factor.
[[nodiscard]] Vector mean_of(const Prior& prior);
[[nodiscard]] bool has_gaussian(const Prior& prior);
/// The process whose values are w or its last part, or null.
[[nodiscard]] const GaussianProcess* process_of(const Prior& prior);
/// How many weights stand beside the process: those that new points have rows for besides their inputs.
[[nodiscard]] Index weights_beside_process(const Prior& prior);

/// The diagonal of Sigma where that is all of it, otherwise nothing.
[[nodiscard]] std::optional<Vector> independent_variances(const Prior& prior);
/// R with Sigma = R R' where Sigma consists of small blocks, and so does R; nothing for other priors.
[[nodiscard]] std::optional<SparseMatrix> block_root(const Prior& prior);
/// Whether Sigma is a dense D x D matrix: what costs D^2 memory and D^3 flops.
[[nodiscard]] bool has_dense_covariance(const Prior& prior);
/// That matrix, exactly symmetric; a covariance that was given is shared, not copied. Cost of a kernel matrix.
[[nodiscard]] SharedMatrix dense_covariance(const Prior& prior, int threads);

/// Sigma^-1 = Q where it is sparse.
struct KnownPrecision {
  SparseMatrix precision;           ///< Q, both halves.
  Matrix constraints = {};          ///< C, k x D: w - mean is held to C (w - mean) = 0. Empty: nothing is held.
  Index improper = 0;               ///< Directions that neither Q nor C says anything about.
  SparseMatrix root = {};           ///< B with Q = B'B where that is known: its products do not cancel. May be empty.
  std::vector<Index> grounds = {};  ///< A weight in each constraint, such that Q with these held has no null space but
                                    ///< what is improper,
  Vector ground_weights = {};       ///< and the size of Q around each.
};
/// For fields, weights that are independent or in small blocks, and no Gaussian factor; nothing for other priors.
[[nodiscard]] std::optional<KnownPrecision> prior_precision(const Prior& prior);
/// log|Q| where it is not zero; `known` is the precision of this prior. Given precisions and graphs cost a sparse
/// factorisation.
[[nodiscard]] double precision_log_determinant(const Prior& prior, const KnownPrecision& known);
/// Whether the prior is known by its precision alone.
[[nodiscard]] bool has_only_precision(const Prior& prior);
/// Whether there is a Gaussian factor, and it is a distribution: not one with a free trend.
[[nodiscard]] bool is_proper(const Prior& prior);

/// Bytes of its numbers.
[[nodiscard]] double bytes_of(const Prior& prior);

/// Throws InvalidModel naming the part, the value found and what would be accepted. A dense covariance costs D^3 / 3.
void validate(const Prior& prior);

/// The scalar parameters by their full names.
[[nodiscard]] std::vector<Parameter> parameters_of(const Prior& prior);
/// The same prior with some parameters replaced; `value` gives null for those that stay. Throws InvalidModel.
[[nodiscard]] Prior with_parameters(const Prior& prior, const std::function<const double*(const std::string&)>& value);

// How Sigma depends on the parameters decides what a gradient needs.

/// One parameter that scales all weights, or all but a few.
struct ScaleParameter {
  std::string name;                   ///< Empty if there is none.
  double power = 1.0;                 ///< d Sigma_jj / d log(parameter) = power Sigma_jj,
  std::vector<Index> untouched = {};  ///< but 0 for these.
  double beside = 0.0;                ///< What improper directions add to the gradient.
};
[[nodiscard]] ScaleParameter scale_parameter(const Prior& prior);
/// Whether there are parameters on which the entries of Sigma depend one by one.
[[nodiscard]] bool has_entry_parameters(const Prior& prior);
/// Puts tr(M dSigma / d log(parameter)) for each of those; only the lower triangle of M is meant.
void add_entry_gradient(const Prior& prior, const Matrix& weights, int threads, ParameterGradient& gradient);

/// Puts the gradient in the kernel's parameters under their full names.
void put_kernel_gradient(const GaussianProcess& process, const Vector& kernel, ParameterGradient& gradient);

/// Whether Sigma consists of small blocks with parameters of their own, so that M is needed in these blocks alone.
[[nodiscard]] bool has_block_parameters(const Prior& prior);
/// Sigma for weights [first, first + size) that are a coefficient or the effects of one level, beside fields.
[[nodiscard]] Matrix block_covariance(const Prior& prior, Index first, Index size);
/// The same gradient; `block(first, size)` gives M for weights [first, first + size).
void add_block_gradient(const Prior& prior, const std::function<Matrix(Index, Index)>& block,
                        ParameterGradient& gradient);

/// A field beside other parts of a prior, whose precision is a parameter of its own.
struct FieldPart {
  std::string name;   ///< fields[0].precision
  Index first = 0;    ///< Of its weights,
  Index size = 0;     ///< as many as there are.
  double rank = 0.0;  ///< The number of directions that its precision acts upon.
};
[[nodiscard]] std::vector<FieldPart> field_parts(const Prior& prior);

}  // namespace gaussmith
