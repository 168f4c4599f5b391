// Verdicts on fits whose errors are known: 120 models of three kinds under laplace, kl and ep, several seeds of the
// check; processes of up to 150 rows; planted modes. Prints Markdown tables.
//
//   reproduce_verdicts models [--models 120] [--seed 1] [--checks 5] [--list]
//   reproduce_verdicts processes
//   reproduce_verdicts planted
//   reproduce_verdicts intervals [--checks 5]

#include "verdict_models.hpp"
#include "verdict_truth.hpp"

#include <gaussmith/errors.hpp>
#include <gaussmith/trust.hpp>

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace gs = gaussmith;
using namespace reproduce;

enum class Quality { good, bad, neither };

/// How far a fit is off, each error in units of what is bad.
struct FitError {
  double evidence = 0.0, mean = 0.0, sd = 0.0;
  Quality quality = Quality::good;
};

/// Bad: evidence off by more than a nat, a mean by half an sd, an sd by 20 %. Within 1 % of a limit, or within the
/// truth's own error of it, neither.
FitError error_of(const gs::Posterior& q, const PosteriorTruth& truth) {
  constexpr double nats = 1.0;
  constexpr double sds = 0.5;
  constexpr double share = 0.2;
  constexpr double near = 0.01;
  FitError out;
  out.evidence = std::abs(q.log_evidence().value - truth.log_evidence) / nats;
  const auto compare = [&](const gs::Marginals& fit, const gs::Vector& mean, const gs::Vector& sd) {
    for (gs::Index i = 0; i < mean.size(); ++i) {
      if (sd(i) == 0.0) continue;
      out.mean = std::max(out.mean, std::abs(fit.mean(i) - mean(i)) / sd(i) / sds);
      out.sd = std::max(out.sd, std::abs(std::sqrt(fit.variance(i)) / sd(i) - 1.0) / share);
    }
  };
  compare(q.latent(), truth.latent_mean, truth.latent_sd);
  compare(q.weights(), truth.weights_mean, truth.weights_sd);
  const auto state = [&](double error, double uncertain) {
    const double room = near + uncertain;
    return error > 1.0 + room ? Quality::bad : error < 1.0 - room ? Quality::good : Quality::neither;
  };
  const std::array<Quality, 3> each{state(out.evidence, truth.log_evidence_error / nats),
                                    state(out.mean, 2.0 * truth.mean_error / sds),
                                    state(out.sd, 2.0 * truth.sd_error / share)};
  const auto any = [&](Quality quality) { return std::find(each.begin(), each.end(), quality) != each.end(); };
  out.quality = any(Quality::bad) ? Quality::bad : any(Quality::neither) ? Quality::neither : Quality::good;
  return out;
}

struct Count {
  int fits = 0, runs = 0, trusted = 0, refused = 0;
  void add(const gs::TrustCard& card) {
    ++runs;
    trusted += card.verdict == gs::Verdict::trust;
    refused += card.verdict == gs::Verdict::do_not_trust;
  }
};

const std::array<gs::Method, 3> methods{gs::Laplace{}, gs::Kl{}, gs::Ep{}};
const std::array<const char*, 3> kind_names{"easy", "skewed", "conflicting"};

struct Arguments {
  std::string what = "models";
  int models = 120, checks = 5, particles = 4000;
  std::uint64_t seed = 1;
  bool list = false;
};

