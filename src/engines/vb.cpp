#include "engines/vb.hpp"

#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/tangent_gradient.hpp"
#include "engines/variance_choice.hpp"
#include "engines/vb_double_loop.hpp"
#include "gaussmith/errors.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Of variances that estimates from below see at least, for their errors.
constexpr double smallest_left = 0.01;

/// The relative error of every row's variance. Rows with one entry alone have that of their weight; all together have
/// the root-mean-square that is known.
Vector row_errors(const Design& design, const VarianceErrors& errors) {
  const Index rows = design.rows();
  Vector own = Vector::Zero(rows);  // 1 for rows with one entry.
  if (const DesignEntries stored = design.entries(); stored.is_sparse())
    visit_sparse(stored, [&](const auto& entries) {
      for (Index n = 0; n < rows; ++n)
        own(n) = entries.outerIndexPtr()[n + 1] - entries.outerIndexPtr()[n] == 1 ? 1.0 : 0.0;
    });
  const double others = static_cast<double>(rows) - own.sum();
  if (!(others > 0.0)) return Vector::Constant(rows, errors.rows);
  const double squares =
      static_cast<double>(rows) * errors.rows * errors.rows - own.sum() * errors.weights * errors.weights;
  const double of_others = std::sqrt(std::max(squares, 0.0) / others);
  return of_others + own.array() * (errors.weights - of_others);
}

/// What errors of the variances take from the bound, about. The slope of log Z_site in tau_n is -1/2 (s_n^2 + V_nn), so
/// that to first order the tangent at x = s^2 + v costs what it lies below g at the true variance: g(x + dv) - g(x) -
/// g'(x) dv.
double loss_by_variances(GaussianCore& core, const SiteRows& sites, const Design& design, const Vector& eta) {
  if (core.accuracy() == Accuracy::exact) return 0.0;
  const Vector error = row_errors(design, core.variance_errors());
  const Vector& v = core.variances();
  Vector off = error.cwiseProduct(v);
  if (core.accuracy() == Accuracy::from_below) {
    // The error is relative to the truth, which neither the prior nor the site leaves above these.
    const Vector limit = core.prior_variances().cwiseMin(core.sites().precision.cwiseInverse());
    off = off.cwiseQuotient((1.0 - error.array()).max(smallest_left).matrix()).cwiseMin((limit - v).cwiseMax(0.0));
  }
  Vector value;
  Vector slope;
  Vector there;
  sites.expectation(eta, v, &value, nullptr, &slope);
  sites.expectation(eta, v + off, &there);
  const double loss = (there - value).sum() - slope.dot(off);
  return std::isfinite(loss) ? std::max(0.0, loss) : std::numeric_limits<double>::infinity();
}

}  // namespace

void check_vb(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    if (!traits.super_gaussian)
      throw InvalidOption(
          fmt::format("the vb method needs super-Gaussian sites, which have Gaussian tangents, but sites[{}] "
                      "(likelihood {}) has none; use kl or ep",
                      b, traits.name));
  }
}

void run_vb(const Vb& options, const Run& run, Posterior::State& state) {
  const VbVarianceChoice choice = parse_vb_variances(options.variances, state.model.design.has_entries());
  Run own = run;
  const auto need = [&](CoreForm form, const char* its_form) {
    if (run.form != CoreForm::automatic && run.form != form)
      throw InvalidOption(
          fmt::format("vb.variances {} belong to the {} form of the core, and another form is asked for; "
                      "use form auto or {}, or vb.variances auto or exact",
                      options.variances, its_form, its_form));
    own.form = form;
  };
  if (choice.kind == VbVariances::selected) need(CoreForm::sparse, "sparse");
  if (choice.kind == VbVariances::estimated) need(CoreForm::matrix_free, "matrix-free");
  const Estimates estimates = choice.kind == VbVariances::automatic ? Estimates::where_needed : Estimates::never;
  run_vb_on(build_core(own, choice.method, estimates, state), options, run, state);
}

void run_vb_on(const std::shared_ptr<GaussianCore>& core, const Vb& options, const Run& run, Posterior::State& state) {
  // With the tangent's e_n = beta s_n + g(s_n^2 + v_n) in place of E[log t_n] the bound is that of kl: outer steps
  // refit the variances, inner ones the mean by penalised least squares.
  const SiteRows sites(state.model, state.threads, Smoothing::tangent);
  const ClimbOptions climb{"vb", options.max_iterations, options.tolerance, options.starts};
  const bool exact = core->accuracy() == Accuracy::exact;
  KlClimb best = exact ? best_kl_climb(climb, run, *core, sites) : climb_double_loop(climb, run, *core, sites);
  if (exact) best.report.tolerance = options.tolerance;
  best.report.core = std::move(state.report.core);
  state.report = std::move(best.report);
  const LatentPoint mean = std::move(best.end.mean.at);
  const double loss = loss_by_variances(*core, sites, state.model.design, mean.eta);
  end_in_site_form(*core, sites, {mean, best.end.bound, {EvidenceKind::lower_bound, true, loss}, false, true}, state);
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, tangent_site_gradient(state.rows(), state.model.weights));
  };
}

}  // namespace gaussmith
