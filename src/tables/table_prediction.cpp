#include "gaussmith/errors.hpp"
#include "gaussmith/table_model.hpp"
#include "io/text.hpp"
#include "model/prior.hpp"
#include "tables/additive_rows.hpp"
#include "tables/coded_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace gaussmith {

namespace {

/// Columns whose cells must be there. That of a group need not: a row without a level is one of the population.
std::vector<std::string> needed_columns(const TableCoding& coding, bool observed, bool population) {
  std::vector<std::string> columns;
  for (const FeatureColumn& column : coding.features.columns) columns.push_back(column.name);
  for (const FixedTerm& term : coding.fixed)
    for (const FeatureColumn& column : term.columns) columns.push_back(column.name);
  for (const GroupCoding& group : coding.groups)
    if (!population && !group.slope.empty()) columns.push_back(group.slope);
  for (const FieldCoding& field : coding.fields)
    if (!population) columns.push_back(field.column);
  for (const auto& [argument, column] : needed_arguments(coding, observed)) columns.push_back(column);
  if (!coding.offset_column.empty()) columns.push_back(coding.offset_column);
  if (observed && !coding.features.is_sparse) columns.push_back(coding.target.column);
  return columns;
}

/// Rows of levels that were never seen are predicted for the population, or refused.
void add_unseen(const SavedModel& model, const Table& table, bool refuse, PredictionPoints& points,
                std::vector<std::string>& warnings) {
  const UnseenLevels unseen = unseen_levels(model.coding, std::get<Additive>(model.fitted.prior), table);
  if (unseen.rows == 0) return;
  if (refuse) {
    throw InvalidFile(fmt::format("{}: level {} of {} was not in the training table", table.where(unseen.first_row),
                                  in_quotes(unseen.first_level), in_quotes(unseen.first_group)));
  }
  points.variance = unseen.variance;
  warnings.push_back(fmt::format(
      "{} row{} with a level that was never seen or is missing (the first: {} of {}, {}): predicted for the population",
      unseen.rows, unseen.rows == 1 ? "" : "s", in_quotes(unseen.first_level), in_quotes(unseen.first_group),
      table.where(unseen.first_row)));
}

PredictionPoints points_of(const SavedModel& model, const Table& table, const TablePredictionOptions& options,
                           std::vector<std::string>& warnings) {
  PredictionPoints points;
  const TableCoding& coding = model.coding;
  const bool has_inputs = model.network || process_of(model.fitted.prior) != nullptr;
  if (has_inputs) points.inputs = coding.features.encode_dense(table);
  // The coefficients of a laplace prior may be those of fixed effects as well.
  const bool terms = std::holds_alternative<Additive>(model.fitted.prior) || !coding.fixed.empty();
  const bool additive = terms && !coding.features.is_sparse;
  if (additive && weight_count(coding) > 0) {
    points.design = additive_rows(coding, table, options.population ? Groups::population : Groups::known);
    if (!coding.groups.empty() && !options.population)
      add_unseen(model, table, options.refuse_new_levels, points, warnings);
  } else if (!has_inputs) {
    put_rows(coding, table, points.design);
  }
  points.arguments = row_arguments(coding, table, options.observed);
  points.offset = row_offset(coding, table);
  if (coding.constant != 0.0) {
    if (points.offset.size() == 0) points.offset = Vector::Zero(table.rows());
    points.offset.array() += coding.constant;
  }
  return points;
}

/// The prediction of the fit, or the average over the parameters; a new level has the variance of each of them.
Prediction predict_points(const SavedModel& model, PredictionPoints points, const Table& table,
                          const TablePredictionOptions& options) {
  if (model.network) return NetworkPredictor(*model.network).predict(points, options.threads);
  if (model.integration.empty()) return Predictor(model.fitted, options.threads).predict(points, options.threads);
  if (points.variance.size() == 0) return predict_mixture(model.integration, points, options.threads);
  std::vector<Prediction> parts;
  Vector weights(static_cast<Index>(model.integration.size()));
  for (const WeightedGaussian& part : model.integration) {
    points.variance = unseen_levels(model.coding, std::get<Additive>(part.fitted.prior), table).variance;
    weights(static_cast<Index>(parts.size())) = part.weight;
    parts.push_back(Predictor(part.fitted, options.threads).predict(points, options.threads));
  }
  return Prediction::mixture(std::move(parts), std::move(weights));
}

const char* format_of(bool is_sparse) { return is_sparse ? "LIBSVM" : "CSV"; }

/// The columns to copy: those that the model remembers, where the new table has them, and then those asked for.
std::vector<Column> kept_columns(const TableCoding& coding, const std::vector<std::string>& asked, const Table& table,
                                 std::vector<std::string>& notes) {
  std::vector<Column> kept;
  for (const std::string& name : coding.keep) {
    if (std::find(asked.begin(), asked.end(), name) != asked.end()) continue;
    if (const Column* column = table.find(name)) {
      kept.push_back(*column);
    } else {
      notes.push_back(fmt::format("{} has no column {}, which the model would copy", table.name_in_messages(), name));
    }
  }
  for (const std::string& name : asked) kept.push_back(table.column(name));
  return kept;
}

/// Whether a name is other than a number as it would be written.
bool is_no_number(const std::string& name) {
  const Cell cell = parse_cell(name);
  return cell.kind != CellKind::number || number_text(cell.value) != name;
}

void check_names(const std::vector<Column>& columns) {
  std::set<std::string_view> names;
  for (const Column& column : columns) {
    if (!names.insert(column.name).second) {
      throw InvalidOption(fmt::format(
          "two columns of the predictions would be named {}; rename that of the table, or keep it out", column.name));
    }
  }
}

/// The columns of several classes.
void add_class_columns(const TablePrediction& predicted, const PredictionColumns& wanted,
                       std::vector<Column>& columns) {
  const Prediction& prediction = predicted.prediction;
  const TargetCoding& target = predicted.target;
  if (wanted.interval || !wanted.quantiles.empty()) {
    throw InvalidOption(
        fmt::format("{}: classes have no order; predictions of several have a probability each, and no {}",
                    prediction.likelihood()->traits().name, wanted.interval ? "interval" : "quantiles"));
  }
  const auto add = [&](const char* what, const auto& values) {
    for (Index c = 0; c < values.cols(); ++c) {
      columns.push_back(
          numeric_column(fmt::format("{}_{}", what, target.classes[static_cast<std::size_t>(c)]), values.col(c)));
    }
  };
  const Index latents = prediction.latents();
  const auto by_class = [&](const Vector& stacked) {
    return Matrix(stacked.reshaped(latents, prediction.points()).transpose());
  };
  add("latent_mean", by_class(prediction.latent_mean()));
  add("latent_variance", by_class(prediction.latent_variance()));
  const ClassProbabilities found = prediction.class_probabilities(wanted.probability);
  add("probability", found.probability);
  std::vector<std::string> labels;
  for (Index t = 0; t < prediction.points(); ++t)
    labels.push_back(target.label(static_cast<double>(found.likeliest(t))));
  columns.push_back(text_column("label", std::move(labels)));
  if (wanted.samples == 0) return;
  const Matrix draws = prediction.response_samples(wanted.samples, wanted.seed);
  for (Index j = 0; j < draws.cols(); ++j) {
    std::vector<std::string> drawn;
    for (Index t = 0; t < draws.rows(); ++t) drawn.push_back(target.label(draws(t, j)));
    columns.push_back(text_column(fmt::format("sample_{}", j + 1), std::move(drawn)));
  }
}

}  // namespace