void print(const std::map<std::pair<int, std::size_t>, std::array<Count, 3>>& counts) {
  fmt::print(
      "| models | method | good fits | trusted | not trusted at all | bad fits | trusted | not trusted at all | "
      "neither |\n|---|---|---|---|---|---|---|---|---|\n");
  std::array<Count, 3> all{};
  for (const auto& [key, count] : counts) {
    const auto& [good, bad, neither] = count;
    fmt::print("| {} | {} | {} | {}/{} | {} | {} | {}/{} | {} | {} |\n",
               kind_names[static_cast<std::size_t>(key.first)], gs::name_of(methods[key.second]), good.fits,
               good.trusted, good.runs, good.refused, bad.fits, bad.trusted, bad.runs, bad.refused, neither.fits);
    for (std::size_t q = 0; q < 3; ++q) {
      all[q].fits += count[q].fits;
      all[q].runs += count[q].runs;
      all[q].trusted += count[q].trusted;
      all[q].refused += count[q].refused;
    }
  }
  fmt::print("| all | all | {} | {}/{} | {} | {} | {}/{} | {} | {} |\n", all[0].fits, all[0].trusted, all[0].runs,
             all[0].refused, all[1].fits, all[1].trusted, all[1].runs, all[1].refused, all[2].fits);
}

void run_models(const Arguments& arguments) {
  std::map<std::pair<int, std::size_t>, std::array<Count, 3>> counts;
  int number = 0;
  for (const VerdictModel& entry : verdict_models(arguments.models, arguments.seed)) {
    ++number;
    const PosteriorTruth truth =
        posterior_truth(entry.model, arguments.particles, 77 * arguments.seed + static_cast<std::uint64_t>(number));
    for (std::size_t m = 0; m < methods.size(); ++m) {
      std::optional<gs::Posterior> q;
      try {
        q = gs::infer(entry.model, methods[m], {.seed = 1});
      } catch (const gs::InvalidOption&) {
        continue;  // Sites with kinks have no Laplace approximation.
      }
      const FitError error = error_of(*q, truth);
      Count& count = counts[{static_cast<int>(entry.kind), m}][static_cast<std::size_t>(error.quality)];
      ++count.fits;
      for (int check = 1; check <= arguments.checks; ++check) {
        const gs::TrustCard card = gs::diagnose(*q, {.advice = false}, {.seed = static_cast<std::uint64_t>(check)});
        count.add(card);
        const bool wrong = error.quality == Quality::bad
                               ? card.verdict == gs::Verdict::trust
                               : error.quality == Quality::good && card.verdict == gs::Verdict::do_not_trust;
        if (wrong || (arguments.list && check == 1)) {
          fmt::print(stderr,
                     "{}{} {} D={} N={} {}: {} evidence {:.2f} mean {:.2f} sd {:.2f} -> {}; k {:.2f} ess {:.0f} draws "
                     "{} modes {}/{}",
                     wrong ? "WRONG " : "", number, entry.name, entry.model.dimension(), entry.model.rows(),
                     gs::name_of(methods[m]),
                     error.quality == Quality::bad    ? "bad"
                     : error.quality == Quality::good ? "good"
                                                      : "neither",
                     error.evidence, error.mean, error.sd, gs::to_string(card.verdict),
                     card.check ? card.check->pareto_k : NAN, card.check ? card.check->effective : NAN,
                     card.check ? card.check->draws : 0, card.modes_found, card.mode_starts);
          for (const std::string& reason : card.reasons) fmt::print(stderr, "; {}", reason);
          fmt::print(stderr, " (truth's errors {:.3f} {:.3f} {:.3f})\n", truth.log_evidence_error, truth.mean_error,
                     truth.sd_error);
        }
      }
    }
  }
  print(counts);
}

