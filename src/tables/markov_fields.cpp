// Markov fields over the cells of a column: their nodes, and priors on the scale of the data.

#include "gaussmith/errors.hpp"
#include "io/column_checks.hpp"
#include "io/levels.hpp"
#include "io/text.hpp"
#include "tables/additive_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace gaussmith {

namespace {

/// Values are on a grid where their distances are multiples of the smallest one up to this much of it,
constexpr double off_grid = 1e-6;
/// and the grid has at most this many nodes for each of them.
constexpr double most_gaps = 20.0;

/// The option that names the graph of a column.
std::string graph_option(const std::string& column, Spelling spelling) {
  return spelling == Spelling::command_line ? fmt::format("--graph {}=FILE", column)
                                            : fmt::format("graphs[{}]", column);
}

const Graph& graph_of(const FieldTerm& field, std::size_t graphs, const TableModelOptions& options) {
  if (const auto own = options.graphs.find(field.column); own != options.graphs.end()) return own->second;
  if (const auto only = options.graphs.find(""); only != options.graphs.end() && graphs == 1) return only->second;
  throw InvalidOption(fmt::format("{}: who is whose neighbour is not known; give {}, a table of pairs or a graph file",
                                  field.text, graph_option(field.column, options.spelling)));
}

/// The nodes of the graph, and then cells that it does not have, which have no neighbours.
std::vector<std::string> nodes_of(const FieldTerm& field, const Graph& graph, const Table& table,
                                  std::vector<std::string>& notes) {
  check_whole_names(table, table.column(field.column));
  std::vector<std::string> nodes = graph.nodes;
  const LevelLookup lookup(graph.nodes);
  const Column& column = table.column(field.column);
  std::vector<bool> seen(nodes.size(), false);
  std::vector<std::string> islands;
  std::set<std::string> known;
  for (Index row = 0; row < table.rows(); ++row) {
    if (const auto found = lookup.find(column, row)) {
      seen[*found] = true;
    } else if (std::string name = cell_text(column, row); known.insert(name).second) {
      islands.push_back(std::move(name));
    }
  }
  if (std::none_of(seen.begin(), seen.end(), [](bool is) { return is; }))
    throw InvalidFile(fmt::format("{}: no cell of {} ({}, ...) is a node of {} ({}, ...)", table.name_in_messages(),
                                  in_quotes(field.column), in_quotes(islands.empty() ? "" : islands.front()),
                                  graph.source.empty() ? "the graph" : graph.source,
                                  in_quotes(nodes.empty() ? "" : nodes.front())));
  std::set<Index> joined;
  for (const auto& [a, b] : graph.edges) joined.insert({a, b});
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!joined.contains(static_cast<Index>(i))) islands.push_back(nodes[i]);
  nodes.insert(nodes.end(), islands.begin(), islands.end() - static_cast<std::ptrdiff_t>(nodes.size() - joined.size()));
  if (!islands.empty())
    notes.push_back(fmt::format("{}: {} without a neighbour ({}), independent of all others", field.text,
                                islands.size() == 1 ? "one node" : fmt::format("{} nodes", islands.size()),
                                listed(islands)));
  if (const auto unseen = std::count(seen.begin(), seen.end(), false); unseen > 0)
    notes.push_back(fmt::format("{}: {} of {} nodes without a row", field.text, unseen, nodes.size()));
  if (graph.repeated > 0)
    notes.push_back(fmt::format("{}: {} pair{} of neighbours given again", field.text, graph.repeated,
                                graph.repeated == 1 ? "" : "s"));
  return nodes;
}

