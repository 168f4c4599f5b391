#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/tables.hpp"
#include "io/levels.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

namespace gaussmith {

namespace {

/// Numbers in their shortest form, so that 1.0 and 1 are one node.
std::string node_name(std::string_view text) {
  const Cell cell = parse_cell(text);
  return cell.kind == CellKind::number ? number_text(cell.value + 0.0) : std::string(text);
}

/// Nodes and pairs in the order in which they come.
class GraphBuilder {
 public:
  explicit GraphBuilder(const std::string& source) { graph_.source = source; }

  Index node(const std::string& name) {
    const auto [entry, is_new] = places_.emplace(name, static_cast<Index>(graph_.nodes.size()));
    if (is_new) graph_.nodes.push_back(name);
    return entry->second;
  }
  /// False where the pair is there already.
  bool join(Index a, Index b) {
    if (!seen_.insert(std::minmax(a, b)).second) return false;
    graph_.edges.emplace_back(std::min(a, b), std::max(a, b));
    return true;
  }
  [[nodiscard]] bool joins(Index a, Index b) const { return seen_.contains(std::minmax(a, b)); }
  void count_repeated() { ++graph_.repeated; }
  [[nodiscard]] const Graph& graph() const { return graph_; }

  /// The nodes in the order of numbers, or of bytes.
  [[nodiscard]] Graph sorted() const {
    std::vector<std::pair<double, Index>> order;
    bool numbers = true;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Cell cell = parse_cell(graph_.nodes[i]);
      numbers = numbers && cell.kind == CellKind::number;
      order.emplace_back(cell.value, static_cast<Index>(i));
    }
    const auto name = [&](Index i) -> const std::string& { return graph_.nodes[static_cast<std::size_t>(i)]; };
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
      return numbers ? a.first < b.first : name(a.second) < name(b.second);
    });
    Graph out{.source = graph_.source, .repeated = graph_.repeated};
    std::vector<Index> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[static_cast<std::size_t>(order[i].second)] = static_cast<Index>(i);
      out.nodes.push_back(name(order[i].second));
    }
    for (const auto& [a, b] : graph_.edges)
      out.edges.push_back(std::minmax({place[static_cast<std::size_t>(a)], place[static_cast<std::size_t>(b)]}));
    std::sort(out.edges.begin(), out.edges.end());
    return out;
  }

 private:
  Graph graph_;
  std::unordered_map<std::string, Index> places_;
  std::set<std::pair<Index, Index>> seen_;
};

Graph graph_of_pairs(const Table& table) {
  if (table.is_sparse || table.columns.size() != 2)
    throw InvalidFile(fmt::format("{}: found {} columns; a graph has two, whose rows are pairs of neighbours",
                                  table.name_in_messages(), table.columns.size()));
  const Column& from = table.columns[0];
  const Column& to = table.columns[1];
  if (parse_cell(from.name).kind == CellKind::number && parse_cell(to.name).kind == CellKind::number)
    throw InvalidFile(fmt::format("{}: the first line is {},{}; expected a header, such as from,to",
                                  table.name_in_messages(), from.name, to.name));
  GraphBuilder builder(table.source);
  for (Index row = 0; row < table.rows(); ++row) {
    if (from.is_missing(row) || to.is_missing(row))
      throw InvalidFile(fmt::format("{}: a cell is missing; every row is a pair of neighbours", table.where(row)));
    const Index a = builder.node(node_name(cell_text(from, row)));
    const Index b = builder.node(node_name(cell_text(to, row)));
    if (a == b)
      throw InvalidFile(
          fmt::format("{}: {} is given as its own neighbour", table.where(row), in_quotes(cell_text(from, row))));
    if (!builder.join(a, b)) builder.count_repeated();
  }
  return builder.sorted();
}

/// Words of a file, with the lines on which they stand; what follows # is left out.
class Words {
 public:
  explicit Words(InputFile& file) : file_(file) {}

