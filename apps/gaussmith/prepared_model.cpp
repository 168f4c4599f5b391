#include "prepared_model.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/tables.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith::app {

namespace {

/// As problem files name it.
const char* prior_in_words(const Prior& prior) {
  return std::holds_alternative<NoGaussian>(prior) ? "no Gaussian" : type_of(prior);
}

}  // namespace

void refuse_network(const std::string& file, const Problem& problem) {
  if (problem.network) {
    throw InvalidOption(fmt::format("{}: prior.type {}: networks go with `gaussmith fit` and its method ep alone", file,
                                    problem.network->prior.units > 0 ? "network" : "sparse-linear"));
  }
}

Prepared prepare_problem(const std::string& file, Problem problem, const Settings& settings, bool will_be_saved) {
  refuse_network(file, problem);
  Prepared prepared;
  prepared.model = apply_parameters(problem.model, settings.parameters);
  prepared.prediction = std::move(problem.prediction);
  prepared.selection = problem.selection;
  prepared.summary.data_line =
      fmt::format("{}: {}, dimension {}", file, plural(prepared.model.rows(), "row"), prepared.model.dimension()) +
      events_in_words(prepared.model);
  std::string likelihoods;
  for (const Sites& block : prepared.model.sites) {
    likelihoods += (likelihoods.empty() ? "" : ", ") + block->traits().name;
  }
  prepared.summary.model_line =
      fmt::format("{} {}, {} prior", likelihoods, prepared.model.sites.size() == 1 ? "likelihood" : "likelihoods",
                  prior_in_words(prepared.model.prior)) +
      latents_in_words(prepared.model.latents);
  if (will_be_saved) {
    prepared.coding = plain_coding(prepared.model, Spelling::command_line);
    prepared.notes.push_back("the saved model reads tables with the columns x1, x2, ... in the order of the problem");
  }
  return prepared;
}

Prepared prepare_table(const TableArguments& table, bool learning, const Settings& settings) {
  const TableModelOptions options = table.options(settings.parameters, learning);
  options.check();
  TableModel built =
      build_table_model(read_table(table.data, {.text_columns = table.categorical, .single = table.single}), options);
  Prepared prepared;
  FitSummary& summary = prepared.summary;
  const FeatureCoding& features = built.coding.features;
  summary.feature_names = features.is_sparse ? std::vector<std::string>{} : features.names();
  summary.new_table = features.is_sparse ? "new.svm" : "new.csv";
  summary.data_line = data_in_words(table.data, options, built);
  summary.model_line = model_in_words(options, built);
  prepared.data_rows = built.coding.training_rows;
  prepared.kept_parameters = std::move(built.kept_parameters);
  prepared.model = std::move(built.model);
  prepared.coding = std::move(built.coding);
  prepared.notes = std::move(built.notes);
  prepared.warnings = std::move(built.warnings);
  return prepared;
}

}  // namespace gaussmith::app