TableOptions reading_options(const TableCoding& coding, const std::vector<std::string>& keep) {
  TableOptions options;
  const auto keep_text = [&](const FeatureColumn& column) {
    if (column.type == ColumnType::text) options.text_columns.push_back(column.name);
  };
  for (const FeatureColumn& column : coding.features.columns) keep_text(column);
  for (const FixedTerm& term : coding.fixed)
    for (const FeatureColumn& column : term.columns) keep_text(column);
  // A group of texts stays one in a table where all that is left of it looks like numbers.
  for (const GroupCoding& group : coding.groups) {
    const bool texts = std::any_of(group.levels.begin(), group.levels.end(), is_no_number);
    if (group.group.size() == 1 && texts) options.text_columns.push_back(group.group.front());
  }
  for (const FieldCoding& field : coding.fields)
    if (std::any_of(field.nodes.begin(), field.nodes.end(), is_no_number)) options.text_columns.push_back(field.column);
  // So do the names of classes: 01 is not 1.
  if (std::any_of(coding.target.classes.begin(), coding.target.classes.end(), is_no_number) &&
      !coding.target.column.empty()) {
    options.verbatim_columns.push_back(coding.target.column);
  }
  if (coding.features.is_sparse) {
    options.features = coding.features.sparse_features;
    options.ignore_larger_indices = true;
  }
  std::vector<std::string> coded = needed_columns(coding, true, false);
  for (const GroupCoding& group : coding.groups) coded.insert(coded.end(), group.group.begin(), group.group.end());
  for (const std::vector<std::string>& names : {coding.keep, keep}) {
    for (const std::string& name : names) {
      if (std::find(coded.begin(), coded.end(), name) == coded.end()) options.verbatim_columns.push_back(name);
    }
  }
  return options;
}