  bool next(std::string& word) {
    while (true) {
      rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
      if (!rest_.empty()) break;
      std::string_view line;
      if (!file_.next(line)) return false;
      line_ = std::string(line.substr(0, line.find('#')));
      rest_ = line_;
    }
    const auto end = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    word = std::string(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return true;
  }
  /// Leaves out what is left of the line.
  std::vector<std::string> rest_of_line() {
    std::vector<std::string> out;
    std::string word;
    while (rest_.find_first_not_of(" \t\r") != std::string_view::npos && next(word)) out.push_back(word);
    return out;
  }
  [[nodiscard]] Index count(const std::string& word, Index most) const {
    const Cell cell = parse_cell(word);
    if (cell.kind != CellKind::number || cell.value < 0.0 || cell.value > static_cast<double>(most) ||
        cell.value != static_cast<double>(static_cast<Index>(cell.value)))
      file_.fail(file_.line(), fmt::format("found {}; expected a whole number from 0 to {}", in_quotes(word), most));
    return static_cast<Index>(cell.value);
  }

 private:
  InputFile& file_;
  std::string line_;
  std::string_view rest_;
};

Graph graph_of_lists(InputFile& file) {
  Words words(file);
  std::string word;
  if (!words.next(word)) file.fail(1, "the file is empty; expected the number of nodes");
  std::vector<std::string> first = words.rest_of_line();
  // GeoDa's files begin with 0, the number of nodes, and two names.
  const bool geoda = first.size() >= 1 && word == "0";
  const Index size = words.count(geoda ? first.front() : word, std::numeric_limits<int>::max());
  if (!geoda && !first.empty())
    file.fail(1, fmt::format("{} follows the number of nodes; a table of pairs is a .csv or .tsv file",
                             in_quotes(first.front())));
  GraphBuilder builder(file.name());
  std::vector<std::pair<Index, Index>> given;
  std::vector<bool> described;
  for (Index i = 0; i < size; ++i) {
    if (!words.next(word)) file.fail(file.line(), fmt::format("the file ends after {} of {} nodes", i, size));
    const Index own = builder.node(node_name(word));
    described.resize(builder.graph().nodes.size(), false);
    if (described[static_cast<std::size_t>(own)])
      file.fail(file.line(), fmt::format("node {} is described a second time", in_quotes(word)));
    described[static_cast<std::size_t>(own)] = true;
    if (!words.next(word)) file.fail(file.line(), "the file ends where the number of neighbours is expected");
    for (Index k = words.count(word, size - 1); k > 0; --k) {
      if (!words.next(word)) file.fail(file.line(), "the file ends among the neighbours of a node");
      const Index other = builder.node(node_name(word));
      if (other == own) file.fail(file.line(), fmt::format("{} is given as its own neighbour", in_quotes(word)));
      given.emplace_back(own, other);
      builder.join(own, other);
    }
  }
  if (words.next(word))
    file.fail(file.line(), fmt::format("{} follows the {} nodes that were announced", in_quotes(word), size));
  if (static_cast<Index>(builder.graph().nodes.size()) != size)
    file.fail(file.line(), fmt::format("{} is named as a neighbour, but is none of the {} nodes",
                                       in_quotes(builder.graph().nodes.back()), size));
  std::set<std::pair<Index, Index>> directed(given.begin(), given.end());
  for (const auto& [a, b] : given)
    if (!directed.contains({b, a}))
      file.fail(file.line(), fmt::format("{} is a neighbour of {}, but not the other way round",
                                         in_quotes(builder.graph().nodes[static_cast<std::size_t>(b)]),
                                         in_quotes(builder.graph().nodes[static_cast<std::size_t>(a)])));
  return builder.sorted();
}

bool is_table(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".tab");
}

}  // namespace

Graph read_graph(const std::filesystem::path& path) {
  if (is_table(path.string())) return graph_of_pairs(read_table(path));
  InputFile file(path);
  return graph_of_lists(file);
}

Graph parse_graph(std::string_view text, const std::string& name) {
  if (is_table(name)) return graph_of_pairs(parse_table(text, name));
  InputFile file(text, name);
  return graph_of_lists(file);
}

}  // namespace gaussmith