void run_processes() {
  fmt::print(
      "| rows | likelihood | method | verdict | evidence | marginals | draws | effective | k |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  for (const gs::Index n : {20, 40, 80, 150})
    for (const char* likelihood : {"bernoulli-probit", "bernoulli-logit", "poisson"})
      for (std::uint64_t seed = 1; seed <= 2; ++seed)
        for (const gs::Method& method : methods) {
          const gs::Model model = verdict_process(n, likelihood, 100 * seed + static_cast<std::uint64_t>(n));
          const gs::TrustCard card = gs::diagnose(gs::infer(model, method), {.advice = false}, {.seed = seed});
          fmt::print(
              "| {} | {} | {} | {} | {:+.2f} ± {:.2g} | mean {:+.2f} ± {:.2g}, sd × {:.2f} ± {:.2g} | {} | {:.0f} | "
              "{:.2f} |\n",
              n, likelihood, gs::name_of(method), gs::to_string(card.verdict), card.check->evidence_gap,
              card.check->log_evidence_error, card.check->mean_gap, card.check->mean_gap_error, card.check->sd_ratio,
              card.check->sd_ratio_error, card.check->draws, card.check->effective, card.check->pareto_k);
        }
}

/// The evidence of a model with a standard error, by several truths whose own errors come from two runs each, too few.
std::pair<double, double> evidence_truth(const gs::Model& model, int particles, std::uint64_t seed) {
  constexpr std::uint64_t truths = 4;
  double sum = 0.0;
  double squares = 0.0;
  double own = 0.0;
  for (std::uint64_t i = 0; i < truths; ++i) {
    const PosteriorTruth truth = posterior_truth(model, particles, truths * seed + i);
    sum += truth.log_evidence;
    squares += truth.log_evidence * truth.log_evidence;
    own += truth.log_evidence_error;
  }
  const double mean = sum / truths;
  const double spread = std::sqrt(std::max(0.0, squares / truths - mean * mean) / (truths - 1));
  return {mean, std::max(spread, own / truths / std::sqrt(static_cast<double>(truths)))};
}

/// How often the evidence lies outside of the interval of a card, beyond the truth's own error.
void run_intervals(const Arguments& arguments) {
  constexpr double errors_allowed = 3.0;
  fmt::print(
      "| rows | likelihood | runs | with an upper end | evidence above it | evidence below the lower end |\n"
      "|---|---|---|---|---|---|\n");
  std::array<int, 4> all{};
  for (const gs::Index n : {10, 20, 30, 50})
    for (const char* likelihood : {"bernoulli-probit", "bernoulli-logit", "poisson"}) {
      std::array<int, 4> counts{};
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const gs::Model model = verdict_process(n, likelihood, 100 * seed + static_cast<std::uint64_t>(n));
        const auto [evidence, error] = evidence_truth(model, arguments.particles, seed);
        const double room = errors_allowed * error;
        for (const gs::Method& method : methods) {
          const gs::Posterior q = gs::infer(model, method);
          for (int check = 1; check <= arguments.checks; ++check) {
            const gs::TrustCard card = gs::diagnose(q, {.advice = false}, {.seed = static_cast<std::uint64_t>(check)});
            ++counts[0];
            counts[1] += card.evidence_upper.has_value();
            counts[2] += card.evidence_upper && *card.evidence_upper < evidence - room;
            counts[3] += card.evidence_lower > evidence + room;
          }
        }
      }
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", n, likelihood, counts[0], counts[1], counts[2], counts[3]);
      std::fflush(stdout);
      for (std::size_t i = 0; i < all.size(); ++i) all[i] += counts[i];
    }
  fmt::print("| all | all | {} | {} | {} | {} |\n", all[0], all[1], all[2], all[3]);
}

/// The mode that the rows of a planted vector lead to: weighted least squares, which climb for Student-t rows.
struct Climbed {
  gs::Vector eta;
  double log_mass = 0.0;
};

Climbed climb(const gs::Model& model, gs::Vector w) {
  constexpr double nu = 2.0;
  constexpr double scale = 0.1;
  constexpr int steps = 2000;
  const gs::Index d = w.size();
  const gs::Matrix x = model.design.times(gs::Matrix(gs::Matrix::Identity(d, d)));
  const gs::Vector& y = model.sites.front()->responses();
  gs::Vector residual;
  for (int step = 0; step < steps; ++step) {
    residual = y - x * w;
    const gs::Vector weight = ((nu + 1.0) / (nu * scale * scale + residual.array().square())).matrix();
    gs::Matrix a = x.transpose() * weight.asDiagonal() * x;
    a.diagonal().array() += 1.0;
    const gs::Vector next = a.llt().solve(x.transpose() * weight.cwiseProduct(y));
    const double moved = (next - w).norm();
    w = next;
    if (moved < 1e-13 * (1.0 + w.norm())) break;
  }
  residual = y - x * w;
  const Eigen::ArrayXd square = residual.array().square();
  const Eigen::ArrayXd wide = nu * scale * scale + square;
  gs::Matrix a = x.transpose() * ((nu + 1.0) * (nu * scale * scale - square) / wide.square()).matrix().asDiagonal() * x;
  a.diagonal().array() += 1.0;
  const double objective = -0.5 * w.squaredNorm() - 0.5 * (nu + 1.0) * (wide / (nu * scale * scale)).log().sum();
  return {x * w, objective - 0.5 * std::log(a.determinant())};
}

