#include "gaussmith/tables.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/scores.hpp"
#include "gaussmith/table_model.hpp"
#include "prediction.hpp"
#include "results.hpp"
#include "running.hpp"
#include "spelling.hpp"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

nb::object optional_number(const std::optional<double>& value) {
  return value ? nb::object(nb::float_(*value)) : nb::object(nb::none());
}

std::string shown(nb::handle value) { return nb::cast<std::string>(nb::repr(value)); }

nb::dict to_columns(const std::vector<Column>& columns) {
  nb::dict out;
  for (const Column& column : columns) {
    if (column.type == ColumnType::numeric)
      out[column.name.c_str()] = to_array(column.numbers);
    else
      out[column.name.c_str()] = column.texts;
  }
  return out;
}

Column to_column(const std::string& name, nb::handle cells, bool categorical) {
  if (!nb::isinstance<nb::list>(cells))
    return numeric_column(name, to_vector(cells, fmt::format("column \"{}\"", name)));
  Column column = text_column(name, nb::cast<std::vector<std::string>>(cells));
  column.categorical = categorical;
  return column;
}

void add_columns(const nb::dict& columns, const std::vector<std::string>& categorical, Table& table) {
  for (const auto& [key, cells] : columns) {
    const auto name = nb::cast<std::string>(key);
    const bool asked = std::find(categorical.begin(), categorical.end(), name) != categorical.end();
    table.columns.push_back(to_column(name, cells, asked));
    if (table.columns.back().rows() != table.rows())
      throw InvalidFile(fmt::format(
          "column \"{}\" has {} rows, {} {}", name, table.columns.back().rows(),
          table.is_sparse ? "the features have" : fmt::format("column \"{}\" has", table.columns.front().name),
          table.rows()));
  }
}

std::vector<std::string> texts(const nb::dict& given, const char* name) {
  return nb::cast<std::vector<std::string>>(given[name]);
}

std::string text(const nb::dict& given, const char* name) {
  std::string out;
  if (!nb::try_cast(given[name], out))
    throw InvalidOption(fmt::format("{}: expected a text, found {}", name, shown(given[name])));
  return out;
}

bool flag(const nb::dict& given, const char* name) { return nb::cast<bool>(nb::bool_(given[name])); }

/// A file, or pairs of neighbours.
Graph to_graph(nb::handle given) {
  if (nb::isinstance<nb::str>(given)) return read_graph(nb::cast<std::string>(given));
  std::string rows = "from,to\n";
  for (const nb::handle pair : given) {
    const auto ends = nb::cast<std::vector<nb::object>>(pair);
    if (ends.size() != 2)
      throw InvalidOption(fmt::format("graph: expected pairs of neighbours, found one of {}", ends.size()));
    const auto cell = [](const nb::object& end) {
      std::string text = nb::cast<std::string>(nb::str(end));
      std::string quoted = "\"";
      for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
      return quoted + '"';
    };
    rows += cell(ends[0]) + "," + cell(ends[1]) + "\n";
  }
  Graph graph = parse_graph(rows, "graph.csv");
  graph.source = "graph";
  return graph;
}

