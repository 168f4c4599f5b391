#include "kl_regression_study.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <numbers>
#include <string_view>
#include <thread>

namespace reproduce {
namespace {

/// log p(y | y), the density of the noise at its peak.
double peak_log_density(Noise noise, double scale) {
  using std::numbers::pi;
  constexpr double nu = degrees_of_freedom;
  switch (noise) {
    case Noise::gaussian:
      return -0.5 * std::log(2.0 * pi * scale * scale);
    case Noise::student_t:
      return std::lgamma(0.5 * (nu + 1.0)) - std::lgamma(0.5 * nu) - 0.5 * std::log(nu * pi * scale * scale);
    case Noise::laplace:
      break;
  }
  return -std::log(2.0 * scale);
}

double parameter(const gs::Model& model, std::string_view name) {
  for (const gs::Parameter& p : model.parameters())
    if (p.name.ends_with(name)) return p.value;
  return NAN;
}

Outcome judge(const gs::Posterior& posterior, const Split& split) {
  const gs::Prediction prediction = posterior.predict(split.test.x);
  Outcome outcome;
  outcome.log_evidence = posterior.log_evidence().value;
  outcome.response_sd = split.response_sd;
  outcome.responses = predictive_score(prediction, split.test.y);
  if (split.test.f.size() > 0) outcome.function = predictive_score(prediction, split.test.f);
  return outcome;
}

/// One column on one partition: the chosen scale, and all of them.
struct Fitted {
  Outcome chosen;
  std::vector<Outcome> by_scale;
};

Fitted fit(const Column& column, const Split& split, const Protocol& protocol, Conduct& conduct) {
  const std::vector<Candidate> candidates = fit_scales(split, column.noise, column.method, protocol, conduct);
  const auto rows = static_cast<double>(split.train.y.size());
  Fitted fitted;
  for (const Candidate& candidate : candidates) {
    Outcome outcome = judge(candidate.posterior, split);
    outcome.scale = candidate.scale;
    outcome.without_constants = outcome.log_evidence - rows * peak_log_density(column.noise, candidate.scale);
    outcome.white_sd = parameter(candidate.posterior.model(), "kernel.terms[1].signal_sd");
    fitted.by_scale.push_back(outcome);
  }
  const Candidate& chosen = best(candidates);
  fitted.chosen = fitted.by_scale[static_cast<std::size_t>(&chosen - candidates.data())];
  const gs::Posterior ep = gs::infer(chosen.posterior.model(), gs::Ep{}, {.threads = 1});
  if (ep.report().converged()) fitted.chosen.ep_evidence = ep.log_evidence().value;
  return fitted;
}

/// As many as the tables of docs/reproduce were made with.
gs::Kl three_starts() {
  gs::Kl options;
  options.starts = 3;
  return options;
}

}  // namespace

const std::vector<Column>& columns() {
  static const std::vector<Column> list = {{"gaussian", "exact", Noise::gaussian, gs::Exact{}},
                                           {"student-t", "kl", Noise::student_t, three_starts()},
                                           {"laplace", "kl", Noise::laplace, gs::Kl{}},
                                           {"student-t", "laplace", Noise::student_t, gs::Laplace{}},
                                           {"laplace", "ep", Noise::laplace, gs::Ep{}}};
  return list;
}

Study run_study(const std::string& name, const Options& options) {
  const DataSet data = make_data_set(name, options.data);
  const auto sets = static_cast<std::size_t>(options.sets);
  Study study{.name = name,
              .outcomes = {columns().size(), std::vector<Outcome>(sets)},
              .by_scale = {columns().size(), {options.protocol.scales.size(), std::vector<Outcome>(sets)}},
              .conducts = {columns().size(), std::vector<Conduct>(sets)},
              .gaussian_by_evidence = std::vector<Outcome>(sets)};
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int set = next++; set < options.sets; set = next++) {
      const auto s = static_cast<std::size_t>(set);
      const Split split = draw_split(data, options.protocol.seed, set);
      for (std::size_t c = 0; c < columns().size(); ++c) {
        const Fitted fitted = fit(columns()[c], split, options.protocol, study.conducts[c][s]);
        study.outcomes[c][s] = fitted.chosen;
        for (std::size_t k = 0; k < fitted.by_scale.size(); ++k) study.by_scale[c][k][s] = fitted.by_scale[k];
      }
      Conduct unused;
      study.gaussian_by_evidence[s] = judge(learn(gaussian_by_evidence(split.train, options.protocol.start),
                                                  gs::Exact{}, Learn::everything, options.protocol, unused)
                                                .posterior,
                                            split);
      std::fprintf(stderr, "%s, partition %d done\n", name.c_str(), set);
    }
  };
  std::vector<std::jthread> workers;
  for (int t = 1; t < std::min(options.threads, options.sets); ++t) workers.emplace_back(work);
  work();
  workers.clear();
  return study;
}

}  // namespace reproduce
