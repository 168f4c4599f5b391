#include "gaussmith/table_model.hpp"
#include "model/prior.hpp"
#include "tables/coded_rows.hpp"

#include <fmt/format.h>

namespace gaussmith {

namespace {

std::vector<std::string> needed_columns(const TableCoding& coding, bool observed) {
  std::vector<std::string> columns;
  if (coding.features.is_sparse) return columns;
  for (const FeatureColumn& column : coding.features.columns) columns.push_back(column.name);
  for (const auto& [argument, column] : needed_arguments(coding, observed)) columns.push_back(column);
  if (!coding.offset_column.empty()) columns.push_back(coding.offset_column);
  if (observed) columns.push_back(coding.target.column);
  return columns;
}

PredictionPoints points_of(const SavedModel& model, const Table& table, bool observed) {
  PredictionPoints points;
  if (process_of(model.fitted.prior) != nullptr) {
    points.inputs = model.coding.features.encode_dense(table);
  } else {
    put_rows(model.coding, table, points.design);
  }
  points.arguments = row_arguments(model.coding, table, observed);
  points.offset = row_offset(model.coding, table);
  return points;
}

const char* format_of(bool is_sparse) { return is_sparse ? "LIBSVM" : "CSV"; }

}  // namespace

TableOptions reading_options(const TableCoding& coding) {
  TableOptions options;
  for (const FeatureColumn& column : coding.features.columns) {
    if (column.type == ColumnType::text) options.text_columns.push_back(column.name);
  }
  if (coding.features.is_sparse) {
    options.features = coding.features.sparse_features;
    options.ignore_larger_indices = true;
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
  CompleteRows complete =
      complete_rows(std::move(table), needed_columns(coding, options.observed), options.drop_missing);
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
  if (!complete.note.empty()) notes.push_back(std::move(complete.note));
  if (const Index ignored = complete.table.ignored_entries; ignored > 0) {
    warnings.push_back(fmt::format("{} value{} of features beyond the model's {} were left out", ignored,
                                   ignored == 1 ? "" : "s", coding.features.sparse_features));
  }
  const PredictionPoints points = points_of(model, complete.table, options.observed);
  const Vector responses = options.observed ? coding.target.encode(complete.table) : Vector();
  const Predictor predictor(model.fitted, options.threads);
  return {predictor.predict(points, options.threads),
          std::move(complete.rows),
          coding.target,
          responses,
          std::move(notes),
          std::move(warnings)};
}

std::vector<Column> TablePrediction::columns(const PredictionColumns& wanted) const {
  std::vector<Column> columns;
  const auto add = [&](std::string name, Vector numbers) {
    columns.push_back(numeric_column(std::move(name), std::move(numbers)));
  };
  if (wanted.rows) {
    Vector numbers(static_cast<Index>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) numbers[static_cast<Index>(i)] = static_cast<double>(rows[i] + 1);
    add("row", std::move(numbers));
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
  for (const double level : wanted.quantiles) {
    add(fmt::format("quantile_{}", level), prediction.response_quantile(level));
  }
  if (wanted.samples > 0) {
    const Matrix draws = prediction.response_samples(wanted.samples, wanted.seed);
    for (Index j = 0; j < draws.cols(); ++j) add(fmt::format("sample_{}", j + 1), draws.col(j));
  }
  return columns;
}

}  // namespace gaussmith
