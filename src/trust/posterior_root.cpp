#include "trust/posterior_root.hpp"

#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "model/inducing.hpp"

#include <Eigen/QR>

namespace gaussmith {

std::string why_no_root(const Posterior::State& state) {
  if (state.model.latents.count > 1 || state.sites.width > 1) return "rows have several latents";
  if (inducing_of(state.model) != nullptr) return "the process is seen through inducing variables";
  if (state.report.latent_estimate_error > 0.0) return "variances are estimates";
  if (state.report.status == Status::numerical_failure) return "there is no Gaussian";
  return {};
}

PosteriorRoot posterior_root(const Posterior::State& state) {
  const BlasThreads blas(state.threads);
  const Model& model = state.model;
  PosteriorRoot root;
  if (model.dimension() < model.rows()) {
    root.weights = state.law->weight_root();
    root.rows = model.design.sized(model.dimension()).times(root.weights, state.threads);
    return root;
  }
  PivotedCholesky factor =
      pivoted_cholesky(state.law->joint_covariance(NewRows{model.design.sized(model.dimension())}));
  root.rows = std::move(factor.factor);
  root.pivots = std::move(factor.pivots);
  root.pivots.resize(static_cast<std::size_t>(root.rows.cols()));
  if (model.design.is_identity()) root.weights = root.rows;
  return root;
}

RootedPoints rooted_rows(const Posterior::State& state, const PosteriorRoot& root, const std::vector<Index>& rows) {
  const auto count = static_cast<Index>(rows.size());
  RootedPoints out{Vector(count), Matrix(root.rank(), count), Vector::Zero(count)};
  for (Index i = 0; i < count; ++i) {
    const Index n = rows[static_cast<std::size_t>(i)];
    out.mean(i) = state.rows().mean(n);
    out.directions.col(i) = root.rows.row(n).transpose();
  }
  return out;
}

RootedPoints rooted_points(const Posterior::State& state, const PosteriorRoot& root, const NewPoints& points) {
  const BlasThreads blas(state.threads);
  Marginals moments = state.law->predict(points);
  RootedPoints out;
  const auto* combinations = std::get_if<NewRows>(&points);
  if (combinations != nullptr && root.weights.size() > 0) {
    const Design rows = combinations->rows.sized(state.model.dimension());
    out.directions = Matrix(rows.times(root.weights, state.threads)).transpose();
  } else {
    // c = Cov(eta, x) = V K^-1 k = k - V T k, and F f = c.
    const PriorGeometry& geometry = state.law->geometry();
    const Matrix k = geometry.cross(points, 0, geometry.count(points)).covariance;
    const Matrix tk = state.sites.precision.asDiagonal() * k;
    const Matrix c = k - times(root.rows, transposed_times(root.rows, tk));
    if (root.pivots.empty()) {
      out.directions = root.rows.colPivHouseholderQr().solve(c);
    } else {
      Matrix lower(root.rank(), root.rank());
      out.directions.resize(root.rank(), c.cols());
      for (Index i = 0; i < root.rank(); ++i) {
        const Index pivot = root.pivots[static_cast<std::size_t>(i)];
        lower.row(i) = root.rows.row(pivot);
        out.directions.row(i) = c.row(pivot);
      }
      solve_lower(lower, out.directions);
    }
  }
  out.mean = std::move(moments.mean);
  out.leftover = (moments.variance - out.directions.colwise().squaredNorm().transpose()).cwiseMax(0.0);
  return out;
}

}  // namespace gaussmith
