// Nested EP, variational mean field and Laplace beside Markov chains in multi-class Gaussian processes: what P.
// Jylänki's thesis (2013), section 3.2, says in words about five data sets, in figures. docs/reproduce/nested_ep.md
// discusses them.
//   reproduce_nested_ep --data FOLDER [--results FILE] [--sets N] [--seed N] [--only NAME] [--steps N]
#include "class_sampling.hpp"
#include "command_line.hpp"
#include "ledger.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace {

using namespace reproduce;

const std::string logit = "multinomial-logit";
const std::string probit = "multinomial-probit";

struct Learner {
  const char* name;
  const std::string& likelihood;
  gs::Method method;
};

const std::vector<Learner>& learners() {
  static const std::vector<Learner> all = {
      {"laplace", logit, gs::Laplace{}}, {"vmf", probit, gs::Vmf{}}, {"ep", probit, gs::Ep{}}};
  return all;
}

struct Trial {
  const ClassData& data;
  ClassSplit split;
  int set = 0;
  int steps = 20000;
};

std::string study_of(const Trial& trial, const std::string& what) { return trial.data.name + "/" + what; }

/// Both parameters of the squared exponential by the evidence of the method, under a hyperprior wide enough to matter
/// only where classes can be told apart perfectly and the evidence rises with the variance without end.
Figures learn_kernel(const Trial& trial, const Learner& learner) {
  const double start = std::sqrt(static_cast<double>(trial.split.train.x.cols()));
  const gs::Model model =
      class_model(learner.likelihood, trial.split.train, trial.data.classes, isotropic_kernel(2.0, start));
  gs::LearnOptions options{.hyperpriors = {{"kernel.signal_sd", {.median = 2.0, .sd = 1.5}},
                                           {"kernel.lengthscale", {.median = start, .sd = 1.5}}},
                           .tolerance = 1e-3};
  options.standard_errors = false;
  const gs::Learned learned = gs::learn(model, learner.method, options);
  const gs::Posterior& posterior = learned.posterior;
  const ClassScore scored =
      score_classes(posterior.predict(trial.split.test.x).class_probabilities().probability, trial.split.test.y);
  return {{"signal_sd", parameter_of(posterior.model(), "kernel.signal_sd")},
          {"lengthscale", parameter_of(posterior.model(), "kernel.lengthscale")},
          {"log_z", posterior.log_evidence().value},
          {"errors", scored.errors},
          {"log_density", scored.log_density},
          {"evaluations", learned.report.evaluations},
          {"failed", learned.report.failed_evaluations},
          {"converged", learned.report.status == gs::Status::converged && posterior.report().converged() ? 1.0 : 0.0}};
}

/// How far approximate latent marginals are from those of the chain, on average.
struct Distance {
  double mean = 0.0;  ///< Root-mean-square difference of means, in standard deviations of the chain.
  double sd = 0.0;    ///< Mean ratio of standard deviations.
  double kl = 0.0;    ///< Mean KL divergence of Gaussians with these moments, from the chain's.
};

Distance distance(const gs::Vector& mean, const gs::Vector& variance, const gs::Vector& chain_mean,
                  const gs::Vector& chain_variance) {
  const auto shift = (mean - chain_mean).array().square().eval();
  const auto ratio = (chain_variance.array() / variance.array()).eval();
  return {.mean = std::sqrt((shift / chain_variance.array()).mean()),
          .sd = ratio.sqrt().inverse().mean(),
          .kl = 0.5 * (ratio + shift / variance.array() - 1.0 - ratio.log()).mean()};
}

void add_rival(Figures& figures, const std::string& name, const gs::Posterior& posterior, const Trial& trial,
               const SampledClasses& chain) {
  const gs::Prediction prediction = posterior.predict(trial.split.test.x);
  const gs::Matrix probability = prediction.class_probabilities().probability;
  const ClassScore scored = score_classes(probability, trial.split.test.y);
  const gs::Index rows = posterior.latent().mean.size(), points = prediction.latent_mean().size();
  const Distance at_rows = distance(posterior.latent().mean, posterior.latent().variance, chain.latent_mean.head(rows),
                                    chain.latent_variance.head(rows));
  const Distance at_points = distance(prediction.latent_mean(), prediction.latent_variance(),
                                      chain.latent_mean.tail(points), chain.latent_variance.tail(points));
  figures.emplace_back(name + "_rows_mean", at_rows.mean);
  figures.emplace_back(name + "_rows_sd", at_rows.sd);
  figures.emplace_back(name + "_rows_kl", at_rows.kl);
  figures.emplace_back(name + "_points_mean", at_points.mean);
  figures.emplace_back(name + "_points_sd", at_points.sd);
  figures.emplace_back(name + "_points_kl", at_points.kl);
  // Total variation: half the sum of the differences of a point's probabilities.
  figures.emplace_back(name + "_probability",
                       0.5 * (probability - chain.probability).cwiseAbs().rowwise().sum().mean());
  figures.emplace_back(name + "_errors", scored.errors);
  figures.emplace_back(name + "_log_density", scored.log_density);
  figures.emplace_back(name + "_log_z", posterior.log_evidence().value);
  figures.emplace_back(name + "_converged", posterior.report().converged() ? 1.0 : 0.0);
}