/// The nodes of a random walk: all values of the grid that the cells are on, or the cells alone.
Vector places_of(const FieldTerm& field, const Table& table) {
  const Column& column = table.column(field.column);
  if (column.type == ColumnType::text)
    throw InvalidFile(fmt::format("{}: {} needs a column of numbers, and {} has text; fields over names are besag",
                                  table.name_in_messages(), field.text, in_quotes(field.column)));
  std::set<double> values(column.numbers.begin(), column.numbers.end());
  if (field.range) {
    if (*values.begin() < field.range->first || *values.rbegin() > field.range->second)
      throw InvalidFile(fmt::format("{}: {} has values from {:.6g} to {:.6g}, beyond the range of {}",
                                    table.name_in_messages(), in_quotes(field.column), *values.begin(),
                                    *values.rbegin(), field.text));
    values.insert({field.range->first, field.range->second});
  }
  const std::size_t least = field.kind == "rw2" || field.cyclic ? 3 : 2;
  if (values.size() < 2)
    throw InvalidFile(fmt::format("{}: {} has one value only; {} needs several", table.name_in_messages(),
                                  in_quotes(field.column), field.text));
  const Vector cells = Eigen::Map<const Vector>(std::vector<double>(values.begin(), values.end()).data(),
                                                static_cast<Index>(values.size()));
  const Vector distances = cells.tail(cells.size() - 1) - cells.head(cells.size() - 1);
  const double step = distances.minCoeff();
  const Vector steps = distances / step;
  const bool on_grid = ((steps.array() - steps.array().round()).abs() < off_grid * steps.array().max(1.0)).all();
  const double count = std::round((cells(cells.size() - 1) - cells(0)) / step) + 1.0;
  if (on_grid && count <= most_gaps * static_cast<double>(cells.size())) {
    Vector grid(static_cast<Index>(count));
    Index at = 0;
    for (Index j = 0; j < cells.size(); ++j) {
      const Index next = j + 1 < cells.size() ? at + static_cast<Index>(std::round(steps(j))) : at + 1;
      for (Index k = at; k < next; ++k) grid(k) = k == at ? cells(j) : cells(j) + static_cast<double>(k - at) * step;
      at = next;
    }
    if (grid.size() < static_cast<Index>(least))
      throw InvalidFile(fmt::format("{}: {} needs at least {} values, and {} has {}", table.name_in_messages(),
                                    field.text, least, in_quotes(field.column), grid.size()));
    return grid;
  }
  if (field.cyclic)
    throw InvalidFile(fmt::format("{}: {} needs values at equal distances, and those of {} are at others",
                                  table.name_in_messages(), field.text, in_quotes(field.column)));
  if (cells.size() < static_cast<Index>(least))
    throw InvalidFile(fmt::format("{}: {} needs at least {} values, and {} has {}", table.name_in_messages(),
                                  field.text, least, in_quotes(field.column), cells.size()));
  return cells;
}

FieldKind kind_of(const FieldTerm& field) {
  return field.kind == "besag" ? FieldKind::besag : field.kind == "rw1" ? FieldKind::rw1 : FieldKind::rw2;
}

/// The field with precision 1.
IntrinsicField field_of(const FieldTerm& term, const FieldCoding& coding, const Graph* graph) {
  IntrinsicField field{kind_of(term), coding.size()};
  if (graph != nullptr) {
    field.edges = graph->edges;
    return field;
  }
  field.cyclic = term.cyclic;
  const Vector& places = coding.places;
  const Vector steps = (places.tail(places.size() - 1) - places.head(places.size() - 1)) / (places(1) - places(0));
  // In units of the mean distance: precisions do not depend on it once the field is scaled.
  if (((steps.array() - 1.0).abs() > 2.0 * off_grid).any())
    field.locations = (places.array() - places(0)) /
                      ((places(places.size() - 1) - places(0)) / static_cast<double>(places.size() - 1));
  return field;
}

std::size_t graphs_in(const std::vector<FieldTerm>& fields) {
  return static_cast<std::size_t>(
      std::count_if(fields.begin(), fields.end(), [](const FieldTerm& f) { return f.kind == "besag"; }));
}

}  // namespace

std::vector<FieldCoding> code_fields(const std::vector<FieldTerm>& fields, const TableModelOptions& options,
                                     const Table& table, std::vector<std::string>& notes) {
  const std::size_t graphs = graphs_in(fields);
  for (const auto& given : options.graphs) {
    const std::string& column = given.first;
    const bool needed = std::any_of(fields.begin(), fields.end(), [&](const FieldTerm& field) {
      return field.kind == "besag" && (field.column == column || (column.empty() && graphs == 1));
    });
    if (!needed)
      throw InvalidOption(fmt::format("{}: {}", option_name("graph", options.spelling),
                                      column.empty() && graphs > 1
                                          ? fmt::format("there are {} besag fields; name the column, {}", graphs,
                                                        graph_option("COLUMN", options.spelling))
                                      : column.empty() ? std::string("the model has no besag field")
                                                       : fmt::format("there is no field besag({})", column)));
  }
  std::vector<FieldCoding> coded;
  for (const FieldTerm& field : fields) {
    FieldCoding coding{.term = field.text, .column = field.column};
    if (field.kind == "besag") {
      coding.nodes = nodes_of(field, graph_of(field, graphs, options), table, notes);
    } else {
      coding.places = places_of(field, table);
    }
    coded.push_back(std::move(coding));
  }
  return coded;
}

std::vector<MarkovField> markov_fields(const std::vector<FieldTerm>& fields, const AdditiveParts& parts,
                                       Settings& settings, std::vector<std::string>& defaults) {
  std::vector<MarkovField> out;
  const std::size_t graphs = graphs_in(fields);
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const Graph* graph = fields[k].kind == "besag" ? &graph_of(fields[k], graphs, parts.options) : nullptr;
    IntrinsicField field = scaled(field_of(fields[k], parts.coding.fields[k], graph));
    const double spread = 0.5 * parts.response_scale;
    const std::string name = fmt::format("fields[{}].precision", k);
    const auto given = settings.number(name, fields.size() == 1 ? "prior.precision" : "");
    field.precision = given.value_or(parts.options.learning ? 1.0 / (spread * spread) : 1.0);
    if (!given) defaults.push_back(fmt::format("{} = {:.6g}", name, field.precision));
    out.emplace_back(std::move(field));
  }
  return out;
}

}  // namespace gaussmith
