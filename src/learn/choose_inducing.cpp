#include "base/memory.hpp"
#include "base/parallel_blocks.hpp"
#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/inducing.hpp"
#include "learn/choose_latents.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index row_block = 1024;
/// A row with less of its variance left than this times the number chosen follows from the others.
constexpr double dependent = 64.0 * std::numeric_limits<double>::epsilon();
/// Choices at most, and what another one must have gained to be worth while.
constexpr int most_rounds = 4;
constexpr double worthwhile_gain = 0.1;
/// Evaluations with each of the parts of the inducing variables that several latents begin with.
constexpr int passing_evaluations = 8;

struct Greedy {
  std::vector<Index> rows;
  std::vector<double> scores;
};

/// k(x_n, x_n) without white noise, which no other row says anything about.
Vector smooth_variances(const GaussianProcess& process) {
  constexpr Index square = 16;
  Vector out(process.inputs.rows());
  Matrix k;
  for (Index begin = 0; begin < out.size(); begin += square) {
    const Matrix x = process.inputs->middleRows(begin, std::min(square, out.size() - begin));
    process.kernel->block(x, x, k);
    out.segment(begin, x.rows()) = k.diagonal();
  }
  return out;
}

/// Columns of the pivoted Cholesky factor of k(x, x), one at a time and the largest variance first.
Greedy greedy_rows(const GaussianProcess& process, Index count, int threads) {
  const Matrix& x = process.inputs;
  const Vector own = smooth_variances(process);
  Vector left = own;
  Matrix factor(x.rows(), count);
  Greedy out;
  for (Index m = 0; m < count; ++m) {
    Index next = 0;
    const double score = left.maxCoeff(&next);
    if (!(score > dependent * static_cast<double>(count) * own(next))) break;
    const Vector weights = -factor.row(next).head(m);
    const double scale = 1.0 / std::sqrt(score);
    const Matrix point = x.row(next);
    parallel_blocks(x.rows(), row_block, threads, [&](Index begin, Index end) {
      const Index rows = end - begin;
      Matrix k;
      process.kernel->block(x.middleRows(begin, rows), point, k);
      Vector column = k;
      if (m > 0) add_times(factor.block(begin, 0, rows, m), weights, column);
      column *= scale;
      factor.col(m).segment(begin, rows) = column;
      left.segment(begin, rows) -= column.cwiseAbs2();
    });
    left(next) = 0.0;
    out.rows.push_back(next);
    out.scores.push_back(score);
  }
  return out;
}

void check(const Model& model, const InducingSelection& selection) {
  const auto* process = std::get_if<GaussianProcess>(&model.prior);
  if (process == nullptr || !model.design.is_identity())
    throw InvalidOption(fmt::format("inducing: the prior is of type {}{}; a gp seen at its own inputs is needed",
                                    type_of(model.prior), process == nullptr ? "" : " under a design"));
  const Index n = process->inputs.rows();
  const Index all = n * model.latents.count;
  if (selection.count < 1 || selection.count > all)
    throw InvalidOption(fmt::format("inducing: found a count of {}; expected 1 to {}, the {}", selection.count, all,
                                    model.latents.count > 1 ? "rows times the latents" : "rows"));
  const double bytes = 8.0 * static_cast<double>(n) * static_cast<double>(selection.count);
  if (selection.select == InducingChoice::active && bytes > machine_memory())
    throw InvalidOption(fmt::format("inducing: choosing {} of {} rows needs about {}, more than the {} of this machine",
                                    selection.count, n, memory_in_words(bytes), memory_in_words(machine_memory())));
}

/// The parameters where a few evaluations with a part of the inducing variables lead, then with more of them: what is
/// chosen last is chosen at parameters that have been learned. One latent chooses cheaply, and does without.
Model learned_in_passing(const Model& model, const InducingSelection& selection, const Method& method,
                         const LearnOptions& options, const Run& run) {
  check(model, selection);
  Model begun = model;
  if (model.latents.count == 1 || selection.select == InducingChoice::random) return begun;
  LearnOptions brief = options;
  brief.max_evaluations = std::min(options.max_evaluations, passing_evaluations);
  brief.restarts = 0;
  brief.standard_errors = false;
  brief.keep = {};
  for (const Index share : {8, 4, 2}) {
    InducingSelection part = selection;
    part.count = selection.count / share;
    if (part.count < 2 * model.latents.count) continue;
    const Learned learned = learn(choose_inducing(begun, part, run).model, method, brief, run);
    if (learned.report.status == Status::stopped || learned.report.status == Status::numerical_failure) break;
    begun = learned.posterior.model();
  }
  return begun;
}

}  // namespace

ChosenInducing choose_inducing(const Model& model, const InducingSelection& selection, const Run& run) {
  check(model, selection);
  if (model.latents.count > 1) return choose_single_latents(model, selection, run);
  const BlasThreads blas(resolve_threads(run.threads));
  ChosenInducing out{model, {}, {}, {}};
  auto& process = std::get<GaussianProcess>(out.model.prior);
  const bool learn = process.inducing && process.inducing->learn;
  Greedy chosen;
  if (selection.select == InducingChoice::active)
    chosen = greedy_rows(process, selection.count, blas.threads());
  else
    chosen.rows = random_subset(process.inputs.rows(), selection.count, run.seed);
  process.inducing =
      Inducing{.inputs = Matrix((*process.inputs)(chosen.rows, Eigen::all)), .noise = selection.noise, .learn = learn};
  for (const Index row : chosen.rows) out.sites.emplace_back(row, 0);
  out.scores = std::move(chosen.scores);
  const auto count = static_cast<Index>(out.sites.size());
  if (selection.select == InducingChoice::random)
    out.how = fmt::format("{} inducing inputs: rows drawn at random", count);
  else if (count < selection.count)
    out.how = fmt::format("{} inducing inputs, by conditional variance: all rows follow from them, {} were asked for",
                          count, selection.count);
  else
    out.how = fmt::format("{} inducing inputs, by conditional variance", count);
  return out;
}

LearnedInducing learn_inducing(const Model& model, const InducingSelection& selection, const Method& method,
                               const LearnOptions& options, const Run& run) {
  const Model begun = learned_in_passing(model, selection, method, options, run);
  ChosenInducing first = choose_inducing(begun, selection, run);
  Learned learned = learn(first.model, method, options, run);
  LearnedInducing best{std::move(learned), std::move(first), 1};
  if (selection.select == InducingChoice::random) return best;
  for (int round = 2; round <= most_rounds; ++round) {
    const LearnReport& last = best.learned.report;
    if (last.status == Status::stopped || last.status == Status::numerical_failure) break;
    ChosenInducing chosen = choose_inducing(best.learned.posterior.model(), selection, run);
    if (chosen.sites == best.chosen.sites) break;
    Learned next = learn(chosen.model, method, options, run);
    const double gain = next.report.objective - last.objective;
    if (!(gain > 0.0)) break;
    best = {std::move(next), std::move(chosen), round};
    if (gain < worthwhile_gain) break;
  }
  // What the model began with, not what the last round did.
  for (LearnedParameter& parameter : best.learned.report.parameters)
    for (const Parameter& initial : model.parameters())
      if (initial.name == parameter.name) parameter.initial = initial.value;
  best.chosen.how += fmt::format(", chosen {} time{} while learning", best.rounds, best.rounds == 1 ? "" : "s");
  return best;
}

}  // namespace gaussmith