/// Chains of one likelihood at these parameters, and its approximations beside them. The first one is what the chain
/// runs around.
Figures chain_and_rivals(const Trial& trial, const std::string& likelihood,
                         const std::vector<std::pair<std::string, gs::Method>>& methods, double signal_sd,
                         double lengthscale) {
  const gs::Model model =
      class_model(likelihood, trial.split.train, trial.data.classes, isotropic_kernel(signal_sd, lengthscale));
  std::vector<gs::Posterior> posteriors;
  for (const auto& [name, method] : methods) posteriors.push_back(gs::infer(model, method));
  const ClassSampler sampler(posteriors.front(), trial.split.test.x, 1.7);
  const int thinning = 5;
  const auto seed = 2 * static_cast<std::uint64_t>(trial.set) + 1;
  // Two chains: their difference is an error that neither knows of.
  const ChainSample chain = sampler.chain(trial.steps, thinning, seed);
  const ChainSample other = sampler.chain(trial.steps, thinning, seed + 1);
  const gs::Index rows = posteriors.front().latent().mean.size();
  const SampledScore scored = score_sample(chain.classes, trial.split.test.y);
  const Distance noise = distance(other.classes.latent_mean.head(rows), other.classes.latent_variance.head(rows),
                                  chain.classes.latent_mean.head(rows), chain.classes.latent_variance.head(rows));
  Figures figures = {{"errors", scored.score.errors},
                     {"log_density", scored.score.log_density},
                     {"log_density_error", scored.standard_error},
                     {"other_log_density", score_sample(other.classes, trial.split.test.y).score.log_density},
                     {"efficiency", std::min(chain.efficiency, other.efficiency)},
                     {"draws_a_step", chain.draws_a_step},
                     {"noise_mean", noise.mean},
                     {"noise_kl", noise.kl},
                     {"noise_probability",
                      0.5 * (chain.classes.probability - other.classes.probability).cwiseAbs().rowwise().sum().mean()}};
  for (std::size_t i = 0; i < methods.size(); ++i)
    add_rival(figures, methods[i].first, posteriors[i], trial, chain.classes);
  return figures;
}

void run_trial(const Trial& trial, Ledger& ledger) {
  for (const Learner& learner : learners())
    once(ledger, study_of(trial, learner.name), trial.set, [&] { return learn_kernel(trial, learner); });
  const double signal_sd = ledger.value(study_of(trial, "ep"), trial.set, "signal_sd");
  const double lengthscale = ledger.value(study_of(trial, "ep"), trial.set, "lengthscale");
  once(ledger, study_of(trial, "chain-probit"), trial.set, [&] {
    return chain_and_rivals(trial, probit, {{"ep", gs::Ep{}}, {"vmf", gs::Vmf{}}}, signal_sd, lengthscale);
  });
  once(ledger, study_of(trial, "chain-logit"), trial.set, [&] {
    return chain_and_rivals(trial, logit, {{"kl", gs::Kl{}}, {"laplace", gs::Laplace{}}}, signal_sd, lengthscale);
  });
}

// ---- Tables

void print_learned(const Ledger& ledger, const std::vector<std::string>& names, int sets) {
  std::printf(
      "| data | method | partitions | errors, %% | MLPD | log evidence | σ | ℓ | not converged |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : names) {
    const auto row = [&](const std::string& method, const std::string& study, double test_rows) {
      const auto column = [&](const char* figure, double scale = 1.0) {
        std::vector<double> values = ledger.column(name + "/" + study, figure, sets);
        for (double& value : values) value *= scale;
        return spread(values);
      };
      const std::vector<double> converged = ledger.column(name + "/" + study, "converged", sets);
      std::printf("| %s | %s | %zu | %s | %s | %s | %s | %s | %td |\n", name.c_str(), method.c_str(),
                  column("errors").count, print(column("errors", 100.0 / test_rows), 2).c_str(),
                  print(column("log_density", 1.0 / test_rows), 3).c_str(), print(column("log_z"), 2).c_str(),
                  print(column("signal_sd"), 2).c_str(), print(column("lengthscale"), 2).c_str(),
                  std::count(converged.begin(), converged.end(), 0.0));
    };
    const std::vector<double> test_rows = ledger.column(name + "/size", "test_rows", 1);
    if (test_rows.empty()) continue;
    row("laplace, softmax", "laplace", test_rows[0]);
    row("vmf, probit", "vmf", test_rows[0]);
    row("ep, probit", "ep", test_rows[0]);
    row("chain, probit, at EP's σ, ℓ", "chain-probit", test_rows[0]);
  }
}