TableModelOptions to_options(const nb::dict& given) {
  TableModelOptions options;
  options.target = text(given, "target");
  options.features = texts(given, "features");
  options.likelihood = text(given, "likelihood");
  options.classes = texts(given, "classes");
  options.latent_covariance = text(given, "latent_covariance");
  options.prior = text(given, "prior");
  options.kernel = text(given, "kernel");
  options.random = texts(given, "random");
  options.formula = text(given, "formula");
  if (given.contains("field")) options.field = texts(given, "field");
  if (given.contains("graphs")) {
    for (const auto& [column, graph] : nb::cast<nb::dict>(given["graphs"]))
      options.graphs[nb::cast<std::string>(column)] = to_graph(graph);
  }
  for (const auto& [key, shape] : nb::cast<nb::dict>(given["coefficient_priors"])) {
    const auto name = nb::cast<std::string>(key);
    const Vector two = to_vector(shape, "coefficient_priors of " + name);
    if (two.size() != 2)
      throw InvalidOption(
          fmt::format("coefficient_priors of {}: expected (mean, sd), found {} numbers", name, two.size()));
    options.coefficient_priors.push_back({name, two(0), two(1)});
  }
  options.mean.reset();
  if (!given["mean"].is_none()) options.mean = to_number(given["mean"], "mean");
  options.intercept = flag(given, "intercept");
  options.standardize = flag(given, "standardize");
  options.drop_missing = flag(given, "drop_missing");
  for (const auto& [key, column] : nb::cast<nb::dict>(given["argument_columns"]))
    options.argument_columns[nb::cast<std::string>(key)] = nb::cast<std::string>(column);
  options.event_column = text(given, "event");
  options.offset_column = text(given, "offset");
  options.weights_column = text(given, "weights");
  options.keep = texts(given, "keep");
  if (given.contains("units") && !given["units"].is_none()) options.units = nb::cast<Index>(given["units"]);
  if (given.contains("weight_prior")) options.weight_prior = text(given, "weight_prior");
  for (const auto& [key, values] : nb::cast<nb::dict>(given["parameters"])) {
    const auto name = nb::cast<std::string>(key);
    if (nb::isinstance<nb::str>(values)) {
      options.parameters.push_back({.name = name, .text = nb::cast<std::string>(values)});
      continue;
    }
    const Vector numbers = to_vector(values, name);
    options.parameters.push_back({.name = name, .values = {numbers.begin(), numbers.end()}});
  }
  options.learning = flag(given, "learning");
  return options;
}

/// Every column that a new table is read for, and whether its cells are texts.
nb::dict column_types(const TableCoding& coding) {
  nb::dict out;
  const auto add = [&](const FeatureColumn& column) { out[column.name.c_str()] = column.type == ColumnType::text; };
  for (const FeatureColumn& column : coding.features.columns) add(column);
  for (const FixedTerm& term : coding.fixed)
    for (const FeatureColumn& column : term.columns) add(column);
  for (const std::string& name : reading_options(coding).text_columns) out[name.c_str()] = true;
  return out;
}

nb::dict coding_fields(const TableCoding& coding) {
  nb::dict out;
  out["features"] = coding.features.is_sparse ? std::vector<std::string>{} : coding.features.names();
  std::vector<std::string> columns;
  for (const FeatureColumn& column : coding.features.columns) columns.push_back(column.name);
  out["columns"] = columns;
  out["column_types"] = column_types(coding);
  out["sparse"] = coding.features.is_sparse;
  out["target"] = coding.target.column;
  out["classes"] = coding.target.kind == ResponseKind::sign
                       ? std::vector<std::string>{coding.target.negative, coding.target.positive}
                       : coding.target.classes;
  out["intercept"] = coding.intercept;
  out["argument_columns"] = coding.argument_columns;
  out["offset"] = coding.offset_column;
  out["keep"] = coding.keep;
  out["training_rows"] = coding.training_rows;
  return out;
}

}  // namespace

nb::list coefficient_list(const std::vector<Coefficient>& all) {
  nb::list out;
  for (const Coefficient& c : all) {
    nb::dict fields;
    fields["name"] = c.name;
    fields["mean"] = c.mean;
    fields["sd"] = c.sd;
    fields["lower"] = c.lower;
    fields["upper"] = c.upper;
    fields["ratio"] = optional_number(c.ratio);
    out.append(fields);
  }
  return out;
}

