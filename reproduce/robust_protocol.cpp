#include "robust_protocol.hpp"

#include <algorithm>
#include <chrono>

namespace reproduce {
namespace {

gs::KernelHandle squared_exponential(const Part& train, double start) {
  const auto columns = static_cast<std::size_t>(train.x.cols());
  const double lengthscale = start > 0.0 ? start : std::sqrt(static_cast<double>(columns));
  return gs::make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", std::vector<double>(columns, lengthscale)}});
}

gs::Sites observe(Noise noise, const gs::Vector& y, double scale) {
  switch (noise) {
    case Noise::gaussian:
      return gs::observe("gaussian", y, {{"variance", gs::one(scale * scale)}});
    case Noise::student_t:
      return gs::observe("student-t", y, {{"nu", gs::one(degrees_of_freedom)}, {"scale", gs::one(scale)}});
    case Noise::laplace:
      break;
  }
  return gs::observe("laplace", y, {{"scale", gs::one(scale)}});
}

void keep_conduct(const gs::Learned& learned, const gs::Report& cold, double cold_evidence, Conduct& conduct) {
  ++conduct.fits;
  conduct.evaluations += learned.report.evaluations;
  conduct.failed_evaluations += learned.report.failed_evaluations;
  if (learned.report.status != gs::Status::converged) {
    ++conduct.learning_not_converged;
    ++conduct.troubles["learning " + std::string(gs::to_string(learned.report.status))];
  }
  if (!cold.converged()) {
    ++conduct.cold_not_converged;
    ++conduct.troubles["cold run " + std::string(gs::to_string(cold.status)) + ", " + cold.message];
  }
  if (!cold.notes.empty()) {
    ++conduct.escalated;
    const std::string& note = cold.notes.back();
    const std::size_t from = note.find(": ");
    const std::size_t to = note.find(" (mismatch");
    ++conduct.last_notes[from == std::string::npos ? note : note.substr(from + 2, to - from - 2)];
  }
  for (const std::string& warning : cold.warnings)
    if (warning.find("power was lowered") != std::string::npos) ++conduct.lowered_power;
  if (std::abs(cold_evidence - learned.posterior.log_evidence().value) > 1e-4) ++conduct.another_answer;
  if (cold.negative_precisions > 0) ++conduct.negative;
  conduct.sweeps.push_back(cold.iterations);
}

}  // namespace

gs::Model robust_model(Noise noise, const Part& train, double scale, double start) {
  const auto kernel = gs::sum({squared_exponential(train, start), gs::make_kernel("white", {{"signal_sd", {0.1}}})});
  return {.prior = gs::GaussianProcess{.inputs = train.x, .kernel = kernel}, .sites = {observe(noise, train.y, scale)}};
}

gs::Model gaussian_by_evidence(const Part& train, double start) {
  return {.prior = gs::GaussianProcess{.inputs = train.x, .kernel = squared_exponential(train, start)},
          .sites = {gs::observe("gaussian", train.y, {{"variance", gs::one(0.1)}})}};
}

gs::Learned learn(const gs::Model& model, const gs::Method& method, Learn what, const Protocol& protocol,
                  Conduct& conduct) {
  gs::LearnOptions learning;
  if (what == Learn::covariance)
    for (const gs::Parameter& parameter : model.parameters())
      if (parameter.name.starts_with("sites[0].")) learning.fixed.insert(parameter.name);
  learning.default_bounds = {.lower = 1e-3, .upper = 1e3};
  learning.restarts = protocol.restarts;
  learning.tolerance = 1e-3;
  const gs::Run run{.threads = protocol.threads, .seed = protocol.seed};
  const auto start = std::chrono::steady_clock::now();
  gs::Learned learned = gs::learn(model, method, learning, run);
  conduct.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const gs::Posterior cold = gs::infer(learned.posterior.model(), method, run);
  keep_conduct(learned, cold.report(), cold.log_evidence().value, conduct);
  return learned;
}

Score predictive_score(const gs::Prediction& prediction, const gs::Vector& y) {
  return {prediction.log_density(y).mean(), (prediction.latent_mean() - y).cwiseAbs2().mean()};
}

std::vector<Candidate> fit_scales(const Split& split, Noise noise, const gs::Method& method, const Protocol& protocol,
                                  Conduct& conduct) {
  std::vector<Candidate> candidates;
  for (const double scale : protocol.scales) {
    const gs::Learned learned =
        learn(robust_model(noise, split.train, scale, protocol.start), method, Learn::covariance, protocol, conduct);
    const double validation = learned.posterior.predict(split.validation.x).log_density(split.validation.y).mean();
    candidates.push_back({learned.posterior, scale, validation});
  }
  return candidates;
}

const Candidate& best(const std::vector<Candidate>& candidates) {
  return *std::max_element(candidates.begin(), candidates.end(),
                           [](const Candidate& a, const Candidate& b) { return a.validation < b.validation; });
}

}  // namespace reproduce
