// Robust regression: Student-t noise under EP, Laplace and variational mean field beside Gaussian noise under exact
// inference, on Neal's curve, Friedman's function and Boston housing. The protocol and the published figures are those
// of E. Challis and D. Barber, Gaussian Kullback-Leibler approximate inference, JMLR 14 (2013), section 6.1;
// docs/reproduce/robust_regression.md discusses the result.
//   reproduce_robust_regression [--sets N] [--seed N] [--restarts N] [--start L] [--scale S] [--threads N]
//     [--only NAME] [--method NAME] [--data FOLDER]
#include "robust_data.hpp"
#include "robust_options.hpp"
#include "robust_protocol.hpp"
#include "robust_tables.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace reproduce;

/// What one method did on one set.
struct Outcome {
  double log_evidence = 0.0;
  Score responses;  ///< Of the test responses as they are.
  Score function;   ///< With the function without noise in their place; NaN if that is not known.
  Score rival;      ///< Of the test responses, by the other Student-t method at this method's parameters.
  double scale = 0.0;
};

Outcome judge(const gs::Posterior& posterior, const Part& test, double scale) {
  const gs::Prediction prediction = posterior.predict(test.x);
  return {.log_evidence = posterior.log_evidence().value,
          .responses = predictive_score(prediction, test.y),
          .function = test.f.size() > 0 ? predictive_score(prediction, test.f) : Score{},
          .rival = {},
          .scale = scale};
}

Outcome fit_student(const Split& split, const gs::Method& method, const gs::Method& rival, const Protocol& protocol,
                    Conduct& conduct) {
  const std::vector<Candidate> candidates = fit_scales(split, Noise::student_t, method, protocol, conduct);
  const Candidate& chosen = best(candidates);
  Outcome outcome = judge(chosen.posterior, split.test, chosen.scale);
  const gs::Posterior other = gs::infer(chosen.posterior.model(), rival, {.threads = protocol.threads});
  outcome.rival = predictive_score(other.predict(split.test.x), split.test.y);
  return outcome;
}

Outcome fit_gaussian(const Split& split, const gs::Method& method, const Protocol& protocol, Conduct& conduct) {
  const gs::Learned learned =
      learn(gaussian_by_evidence(split.train, protocol.start), method, Learn::everything, protocol, conduct);
  return judge(learned.posterior, split.test, NAN);
}

// ---- Tables

struct Study {
  std::string name;
  std::string_view method;
  std::vector<Outcome> outcomes;
  Conduct conduct;
};

void print_row(const Study& study, const std::string& targets, Score Outcome::*score) {
  const Published there = published(study.name, study.method == "exact" ? "gaussian" : "student-t", study.method);
  const auto density = [&](const Outcome& outcome) { return (outcome.*score).log_density; };
  const auto error = [&](const Outcome& outcome) { return 100.0 * (outcome.*score).squared_error; };
  const auto evidence = [](const Outcome& outcome) { return outcome.log_evidence; };
  const auto scale = [](const Outcome& outcome) { return outcome.scale; };
  std::printf("| %s, %s | %s, %s | %s | %s | %s | %s | %s | %s | %s |\n", study.name.c_str(), targets.c_str(),
              study.method == "exact" ? "Gaussian" : "Student-t", std::string(study.method).c_str(),
              print(average(study.outcomes, density), 3).c_str(), print(there.log_density, 2).c_str(),
              print(average(study.outcomes, error), 2).c_str(), print(there.squared_error, 1).c_str(),
              print(average(study.outcomes, evidence), 1).c_str(), print(there.log_evidence, 0).c_str(),
              print(average(study.outcomes, scale), 2).c_str());
}