void bind_tables(nb::module_& m) {
  nb::class_<Table>(m, "Table")
      .def_static("from_columns",
                  [](const nb::dict& columns, const std::vector<std::string>& categorical) {
                    Table table;
                    add_columns(columns, categorical, table);
                    return table;
                  })
      .def_static(
          "from_rows",
          [](nb::handle features, nb::handle labels, const nb::dict& beside) {
            Table table;
            table.is_sparse = true;
            table.features = to_design(features, "features");
            table.labels = labels.is_none() ? Vector::Zero(table.features.rows()) : to_vector(labels, "target");
            if (table.labels.size() != table.features.rows())
              throw InvalidFile(fmt::format("target: expected {} numbers, one a row, found {}", table.features.rows(),
                                            table.labels.size()));
            add_columns(beside, {}, table);
            return table;
          },
          "features"_a, "labels"_a.none(), "beside"_a)
      .def_static("read",
                  [](const std::filesystem::path& path, const std::vector<std::string>& categorical, bool single) {
                    return unlocked([&] { return read_table(path, {.text_columns = categorical, .single = single}); });
                  })
      .def_static("read_for",
                  [](const std::filesystem::path& path, const SavedModel& model, const std::vector<std::string>& keep) {
                    return unlocked([&] { return read_table(path, reading_options(model.coding, keep)); });
                  })
      .def_static("parse",
                  [](const nb::bytes& content, const std::string& name, const std::vector<std::string>& categorical) {
                    const std::string text(content.c_str(), content.size());
                    return unlocked([&] { return parse_table(text, name, {.text_columns = categorical}); });
                  })
      .def_static("parse_for",
                  [](const nb::bytes& content, const std::string& name, const SavedModel& model,
                     const std::vector<std::string>& keep) {
                    const std::string text(content.c_str(), content.size());
                    return unlocked([&] { return parse_table(text, name, reading_options(model.coding, keep)); });
                  })
      .def_prop_ro("rows", &Table::rows)
      .def_ro("is_sparse", &Table::is_sparse)
      .def("columns", [](const Table& table) { return to_columns(table.columns); });

  nb::class_<TableCoding>(m, "TableCoding").def("fields", &coding_fields);

  nb::class_<TableModel>(m, "TableModel")
      .def_prop_ro("model", [](const TableModel& built) { return built.model; })
      .def_prop_ro("coding", [](const TableModel& built) { return built.coding; })
      .def_prop_ro("notes", [](const TableModel& built) { return in_python(built.notes); })
      .def_prop_ro("warnings", [](const TableModel& built) { return in_python(built.warnings); })
      .def_ro("kept_parameters", &TableModel::kept_parameters);

  m.def("build_table_model", [](const Table& table, const nb::dict& options) {
    const TableModelOptions chosen = to_options(options);
    return unlocked([&] {
      chosen.check();
      return build_table_model(table, chosen);
    });
  });
  m.def("plain_coding", [](const Model& model) { return plain_coding(model); });
  m.def("plain_coding", [](const NetworkModel& model) { return plain_coding(model); });

  nb::class_<TableNetwork>(m, "TableNetwork")
      .def_prop_ro("model", [](const TableNetwork& built) { return built.model; })
      .def_prop_ro("coding", [](const TableNetwork& built) { return built.coding; })
      .def_ro("notes", &TableNetwork::notes)
      .def_ro("warnings", &TableNetwork::warnings);
  m.def("build_table_network", [](const Table& table, const nb::dict& options) {
    const TableModelOptions chosen = to_options(options);
    return unlocked([&] { return build_table_network(table, chosen); });
  });

  m.def("coefficients", [](const Posterior& posterior, const TableCoding& coding, double level) {
    return coefficient_list(unlocked([&] { return coefficients(posterior, coding, level); }));
  });
  m.def("coefficients", [](const Integrated& integrated, const TableCoding& coding, double level) {
    return coefficient_list(unlocked([&] { return coefficients(integrated, coding, level); }));
  });
  const auto group_list = [](const std::vector<GroupEffects>& groups) {
    nb::list out;
    for (const GroupEffects& group : groups) {
      nb::list effects;
      for (const auto& effect : group.effects) {
        nb::dict fields;
        fields["name"] = effect.name;
        fields["sd"] = effect.sd;
        fields["mean"] = to_array(effect.levels.mean);
        fields["variance"] = to_array(effect.levels.variance);
        effects.append(fields);
      }
      nb::dict fields;
      fields["term"] = group.term;
      fields["group"] = group.group;
      fields["levels"] = group.levels;
      fields["effects"] = effects;
      out.append(fields);
    }
    return out;
  };
  m.def("group_effects", [group_list](const Posterior& posterior, const TableCoding& coding) {
    return group_list(unlocked([&] { return group_effects(posterior, coding); }));
  });
  m.def("group_effects", [group_list](const Integrated& integrated, const TableCoding& coding) {
    return group_list(unlocked([&] { return group_effects(integrated, coding); }));
  });

  const auto field_list = [](const std::vector<FieldEffects>& all) {
    nb::list out;
    for (const FieldEffects& field : all) {
      nb::dict fields;
      fields["term"] = field.term;
      fields["column"] = field.column;
      fields["precision"] = field.precision;
      fields["nodes"] = field.nodes;
      fields["mean"] = to_array(field.values.mean);
      fields["variance"] = to_array(field.values.variance);
      out.append(fields);
    }
    return out;
  };
  m.def("field_effects", [field_list](const Posterior& posterior, const TableCoding& coding) {
    return field_list(unlocked([&] { return field_effects(posterior, coding); }));
  });
  m.def("field_effects", [field_list](const Integrated& integrated, const TableCoding& coding) {
    return field_list(unlocked([&] { return field_effects(integrated, coding); }));
  });

  nb::class_<TablePrediction>(m, "TablePrediction")
      .def_prop_ro("prediction", [](const TablePrediction& p) { return p.prediction; })
      .def_ro("rows", &TablePrediction::rows)
      .def_prop_ro("notes", [](const TablePrediction& p) { return in_python(p.notes); })
      .def_prop_ro("warnings", [](const TablePrediction& p) { return in_python(p.warnings); })
      .def("responses", [](const TablePrediction& p) { return to_array(p.responses); })
      .def("label", [](const TablePrediction& p, double response) { return p.target.label(response); })
      .def("classes",
           [](const TablePrediction& p) {
             return p.target.kind == ResponseKind::sign ? std::vector<std::string>{p.target.negative, p.target.positive}
                                                        : p.target.classes;
           })
      .def(
          "columns",
          [](const TablePrediction& p, bool rows, const std::vector<double>& quantiles, int samples, std::uint64_t seed,
             std::optional<double> interval, const std::string& rule, double tolerance, int threads) {
            const PredictionColumns wanted{.rows = rows,
                                           .quantiles = quantiles,
                                           .samples = samples,
                                           .seed = seed,
                                           .interval = interval,
                                           .probability = to_goal(rule, tolerance, seed, threads)};
            return to_columns(heard(nb::find(p), [&p, wanted](const Run&) { return p.columns(wanted); }));
          },
          "rows"_a, "quantiles"_a, "samples"_a, "seed"_a, "interval"_a.none(), "rule"_a, "tolerance"_a, "threads"_a);

  m.def("predict_table",
        [](const SavedModel& model, const nb::object& rows, bool observed, bool drop_missing, bool population,
           bool refuse_new_levels, const std::vector<std::string>& keep, int threads) {
          const auto& table = nb::cast<const Table&>(rows);
          const TablePredictionOptions options{.observed = observed,
                                               .drop_missing = drop_missing,
                                               .population = population,
                                               .refuse_new_levels = refuse_new_levels,
                                               .keep = keep,
                                               .threads = threads};
          return heard(nb::make_tuple(nb::find(model), rows),
                       [&model, &table, options](const Run&) { return predict_table(model, table, options); });
        });
}

}  // namespace gaussmith::python
