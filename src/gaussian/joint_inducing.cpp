#include "gaussian/joint_inducing.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/independent_inducing.hpp"
#include "gaussian/related_inducing.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>

#include <set>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index row_block = 1024;
/// Of a K^c that is factorised.
constexpr double smallest_condition = 1e-14;

bool independent(const Latents& latents) { return latents.covariance().isDiagonal(0.0); }

/// Whether functions of one kernel all have a value wherever one has, without noise, so that a regular K^c applies to
/// the values as to the rows.
bool complete(const Inducing& inducing, const Latents& latents) {
  if (inducing.noise > 0.0 || !latents.kernels.empty()) return false;
  const Eigen::LLT<Matrix> factor(latents.covariance());
  if (factor.info() != Eigen::Success || !(factor.rcond() > smallest_condition)) return false;
  if (inducing.sites.empty()) return true;
  std::set<Index> rows;
  for (const auto& [row, latent] : inducing.sites) rows.insert(row);
  return static_cast<Index>(inducing.sites.size()) == latents.count * static_cast<Index>(rows.size());
}

/// Saved: pivots are places times the latents, plus the latent; or places alone where all latents share them.
bool shares_places(const FittedGaussian& data) {
  return static_cast<Index>(data.pivots.size()) * data.latents.count == data.coordinates.size();
}

void check_values(const FittedGaussian& data, const GaussianProcess& process) {
  const Index all = process.inputs.rows() * (shares_places(data) ? 1 : data.latents.count);
  std::set<Index> seen;
  for (const Index pivot : data.pivots)
    if (pivot < 0 || pivot >= all || !seen.insert(pivot).second)
      throw InvalidModel(
          fmt::format("fitted: pivot {} is none of {} inducing variables, or stands there twice", pivot, all));
  const auto rank = static_cast<Index>(data.pivots.size());
  if (rank == 0 || data.noise.size() != rank || !data.noise.allFinite() || data.noise.minCoeff() < 0.0)
    throw InvalidModel(
        fmt::format("fitted: {} variances of noise for {} inducing variables; expected as many, 0 or more",
                    data.noise.size(), rank));
}

}  // namespace

JointInducing::JointInducing(const GaussianProcess& process, const Latents& latents, int threads)
    : process_(process), latents_(latents), latent_covariance_(latents.covariance()), threads_(threads) {
  if (has_own_kernels()) process_.kernel = latents.kernels.front();
}

GaussianProcess JointInducing::process_of_latent(Index function) const {
  GaussianProcess out = process_;
  if (has_own_kernels()) out.kernel = latents_.kernels[static_cast<std::size_t>(function)];
  return out;
}

JointInducing::Rows JointInducing::see_rows() const {
  const Index n = process_.inputs.rows();
  const Index c = functions();
  const NewPoints all = NewRows{Identity{}};
  Rows out = see(all, 0, std::min<Index>(1, n));
  for (Matrix& panel : out.panels) panel.resize(panel.rows(), panel.cols() * n);
  out.variance.resize(n, out.variance.cols());
  out.sums = Vector::Ones(n);
  out.leftover.resize(n * c * c);
  parallel_blocks(n, row_block, threads_, [&](Index begin, Index end) {
    const Rows part = see(all, begin, end);
    for (std::size_t i = 0; i < part.panels.size(); ++i) {
      const Index each = part.panels[i].cols() / (end - begin);
      out.panels[i].middleCols(begin * each, part.panels[i].cols()) = part.panels[i];
    }
    out.variance.middleRows(begin, end - begin) = part.variance;
    out.leftover.segment(begin * c * c, part.leftover.size()) = part.leftover;
  });
  return out;
}

Vector JointInducing::prior_blocks(const Matrix& variance) const {
  const Index c = functions();
  Vector out(variance.rows() * c * c);
  for (Index n = 0; n < variance.rows(); ++n) {
    Eigen::Map<Matrix> block(out.data() + n * c * c, c, c);
    if (has_own_kernels())
      block = Matrix(variance.row(n).transpose().asDiagonal());
    else
      block = variance(n, 0) * latent_covariance_;
  }
  return out;
}

Vector JointInducing::prior_means(const Vector& sums) const {
  const Index c = functions();
  Vector each = Vector::Constant(c, process_.mean);
  if (latents_.mean.size() > 0) each += latents_.mean;
  return (each * sums.transpose()).reshaped();
}

Matrix JointInducing::joint_prior(const NewPoints& points) const {
  const Index c = functions();
  Matrix out;
  for (Index f = 0; f < (has_own_kernels() ? c : 1); ++f) {
    const Matrix k = prior_covariance(process_of_latent(f), points, threads_);
    if (f == 0) out = Matrix::Zero(k.rows() * c, k.rows() * c);
    for (Index j = 0; j < k.cols(); ++j)
      for (Index i = 0; i < k.rows(); ++i) {
        if (has_own_kernels())
          out(i * c + f, j * c + f) = k(i, j);
        else
          out.block(i * c, j * c, c, c) = k(i, j) * latent_covariance_;
      }
  }
  return out;
}

void JointInducing::put_gradient(Index function, const Vector& kernel, ParameterGradient& out) const {
  if (!has_own_kernels()) return put_kernel_gradient(process_, kernel, out);
  const auto parameters = latents_.kernels[static_cast<std::size_t>(function)]->parameters();
  for (std::size_t p = 0; p < parameters.size(); ++p)
    out[fmt::format("kernels[{}].{}", function, parameters[p].name)] = kernel(static_cast<Index>(p));
}

bool JointInducing::learns_latents() const {
  return latents_.model != LatentModel::identity && latents_.model != LatentModel::given;
}

std::unique_ptr<JointInducing> make_joint_inducing(const GaussianProcess& process, const Latents& latents,
                                                   int threads) {
  if (independent(latents) || complete(*process.inducing, latents))
    return std::make_unique<IndependentInducing>(process, latents, threads, complete(*process.inducing, latents));
  return std::make_unique<RelatedInducing>(process, latents, threads);
}

std::unique_ptr<JointInducing> make_joint_inducing(const FittedGaussian& fitted, int threads) {
  const auto* process = std::get_if<GaussianProcess>(&fitted.prior);
  if (process == nullptr || process->inducing)
    throw InvalidModel("fitted: the inducing form needs a process at the inputs of its inducing variables");
  check_values(fitted, *process);
  if (shares_places(fitted) || independent(fitted.latents))
    return std::make_unique<IndependentInducing>(*process, fitted, threads, shares_places(fitted));
  return std::make_unique<RelatedInducing>(*process, fitted, threads);
}

double joint_inducing_memory(const GaussianProcess& process, const Latents& latents) {
  const auto n = static_cast<double>(process.inputs.rows());
  const auto c = static_cast<double>(latents.count);
  const Inducing& inducing = *process.inducing;
  const bool all = complete(inducing, latents);
  const double values = inducing.sites.empty() ? static_cast<double>(inducing.inputs.rows()) * c
                                               : static_cast<double>(inducing.sites.size());
  // A, as often as the structure has it; q(u), its Anderson memory and what is being made of it; blocks of rows.
  const double rows = all ? values / c : independent(latents) ? values : values * c;
  constexpr double strips = 16.0 * 1024.0;
  return 8.0 * (n * rows + 24.0 * values * values + n * c * (8.0 * c + 60.0) + strips * values);
}

}  // namespace gaussmith
