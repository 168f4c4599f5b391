#include "engines/engine_core.hpp"

#include "base/memory.hpp"
#include "engines/rounding_claim.hpp"
#include "gaussian/matrix_free_core.hpp"
#include "gaussian/vectors_memory.hpp"
#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// How much a residual, in standard deviations, may change variances.
constexpr double undone_share = 3.0;
/// Errors of estimated variances from which on a report warns. Those of draws go both ways and average out in sums over
/// rows; those from below do not.
constexpr double rough_variances = 0.5;
constexpr double biased_variances = 0.1;

void warn_of_rough_variances(Accuracy accuracy, Report& report) {
  const bool biased = accuracy == Accuracy::from_below;
  const double worst = std::max(report.latent_estimate_error, report.weights_estimate_error);
  if (worst <= (biased ? biased_variances : rough_variances)) return;
  const char* cure =
      biased ? "vb.variances=sampling:64, more steps, or exact variances" : "more draws or probes, or exact variances";
  report.warnings.push_back(
      fmt::format("variances are estimates{} with relative errors of {:.2g} for rows and {:.2g} for weights, on which "
                  "leave-one-out, training scores and predictions rest; use {}",
                  biased ? " from below" : "", report.latent_estimate_error, report.weights_estimate_error, cure));
}

}  // namespace

std::string memory_way_out(const Model& model, CoreForm form) {
  if (form == CoreForm::covariance)
    return fmt::format("it grows with the square of the {} rows: take fewer of them{}", model.rows(),
                       std::holds_alternative<GaussianProcess>(model.prior) && model.design.is_identity()
                           ? ", or kl with inducing variables (--inducing)"
                           : "");
  if (form == CoreForm::inducing)
    return fmt::format("it grows with the {} rows times the inducing variables: take fewer of either", model.rows());
  if (form == CoreForm::sparse)
    return fmt::format("it grows with the pairs of the {} weights that rows and prior join", model.dimension());
  if (form == CoreForm::matrix_free)
    return fmt::format("it grows with the {} weights times the steps or draws: take fewer of either",
                       model.dimension());
  return fmt::format("it grows with the square of the {} weights: take fewer of them{}", model.dimension(),
                     model.design.has_entries() ? ", or kl with kl.covariance=diagonal" : "");
}

std::shared_ptr<JointCore> build_joint_core(const Run& run, SitesSee sees, Posterior::State& state) {
  const Model& model = state.model;
  if (run.form != CoreForm::automatic && run.form != CoreForm::covariance)
    throw InvalidOption("form: several latents a row have the covariance form; use covariance or auto");
  const double bytes = model_memory(model) + joint_factor_memory(model, sees);
  if (bytes > machine_memory())
    throw InvalidOption(fmt::format(
        "{} needs about {} for {} rows of {} latents, more than the {} of this machine; take fewer rows, or kl with "
        "inducing variables (--inducing)",
        name_of(state.method), memory_in_words(bytes), model.rows(), model.latents.count,
        memory_in_words(machine_memory())));
  return std::make_shared<JointCore>(
      std::make_shared<JointPrior>(model.prior, model.design, model.latents, state.threads), model.offset);
}

std::shared_ptr<GaussianCore> build_core(const Run& run, Posterior::State& state) {
  if (run.form == CoreForm::matrix_free)
    throw InvalidOption(
        fmt::format("form: matrix-free serves vb and laplace; {} needs another, or auto", name_of(state.method)));
  return build_core(run, ExactVariances{}, Estimates::never, state);
}

std::shared_ptr<GaussianCore> build_core(const Run& run, const VarianceMethod& variances, Estimates estimates,
                                         Posterior::State& state) {
  if (state.model.latents.count > 1 && inducing_of(state.model) == nullptr)
    return build_joint_core(run, SiteRows(state.model, 1).all(&SiteTraits::star) ? SitesSee::stars : SitesSee::anything,
                            state);
  // The choice of a form looks at what weights have in common, which takes long for too many.
  const double least = model_memory(state.model) + vectors_memory(state.model.rows(), state.model.dimension());
  if (least > machine_memory())
    throw InvalidOption(fmt::format("{} needs at least {} for {} rows and {} weights, more than the {} of this machine",
                                    name_of(state.method), memory_in_words(least), state.model.rows(),
                                    state.model.dimension(), memory_in_words(machine_memory())));
  const FormChoice choice = choose_form(state.model, run.form, estimates);
  const Estimation estimation{variances, run.seed};
  const double bytes = model_memory(state.model) + core_memory(state.model, choice.form, estimation);
  if (bytes > machine_memory())
    throw InvalidOption(fmt::format("{} needs about {} for this model, more than the {} of this machine; {}",
                                    name_of(state.method), memory_in_words(bytes), memory_in_words(machine_memory()),
                                    memory_way_out(state.model, choice.form)));
  state.report.core = choice.reason;
  if (choice.form == CoreForm::matrix_free)
    if (const std::size_t joining = factored_rows(state.model.design, variances).size(); joining > 0)
      state.report.core += fmt::format("; draws through a factor over the {} rows with several entries, at most {}",
                                       joining, most_factored_rows);
  return make_core(state.model, choice.form, state.threads, estimation);
}

void end_in_site_form(GaussianCore& core, const SiteRows& sites, const SiteFormEnd& end, Posterior::State& state) {
  state.sites = core.sites();
  RowMarginals rows = core.marginals(end.mean);
  state.law = core.law(end.mean);
  state.law->know_rows(std::move(rows), state.sites);
  if (std::string form = core.description(); !form.empty()) state.report.core = std::move(form);

  Report& report = state.report;
  const VarianceErrors estimated = core.variance_errors();
  if (core.accuracy() != Accuracy::exact) {
    // What the search left undone moves variances, too.
    report.latent_estimate_error = std::hypot(estimated.rows, undone_share * report.residual);
    report.weights_estimate_error = std::hypot(estimated.weights, undone_share * report.residual);
    warn_of_rough_variances(core.accuracy(), report);
  }
  if (!estimated.solved && report.converged()) {
    report.status = Status::inaccurate;
    report.message =
        "conjugate gradients did not reach their tolerance: the system is too ill-conditioned; scale the "
        "columns, or give the weights a tighter prior";
  }
  const RoundingError rounding = core.rounding_error(end.mean);
  judge_rounding(rounding, end.no_step_helps, report);
  state.gradient_error =
      rounding.gradient + 0.5 * estimated.rows * core.sites().precision.cwiseProduct(state.rows().covariances()).norm();
  state.log_evidence = make_evidence(end.log_evidence, end.method, core, sites, report.converged());
  // Residuals of estimates are those of all rows together.
  const double rows_together = std::sqrt(static_cast<double>(sites.rows()));
  const double left = core.accuracy() == Accuracy::exact ? report.residual : report.residual / rows_together;
  const double parts = std::abs(core.half_log_det().value) + 0.5 * std::abs(core.inner(end.mean, end.mean));
  state.log_evidence.numerical_error =
      rounding.log_evidence +
      summation_error(sites, end.mean.eta, parts + std::abs(end.log_evidence), left, end.quadrature) +
      core.half_log_det().unsettled;
}

}  // namespace gaussmith