void run_planted(const Arguments& arguments) {
  struct Case {
    gs::Index dimension, rows;
    int models;
  };
  constexpr double same = 1e-3;
  constexpr double light = 0.05;
  fmt::print(
      "| D | rows a mode | both found | one | none | trusted: laplace, kl, ep | trusted with a mode of more than "
      "5 % missed |\n|---|---|---|---|---|---|---|\n");
  for (const Case& c : {Case{2, 5, 40}, Case{5, 10, 40}, Case{10, 18, 24}, Case{20, 34, 8}, Case{5, 30, 16},
                        Case{10, 60, 16}, Case{20, 120, 6}}) {
    std::array<int, 3> found{};
    std::array<int, 3> trusted{};
    int blind = 0;
    for (int i = 0; i < c.models; ++i) {
      const PlantedModes planted =
          planted_modes(c.dimension, c.rows, arguments.seed * 1000 + static_cast<std::uint64_t>(i));
      const std::array<Climbed, 2> modes{climb(planted.model, planted.weights.col(0)),
                                         climb(planted.model, planted.weights.col(1))};
      const double share = 1.0 / (1.0 + std::exp(modes[1].log_mass - modes[0].log_mass));
      for (std::size_t m = 0; m < methods.size(); ++m) {
        const gs::Posterior q = gs::infer(planted.model, methods[m], {.seed = 1});
        const gs::TrustCard card = gs::diagnose(q, {.advice = false}, {.seed = 5});
        int both = 0;
        bool heavy = false;
        for (std::size_t k = 0; k < 2; ++k) {
          bool near = false;
          for (const gs::Vector& place : card.mode_places)
            near = near || (place - modes[k].eta).lpNorm<Eigen::Infinity>() < same;
          both += near;
          heavy = heavy || (!near && (k == 0 ? share : 1.0 - share) > light);
        }
        const bool trust = card.verdict == gs::Verdict::trust;
        trusted[m] += trust;
        blind += trust && heavy;
        if (m == 0) ++found[static_cast<std::size_t>(2 - both)];
        if (arguments.list && m == 0 && both < 2)
          fmt::print(stderr, "{} {}: shares {:.3f} {:.3f}, {} found from {}\n", c.dimension, i, share, 1.0 - share,
                     both, card.mode_starts);
      }
    }
    fmt::print("| {} | {} | {}/{} | {} | {} | {}, {}, {} | {} |\n", c.dimension, c.rows, found[0], c.models, found[1],
               found[2], trusted[0], trusted[1], trusted[2], blind);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string text = values[i];
    const auto number = [&] { return i + 1 < count ? std::atoi(values[++i]) : 0; };
    if (text == "--models")
      arguments.models = number();
    else if (text == "--seed")
      arguments.seed = static_cast<std::uint64_t>(number());
    else if (text == "--checks")
      arguments.checks = number();
    else if (text == "--particles")
      arguments.particles = number();
    else if (text == "--list")
      arguments.list = true;
    else
      arguments.what = text;
  }
  if (arguments.what == "processes") {
    run_processes();
  } else if (arguments.what == "planted") {
    run_planted(arguments);
  } else if (arguments.what == "intervals") {
    run_intervals(arguments);
  } else {
    run_models(arguments);
  }
  return 0;
}
