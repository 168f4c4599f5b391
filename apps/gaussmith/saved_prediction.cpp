#include "saved_prediction.hpp"

#include "command.hpp"
#include "gaussmith/errors.hpp"
#include "table_model.hpp"

#include <fmt/format.h>

namespace gaussmith::app {

namespace {

std::vector<std::string> needed_columns(const SavedModel& model, bool observed) {
  std::vector<std::string> columns;
  if (model.features.is_sparse) {
    return columns;
  }
  for (const FeatureColumn& column : model.features.columns) {
    columns.push_back(column.name);
  }
  for (const auto& [argument, column] : model.argument_columns) {
    if (observed || argument != "censored") {
      columns.push_back(column);
    }
  }
  if (!model.offset_column.empty()) {
    columns.push_back(model.offset_column);
  }
  if (observed) {
    columns.push_back(model.target.column);
  }
  return columns;
}

TableOptions reading_options(const SavedModel& model) {
  TableOptions options;
  for (const FeatureColumn& column : model.features.columns) {
    if (column.type == ColumnType::text) {
      options.text_columns.push_back(column.name);
    }
  }
  if (model.features.is_sparse) {
    options.features = model.features.sparse_features;
    options.ignore_larger_indices = true;
  }
  return options;
}

/// Text columns of the model that the table does have; asking for others would hide the better message later.
Table read_for(const SavedModel& model, const std::string& data) {
  Table table = read_table(data, reading_options(model));
  if (table.is_sparse != model.features.is_sparse) {
    throw InvalidFile(fmt::format("{}: the model was fitted on a {} table, this is a {} table", data,
                                  model.features.is_sparse ? "LIBSVM" : "CSV", table.is_sparse ? "LIBSVM" : "CSV"));
  }
  return table;
}

PredictionPoints points_for(const SavedModel& model, const Table& table, bool observed) {
  PredictionPoints points;
  if (std::holds_alternative<GaussianProcess>(model.fitted.prior)) {
    points.inputs = model.features.encode_dense(table);
  } else if (table.is_sparse) {
    points.design = with_intercept(model.features.encode_sparse(table), model.intercept);
  } else {
    points.design = with_intercept(model.features.encode_dense(table), model.intercept);
  }
  auto columns = model.argument_columns;
  if (!observed) {
    columns.erase("censored");
  }
  points.arguments = row_arguments(table, columns);
  if (!model.offset_column.empty()) {
    points.offset = extra_column(table, model.offset_column, ExtraKind::offset);
  }
  return points;
}

}  // namespace

SavedPrediction predict_saved(const SavedArguments& arguments, bool observed, int threads) {
  SavedModel model = load_model(arguments.model);
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  if (!model.converged) {
    warnings.push_back(fmt::format("{} was saved from a fit that had not converged", arguments.model));
  }
  CompleteRows complete =
      complete_rows(read_for(model, arguments.data), needed_columns(model, observed), arguments.drop_missing);
  if (!complete.note.empty()) {
    notes.push_back(complete.note);
  }
  if (complete.table.ignored_entries > 0) {
    warnings.push_back(fmt::format("{} of features beyond the model's {} were left out",
                                   plural(complete.table.ignored_entries, "value"), model.features.sparse_features));
  }
  const PredictionPoints points = points_for(model, complete.table, observed);
  try {
    const Predictor predictor(model.fitted, threads);
    Prediction prediction = predictor.predict(points, threads);
    return {std::move(model),      std::move(complete.table), std::move(complete.rows),
            std::move(prediction), std::move(notes),          std::move(warnings)};
  } catch (const InvalidModel& error) {
    throw InvalidFile(fmt::format("{}: {}", arguments.model, error.what()));
  }
}

}  // namespace gaussmith::app