void print_results(const std::vector<Study>& studies) {
  std::printf(
      "| data, test values | noise, method | MLPD | published | MSE x 100 | published | log evidence | published | "
      "scale |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Study& study : studies) print_row(study, "responses", &Outcome::responses);
  for (const Study& study : studies)
    if (study.name != "Boston") print_row(study, "noise-free", &Outcome::function);
}

/// EP minus Laplace on the same sets: what the sets themselves differ in drops out.
template <class EpScore, class LaplaceScore>
void print_pair(const Study& ep, const Study& laplace, const std::string& what, EpScore of_ep,
                LaplaceScore of_laplace) {
  std::vector<double> density, error;
  for (std::size_t s = 0; s < ep.outcomes.size(); ++s) {
    const Score a = of_ep(ep.outcomes[s], laplace.outcomes[s]);
    const Score b = of_laplace(ep.outcomes[s], laplace.outcomes[s]);
    density.push_back(a.log_density - b.log_density);
    error.push_back(100.0 * (a.squared_error - b.squared_error));
  }
  const auto denser = std::count_if(density.begin(), density.end(), [](double d) { return d > 0.0; });
  const auto closer = std::count_if(error.begin(), error.end(), [](double d) { return d < 0.0; });
  std::printf("| %s, %s | %s | %d of %zu | %s | %d of %zu |\n", ep.name.c_str(), what.c_str(),
              print(average(density), 3).c_str(), static_cast<int>(denser), density.size(),
              print(average(error), 2).c_str(), static_cast<int>(closer), error.size());
}

void print_pairs(const std::vector<Study>& studies) {
  std::printf(
      "\n| data, test values | MLPD, EP − Laplace | sets with higher MLPD | MSE x 100, EP − Laplace | sets with lower "
      "MSE |\n| --- | --- | --- | --- | --- |\n");
  const auto ep_own = [](const Outcome& ep, const Outcome&) { return ep.responses; };
  const auto ep_function = [](const Outcome& ep, const Outcome&) { return ep.function; };
  const auto ep_at_laplace = [](const Outcome&, const Outcome& laplace) { return laplace.rival; };
  const auto laplace_own = [](const Outcome&, const Outcome& laplace) { return laplace.responses; };
  const auto laplace_function = [](const Outcome&, const Outcome& laplace) { return laplace.function; };
  const auto laplace_at_ep = [](const Outcome& ep, const Outcome&) { return ep.rival; };
  for (const Study& ep : studies) {
    if (ep.method != "ep") continue;
    const auto laplace = std::find_if(studies.begin(), studies.end(), [&](const Study& other) {
      return other.name == ep.name && other.method == "laplace";
    });
    if (laplace == studies.end()) continue;
    print_pair(ep, *laplace, "responses", ep_own, laplace_own);
    print_pair(ep, *laplace, "responses, both at EP's parameters", ep_own, laplace_at_ep);
    print_pair(ep, *laplace, "responses, both at Laplace's parameters", ep_at_laplace, laplace_own);
    if (ep.name != "Boston") print_pair(ep, *laplace, "noise-free", ep_function, laplace_function);
  }
}

void print_conduct(const std::vector<Study>& studies) {
  std::printf(
      "\n| data | method | fits | evaluations | failed | learning not converged | cold runs not converged | sweeps or "
      "steps: median, 90 %%, most | more than parallel sweeps | lower power | other answer than learning's | fits with "
      "negative precisions | seconds learning |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Study& study : studies) {
    const Conduct& c = study.conduct;
    std::vector<int> sweeps = c.sweeps;
    std::sort(sweeps.begin(), sweeps.end());
    const std::size_t last = sweeps.size() - 1;
    std::printf("| %s | %s | %d | %d | %d | %d | %d | %d, %d, %d | %d | %d | %d | %d | %.1f |\n", study.name.c_str(),
                std::string(study.method).c_str(), c.fits, c.evaluations, c.failed_evaluations,
                c.learning_not_converged, c.cold_not_converged, sweeps[last / 2], sweeps[last * 9 / 10], sweeps[last],
                c.escalated, c.lowered_power, c.another_answer, c.negative, c.seconds);
  }
  for (const Study& study : studies) {
    for (const auto& [note, count] : study.conduct.last_notes)
      std::printf("\n- %s, %s, last switch of %d cold runs: %s", study.name.c_str(), std::string(study.method).c_str(),
                  count, note.c_str());
    for (const auto& [trouble, count] : study.conduct.troubles)
      std::printf("\n- %s, %s, %d times: %s", study.name.c_str(), std::string(study.method).c_str(), count,
                  trouble.c_str());
  }
  std::printf("\n");
}

// ---- The study

void run(const Options& options) {
  std::vector<std::pair<std::string_view, gs::Method>> methods = {
      {"ep", gs::Ep{}}, {"laplace", gs::Laplace{}}, {"vmf", gs::Vmf{}}, {"exact", gs::Exact{}}};
  if (!options.method.empty()) std::erase_if(methods, [&](const auto& each) { return each.first != options.method; });
  Protocol protocol = options.protocol;
  protocol.threads = options.threads;
  std::vector<Study> studies;
  for (const std::string name : {"Neal", "Friedman", "Boston"}) {
    if (!options.only.empty() && options.only != name) continue;
    const DataSet data = make_data_set(name, options.data);
    const std::size_t first = studies.size();
    for (const auto& [method, unused] : methods)
      studies.push_back({.name = name, .method = method, .outcomes = {}, .conduct = {}});
    for (int set = 0; set < options.sets; ++set) {
      const Split split = draw_split(data, protocol.seed, set);
      for (std::size_t m = 0; m < methods.size(); ++m) {
        Study& study = studies[first + m];
        const auto& method = methods[m].second;
        const gs::Method rival = study.method == "ep" ? gs::Method(gs::Laplace{}) : gs::Method(gs::Ep{});
        study.outcomes.push_back(study.method == "exact" ? fit_gaussian(split, method, protocol, study.conduct)
                                                         : fit_student(split, method, rival, protocol, study.conduct));
        const Outcome& o = study.outcomes.back();
        std::fprintf(stderr, "%-8s set %2d %-8s log density %7.3f, squared error %6.4f, scale %.2f, %6.1f s so far\n",
                     name.c_str(), set, std::string(study.method).c_str(), o.responses.log_density,
                     o.responses.squared_error, o.scale, study.conduct.seconds);
      }
    }
  }
  print_results(studies);
  print_pairs(studies);
  print_conduct(studies);
}

}  // namespace

int main(int argc, char** argv) {
  Options defaults;
  defaults.protocol.restarts = 1;
  defaults.protocol.scales = {0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4};
  return run_program("robust_regression", argc, argv, defaults,
                     {{"Neal", "Friedman", "Boston"}, {"ep", "laplace", "vmf", "exact"}}, run);
}