void print_distances(const Ledger& ledger, const std::vector<std::string>& names, int sets) {
  std::printf(
      "\n| data | likelihood, method | rows: mean off by | sd ratio | KL | points: mean off by | sd ratio | KL | class "
      "probabilities off by | MLPD - chain's | error, %%, - chain's |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const std::vector<std::array<const char*, 3>> rows = {{"chain-probit", "ep", "probit, ep"},
                                                        {"chain-probit", "vmf", "probit, vmf"},
                                                        {"chain-logit", "laplace", "softmax, laplace"},
                                                        {"chain-logit", "kl", "softmax, kl"}};
  for (const std::string& name : names) {
    const double test_rows = ledger.value(name + "/size", 0, "test_rows");
    for (const auto& [study, method, what] : rows) {
      const std::string full = name + "/" + study;
      const auto column = [&](const std::string& figure) {
        return ledger.column(full, std::string(method) + "_" + figure, sets);
      };
      std::vector<double> density = column("log_density"), errors = column("errors");
      const std::vector<double> chain_density = ledger.column(full, "log_density", sets);
      const std::vector<double> chain_errors = ledger.column(full, "errors", sets);
      for (std::size_t i = 0; i < density.size(); ++i) {
        density[i] = (density[i] - chain_density[i]) / test_rows;
        errors[i] = 100.0 * (errors[i] - chain_errors[i]) / test_rows;
      }
      std::printf("| %s | %s |", name.c_str(), what);
      for (const char* figure :
           {"rows_mean", "rows_sd", "rows_kl", "points_mean", "points_sd", "points_kl", "probability"})
        std::printf(" %s |", print(spread(column(figure)), 4).c_str());
      std::printf(" %s | %s |\n", print(spread(density), 4).c_str(), print(spread(errors), 2).c_str());
    }
  }
  std::printf(
      "\n| data | likelihood | two chains: mean off by | KL | class probabilities off by | MLPD, standard error | "
      "largest "
      "difference of MLPD | effective draws a step |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& name : names) {
    const double test_rows = ledger.value(name + "/size", 0, "test_rows");
    for (const char* study : {"chain-probit", "chain-logit"}) {
      const std::string full = name + "/" + study;
      const auto column = [&](const char* figure) { return ledger.column(full, figure, sets); };
      double largest = 0.0;
      for (std::size_t i = 0; i < column("log_density").size(); ++i)
        largest = std::max(largest, std::abs(column("log_density")[i] - column("other_log_density")[i]) / test_rows);
      std::printf("| %s | %s | %s | %s | %s | %.4f | %.4f | %s |\n", name.c_str(),
                  std::string(study) == "chain-probit" ? "probit" : "softmax",
                  print(spread(column("noise_mean")), 4).c_str(), print(spread(column("noise_kl")), 5).c_str(),
                  print(spread(column("noise_probability")), 4).c_str(),
                  spread(column("log_density_error")).mean / test_rows, largest,
                  print(spread(column("efficiency")), 2).c_str());
    }
  }
}

void run(const CommandLine& line) {
  const int sets = line.number("sets", 50);
  const auto seed = static_cast<std::uint64_t>(line.number("seed", 1));
  const std::vector<std::string> names = line.chosen("only", class_data_names());
  Ledger ledger(line.text("results", ""));
  for (const std::string& name : names) {
    const ClassData data = read_class_data(name, line.text("data", "data"));
    for (int set = 0; set < sets; ++set) {
      const Trial trial{
          .data = data, .split = draw_class_split(data, seed, set), .set = set, .steps = line.number("steps", 20000)};
      if (set == 0)
        once(ledger, name + "/size", 0, [&] {
          return Figures{{"test_rows", static_cast<double>(trial.split.test.y.size())}};
        });
      run_trial(trial, ledger);
    }
  }
  print_learned(ledger, names, sets);
  print_distances(ledger, names, sets);
}

}  // namespace

int main(int argc, char** argv) {
  return guarded("nested_ep", [&] {
    run(CommandLine(argc, argv, {"data", "results", "sets", "seed", "only", "steps"}));
  });
}