TablePrediction predict_table(const SavedModel& model, Table table, const TablePredictionOptions& options) {
  const TableCoding& coding = model.coding;
  if (table.is_sparse != coding.features.is_sparse) {
    throw InvalidFile(fmt::format("{}: the model was fitted on a {} table, this is a {} table",
                                  table.name_in_messages(), format_of(coding.features.is_sparse),
                                  format_of(table.is_sparse)));
  }
  CompleteRows complete = complete_rows(std::move(table), needed_columns(coding, options.observed, options.population),
                                        options.drop_missing);
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  if (!complete.note.empty()) notes.push_back(std::move(complete.note));
  if (const Index ignored = complete.table.ignored_entries; ignored > 0) {
    warnings.push_back(fmt::format("{} value{} of features beyond the model's {} were left out", ignored,
                                   ignored == 1 ? "" : "s", coding.features.sparse_features));
  }
  std::vector<Column> kept = kept_columns(coding, options.keep, complete.table, notes);
  const PredictionPoints points = points_of(model, complete.table, options, warnings);
  const Vector responses = options.observed ? coding.target.encode(complete.table) : Vector();
  Prediction prediction = predict_points(model, points, complete.table, options);
  return {std::move(prediction), std::move(complete.rows), coding.target,  responses,
          std::move(notes),      std::move(warnings),      std::move(kept)};
}

std::vector<Column> TablePrediction::columns(const PredictionColumns& wanted) const {
  std::vector<Column> columns = kept;
  const auto add = [&](std::string name, Vector numbers) {
    columns.push_back(numeric_column(std::move(name), std::move(numbers)));
  };
  if (wanted.rows) {
    Vector numbers(static_cast<Index>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) numbers[static_cast<Index>(i)] = static_cast<double>(rows[i] + 1);
    add("row", std::move(numbers));
  }
  if (target.kind == ResponseKind::label) {
    add_class_columns(*this, wanted, columns);
    check_names(columns);
    return columns;
  }
  add("latent_mean", prediction.latent_mean());
  add("latent_variance", prediction.latent_variance());
  add("mean", prediction.response_mean());
  add("variance", prediction.response_variance());
  if (const Vector probability = prediction.response_probability(); probability.size() > 0) {
    std::vector<std::string> labels;
    for (const double p : probability) labels.push_back(target.label(p > 0.5 ? 1.0 : -1.0));
    add("probability", probability);
    columns.push_back(text_column("label", std::move(labels)));
  }
  if (wanted.interval) {
    for (Column& column : interval_columns(prediction, *wanted.interval)) columns.push_back(std::move(column));
  }
  for (const double level : wanted.quantiles) {
    add(fmt::format("quantile_{}", level), prediction.response_quantile(level));
  }
  if (wanted.samples > 0) {
    const Matrix draws = prediction.response_samples(wanted.samples, wanted.seed);
    for (Index j = 0; j < draws.cols(); ++j) add(fmt::format("sample_{}", j + 1), draws.col(j));
  }
  check_names(columns);
  return columns;
}

}  // namespace gaussmith
