#include "softmax_bound_study.hpp"

#include "class_sampling.hpp"
#include "mean_field_scales.hpp"

#include <Eigen/Cholesky>

#include <cmath>

namespace reproduce {
namespace {

const std::string logit = "multinomial-logit";
const std::string probit = "multinomial-probit";

std::string indexed(const char* name, gs::Index i) { return name + std::to_string(i); }

void add_lengthscales(Figures& figures, const gs::Vector& lengthscale) {
  for (gs::Index d = 0; d < lengthscale.size(); ++d) figures.emplace_back(indexed("ell", d), lengthscale(d));
}

gs::Model ard_model(const Trial& trial, const std::string& likelihood, const gs::Vector& lengthscale) {
  return class_model(likelihood, trial.split.train, trial.data.classes, unit_ard_kernel(lengthscale));
}

void add_converged(Figures& figures, const gs::Posterior& posterior) {
  figures.emplace_back("converged", posterior.report().converged() ? 1.0 : 0.0);
}

std::uint64_t seed_of(const Trial& trial) { return static_cast<std::uint64_t>(trial.set) + 1; }

/// log p(y) and predictions by importance sampling.
void add_sample(Figures& figures, const ClassSampler& sampler, const Trial& trial, int thinning) {
  const ImportanceSample sample = sampler.importance(trial.draws, thinning, seed_of(trial));
  const SampledScore scored = score_sample(sample.classes, trial.split.test.y);
  figures.emplace_back("mc_log_z", sample.evidence.log_value);
  figures.emplace_back("mc_log_z_error", sample.evidence.standard_error);
  figures.emplace_back("mc_log_z_upper", sample.evidence.upper);
  figures.emplace_back("mc_effective", sample.evidence.effective_draws);
  figures.emplace_back("mc_errors", scored.score.errors);
  figures.emplace_back("mc_log_density", scored.score.log_density);
  figures.emplace_back("mc_log_density_error", scored.standard_error);
}

void add_published_proposal(Figures& figures, const ClassSampler& sampler, const Trial& trial) {
  const SampledEvidence evidence = sampler.importance_student(trial.student_draws, seed_of(trial));
  figures.emplace_back("t_log_z", evidence.log_value);
  figures.emplace_back("t_log_z_upper", evidence.upper);
  figures.emplace_back("t_effective", evidence.effective_draws);
}

void add_bound(Figures& figures, const gs::Posterior& posterior, const Trial& trial) {
  const gs::Vector& labels = trial.split.test.y;
  const gs::Prediction prediction = posterior.predict(trial.split.test.x);
  const ClassScore at_mean = score_classes(prediction.class_probabilities_at_mean(), labels);
  const ClassScore lower = score_classes(prediction.class_log_density_lower().array().exp().matrix(), labels);
  const ClassScore averaged = score_classes(prediction.class_probabilities().probability, labels);
  figures.emplace_back("log_zh", posterior.log_evidence().value);
  figures.emplace_back("log_zb", gs::class_bounds(posterior).log_zb);
  figures.emplace_back("errors", at_mean.errors);
  figures.emplace_back("at_mean", at_mean.log_density);
  figures.emplace_back("lower", lower.log_density);
  figures.emplace_back("averaged", averaged.log_density);
  figures.emplace_back("averaged_errors", averaged.errors);
  add_converged(figures, posterior);
}

/// Learning with the full covariance; what is returned is inferred anew to the usual tolerance.
struct Fit {
  gs::Posterior posterior;
  gs::LearnReport report;
};

Fit learn_bound(const gs::Model& model, const std::set<std::string, std::less<>>& fixed) {
  gs::Kl on_the_way{.covariance = "full", .tolerance = 1e-6};
  gs::LearnOptions options{.fixed = fixed, .max_evaluations = 400, .tolerance = 1e-3};
  options.standard_errors = false;
  const gs::Learned learned = gs::learn(model, on_the_way, options);
  return {gs::infer(learned.posterior.model(), gs::Kl{.covariance = "full"}, {.warm_start = &learned.posterior}),
          learned.report};
}

void add_learning(Figures& figures, const gs::LearnReport& report) {
  figures.emplace_back("evaluations", report.evaluations);
  figures.emplace_back("failed", report.failed_evaluations);
  figures.emplace_back("learned", report.status == gs::Status::converged ? 1.0 : 0.0);
}

}  // namespace

Figures mean_field(const Trial& trial) {
  const MeanFieldScales scales = mean_field_scales(trial.split.train, trial.data.classes, {.seed = seed_of(trial)});
  const gs::Posterior posterior = gs::infer(ard_model(trial, probit, scales.lengthscale), gs::Vmf{});
  const ClassScore scored =
      score_classes(posterior.predict(trial.split.test.x).class_probabilities().probability, trial.split.test.y);
  Figures figures = {{"reported", scales.reported_bound},
                     {"bound", posterior.log_evidence().value},
                     {"errors", scored.errors},
                     {"log_density", scored.log_density}};
  add_converged(figures, posterior);
  add_lengthscales(figures, scales.lengthscale);
  return figures;
}

Figures sampled_probit(const Trial& trial, const gs::Vector& lengthscale) {
  const gs::Posterior posterior = gs::infer(ard_model(trial, probit, lengthscale), gs::Ep{});
  Figures figures = {{"ep_log_z", posterior.log_evidence().value}};
  add_converged(figures, posterior);
  // The integral of the probit is dear, once for a row and C times for a point.
  const ClassSampler sampler(posterior, trial.split.test.x);
  add_sample(figures, sampler, trial, 7);
  add_published_proposal(figures, sampler, trial);
  return figures;
}

Figures softmax_bound(const Trial& trial, const gs::Vector& lengthscale) {
  const gs::Posterior posterior = gs::infer(ard_model(trial, logit, lengthscale), gs::Kl{.covariance = "full"});
  Figures figures;
  add_bound(figures, posterior, trial);
  const ClassSampler sampler(posterior, trial.split.test.x);
  add_sample(figures, sampler, trial, 1);
  add_published_proposal(figures, sampler, trial);
  return figures;
}

Figures learned_lengthscales(const Trial& trial, const gs::Vector& other_start) {
  const gs::Index inputs = trial.split.train.x.cols();
  const gs::Vector start = gs::Vector::Constant(inputs, std::sqrt(static_cast<double>(inputs)));
  const Fit first = learn_bound(ard_model(trial, logit, start), {"kernel.signal_sd"});
  const Fit second = learn_bound(ard_model(trial, logit, other_start), {"kernel.signal_sd"});
  const double gain = second.posterior.log_evidence().value - first.posterior.log_evidence().value;
  const Fit& better = gain > 0.0 ? second : first;
  gs::Vector lengthscale(inputs);
  for (gs::Index d = 0; d < inputs; ++d)
    lengthscale(d) = parameter_of(better.posterior.model(), indexed("kernel.lengthscale[", d) + "]");
  Figures figures = {{"other_start_gains", gain}};
  add_learning(figures, better.report);
  add_lengthscales(figures, lengthscale);
  return figures;
}

Figures bounds_at_variance(const Trial& trial, const gs::Vector& lengthscale, double variance) {
  const gs::KernelHandle kernel = gs::make_kernel(
      "se", {{"signal_sd", {std::sqrt(variance)}}, {"lengthscale", {lengthscale.begin(), lengthscale.end()}}});
  const gs::Posterior posterior =
      gs::infer(class_model(logit, trial.split.train, trial.data.classes, kernel), gs::Kl{.covariance = "full"});
  const ImportanceSample sample =
      ClassSampler(posterior, trial.split.test.x.topRows(1), 2.0).importance(trial.draws, 9, seed_of(trial));
  Figures figures = {{"log_zh", posterior.log_evidence().value},
                     {"log_zb", gs::class_bounds(posterior).log_zb},
                     {"mc_log_z", sample.evidence.log_value},
                     {"mc_log_z_error", sample.evidence.standard_error},
                     {"mc_log_z_upper", sample.evidence.upper}};
  add_converged(figures, posterior);
  return figures;
}

const std::vector<ClassCovariance>& class_covariances() {
  static const std::vector<ClassCovariance> models = {{"M1", gs::LatentModel::identity},
                                                      {"M2", gs::LatentModel::diagonal},
                                                      {"M3", gs::LatentModel::centred_diagonal},
                                                      {"M4", gs::LatentModel::centred},
                                                      {"M5", gs::LatentModel::full}};
  return models;
}

namespace {

Figures figures_of_model(const Trial& trial, const Fit& fit) {
  Figures figures;
  add_bound(figures, fit.posterior, trial);
  add_learning(figures, fit.report);
  add_sample(figures, ClassSampler(fit.posterior, trial.split.test.x, 2.0), trial, 1);
  const gs::Matrix kc = fit.posterior.model().latents.covariance();
  for (gs::Index i = 0; i < kc.rows(); ++i)
    for (gs::Index j = 0; j <= i; ++j)
      figures.emplace_back("kc" + std::to_string(i) + "_" + std::to_string(j), kc(i, j));
  return figures;
}

}  // namespace

Figures independent_functions(const Trial& trial) {
  const double start = std::sqrt(static_cast<double>(trial.split.train.x.cols()));
  const Fit fit =
      learn_bound(class_model(logit, trial.split.train, trial.data.classes, isotropic_kernel(2.0, start)), {});
  Figures figures = figures_of_model(trial, fit);
  figures.emplace_back("signal_sd", parameter_of(fit.posterior.model(), "kernel.signal_sd"));
  figures.emplace_back("lengthscale", parameter_of(fit.posterior.model(), "kernel.lengthscale"));
  return figures;
}

Figures related_functions(const Trial& trial, gs::LatentModel model, double signal_sd, double lengthscale,
                          const gs::Matrix& start) {
  gs::Model functions =
      class_model(logit, trial.split.train, trial.data.classes, isotropic_kernel(signal_sd, lengthscale));
  functions.latents.model = model;
  if (start.size() > 0 && model == gs::LatentModel::full)
    functions.latents.factor = Eigen::LLT<gs::Matrix>(start).matrixL();
  return figures_of_model(trial, learn_bound(functions, {"kernel.signal_sd", "kernel.lengthscale"}));
}

gs::Matrix class_covariance(const Ledger& ledger, const std::string& study, int set, gs::Index classes) {
  gs::Matrix kc(classes, classes);
  for (gs::Index i = 0; i < classes; ++i)
    for (gs::Index j = 0; j <= i; ++j)
      kc(i, j) = kc(j, i) = ledger.value(study, set, "kc" + std::to_string(i) + "_" + std::to_string(j));
  return kc;
}

gs::Vector lengthscales(const Ledger& ledger, const std::string& study, int set, gs::Index inputs) {
  gs::Vector lengthscale(inputs);
  for (gs::Index d = 0; d < inputs; ++d) lengthscale(d) = ledger.value(study, set, indexed("ell", d));
  return lengthscale;
}

}  // namespace reproduce
