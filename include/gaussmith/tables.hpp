#pragma once
// Tables of data, and how their columns become the inputs and responses of a model.
//
// The way from a file to a model: read_table, complete_rows, make_feature_coding and make_target_coding, encode. Both
// codings are plain structs that a saved model keeps, so that new tables are mapped exactly as the training table was.

#include "gaussmith/design.hpp"
#include "gaussmith/sites.hpp"
#include "gaussmith/types.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

/// Readers and codings refuse more cells than this (2 GiB as doubles) before they allocate them.
inline constexpr std::int64_t max_table_cells = std::int64_t{1} << 28;
/// Columns of one CSV table.
inline constexpr std::int64_t max_table_columns = std::int64_t{1} << 20;
/// Feature indices of one LIBSVM table; the largest public sets have 5.5e7.
inline constexpr std::int64_t max_sparse_features = 100'000'000;

enum class ColumnType { numeric, text };

/// One named column. A missing cell is NaN in `numbers` and empty in `texts`.
struct Column {
  std::string name;
  ColumnType type = ColumnType::numeric;
  Vector numbers;                  ///< One per row if numeric, else empty.
  std::vector<std::string> texts;  ///< One per row if text, else empty.
  Index first_text_row = -1;       ///< Text columns from a file: the first row whose cell is not a number.
  bool categorical = false;        ///< Text because TableOptions::text_columns asked for it.

  [[nodiscard]] Index rows() const;
  [[nodiscard]] bool is_missing(Index row) const;
};

[[nodiscard]] Column numeric_column(std::string name, Vector numbers);
[[nodiscard]] Column text_column(std::string name, std::vector<std::string> texts);

/// Named columns (CSV), or sparse features with one label a row (LIBSVM).
struct Table {
  std::string source;               ///< File name, for messages.
  std::vector<std::int64_t> lines;  ///< Line on which each row starts, for messages; may be empty.

  std::vector<Column> columns;  ///< Beside sparse features: weights, offsets, arguments of likelihoods alone.

  bool is_sparse = false;
  Design features;            ///< Sparse rows, column j holds index j + 1 of the file; shared by models made of them.
  Vector labels;              ///< First number of each line.
  Index ignored_entries = 0;  ///< Entries left out because of TableOptions::ignore_larger_indices.

  [[nodiscard]] Index rows() const;
  /// The file's name, or "the table" for one that came from no file.
  [[nodiscard]] std::string name_in_messages() const;
  [[nodiscard]] const Column* find(std::string_view name) const;
  /// The column of that name; throws InvalidFile listing the columns there are.
  [[nodiscard]] const Column& column(std::string_view name) const;
  /// "train.csv, line 17", or "row 16" for a table that came from no file.
  [[nodiscard]] std::string where(Index row) const;
};

enum class TableFormat {
  by_name,
  csv,
  svmlight,
  tsv,        ///< As csv, with tabs in place of commas.
  csv_or_tsv  ///< tsv if there is a tab in the first line that is not blank.
};

struct TableOptions {
  TableFormat format = TableFormat::by_name;
  std::vector<std::string> text_columns = {};  ///< CSV: columns to keep as text although all their cells are numbers.
  /// CSV: the same for columns that need not be there, such as identifiers: 007 stays 007.
  std::vector<std::string> verbatim_columns = {};
  Index features = 0;                  ///< LIBSVM: number of features; 0 takes the largest index in the file.
  bool ignore_larger_indices = false;  ///< LIBSVM: drop, and count, entries above `features` instead of refusing.
  bool single = false;                 ///< LIBSVM: keep values rounded to single precision, 8 bytes an entry.
};

/// Reads a CSV (.csv), tab-separated (.tsv, .tab), either of the two (.txt) or LIBSVM (.svm, .libsvm) table, plain or
/// gzip (recognised by content). Throws InvalidFile with file and line. Memory is O(cells).
[[nodiscard]] Table read_table(const std::filesystem::path& path, const TableOptions& options = {});

/// The same from text in memory; `name` stands for the file name, also in the choice of the format.
[[nodiscard]] Table parse_table(std::string_view text, std::string name, const TableOptions& options = {});

/// Rows of a table without a missing cell in the columns that matter.
struct CompleteRows {
  Table table;
  std::vector<Index> rows;  ///< Where they stood in the original table, from 0.
  Index dropped = 0;
  std::string note;  ///< How many rows were dropped and the first of them; empty if none.
};

/// Checks the named columns for missing cells: the first one throws InvalidFile with row and column, unless
/// `drop_missing`, which leaves such rows out and counts them. A table without any complete row is refused.
[[nodiscard]] CompleteRows complete_rows(Table table, const std::vector<std::string>& columns, bool drop_missing);

enum class Scaling {
  none,
  standardize,  ///< (x - mean) / sd for numeric columns; 0/1 columns of text levels stay.
  scale         ///< x / sd, which keeps zeros and so suits sparse features.
};

struct FeatureOptions {
  std::vector<std::string> features;  ///< In this order; empty: all columns that are not reserved.
  std::vector<std::string> reserved;  ///< Target, row-wise arguments, offset: never features.
  Scaling scaling = Scaling::none;
  Vector weights = {};  ///< Of rows in means and standard deviations; empty: all one.
  /// Text columns keep a 0/1 column for every level, which suits Gaussian-process priors. With an intercept these
  /// columns sum to it; dropping the first level then makes it the reference.
  bool drop_first_level = false;
};

/// How one column becomes features.
struct FeatureColumn {
  std::string name;
  ColumnType type = ColumnType::numeric;
  double mean = 0.0;                ///< Numeric: x becomes (x - mean) / sd.
  double sd = 1.0;                  ///< Population standard deviation; 1 for a constant column.
  double filled = 1.0;              ///< Numeric: the share of training rows where x differs from zero.
  std::vector<std::string> levels;  ///< Text: the accepted levels in byte order.
  bool drop_first_level = false;

  [[nodiscard]] Index width() const;
  /// One line for people: "sex: categories -> 0/1 columns sex=female, sex=male".
  [[nodiscard]] std::string report() const;
};

/// How a table becomes features; plain data, to be kept with the model.
struct FeatureCoding {
  std::vector<FeatureColumn> columns;  ///< Empty if is_sparse.

  bool is_sparse = false;     ///< Built from a LIBSVM table.
  Index sparse_features = 0;  ///< Their number.
  Vector sparse_mean;         ///< Empty: not centred.
  Vector sparse_sd;           ///< Empty: not scaled.

  std::vector<std::string> warnings;  ///< Constant columns, columns that look like identifiers.

  [[nodiscard]] Index dimension() const;
  /// "age", "sex=female", or "feature[12]" for LIBSVM index 12.
  [[nodiscard]] std::vector<std::string> names() const;
  /// One line a column for people.
  [[nodiscard]] std::string report() const;

  /// Rows x dimension(). The table may have other columns besides, in any order. Throws InvalidFile for an absent
  /// column, a missing cell, text where numbers were, an unseen level. A LIBSVM table may have fewer features.
  [[nodiscard]] Matrix encode_dense(const Table& table) const;
  /// The same without zeros; refuses a coding that centres columns (use Scaling::scale). Features of a LIBSVM table
  /// that are not scaled are shared with it, and keep their precision in any case.
  [[nodiscard]] Design encode_sparse(const Table& table) const;
};

/// The columns that make_feature_coding will use, in order; empty for a LIBSVM table.
[[nodiscard]] std::vector<std::string> choose_features(const Table& table, const FeatureOptions& options);

/// Learns the coding from a training table whose feature columns are complete. Refuses a text column that is numeric
/// but for a few cells, unless it was asked for as text. Cost O(cells log levels).
[[nodiscard]] FeatureCoding make_feature_coding(const Table& table, const FeatureOptions& options = {});

/// How a column becomes responses; plain data, to be kept with the model.
struct TargetCoding {
  std::string column;  ///< Empty for the labels of a LIBSVM table.
  ResponseKind kind = ResponseKind::real;
  std::string negative;                   ///< Sign: the original label of -1.
  std::string positive;                   ///< Sign: the original label of +1.
  std::vector<std::string> classes = {};  ///< Label: the original labels of 0, 1, 2, ...
  std::string note;                       ///< How labels were mapped; empty if they were kept.

  /// Responses of a table, checked and mapped as at training; one class alone is accepted here.
  [[nodiscard]] Vector encode(const Table& table) const;
  /// The original label of a response: "yes" for 1.
  [[nodiscard]] std::string label(double response) const;
};

/// Learns the target's coding from a training table. `sign` keeps {-1, 1}, maps {0, 1}, {1, 2} and two text levels (in
/// byte order) to {-1, 1}, and refuses anything else with the labels found; `count` wants integers >= 0, `positive`
/// numbers > 0, `real` any finite number. `label` numbers texts in byte order and integers in ascending order, or takes
/// the names and the order of `classes`, of which some may have no rows; it refuses other numbers, labels that are not
/// among them, a single class and a label of its own in every row.
[[nodiscard]] TargetCoding make_target_coding(const Table& table, const std::string& column, ResponseKind kind,
                                              const std::vector<std::string>& classes = {});

/// The numbers of a column that gives a row-wise argument of a likelihood; throws InvalidFile with the row of a wrong
/// value, InvalidOption for an argument that has no column in the catalogue.
[[nodiscard]] Vector argument_column(const Table& table, std::string_view column, const SiteArgumentInfo& argument);

/// The weights of rows in a column; throws InvalidFile with the row of one that is not positive.
[[nodiscard]] Vector weight_column(const Table& table, std::string_view column);

/// 1 for censored rows from a column with 1 for events, 0 for censored rows.
[[nodiscard]] Vector event_column(const Table& table, std::string_view column);

/// The finite numbers of a column, e.g. of an offset; throws InvalidFile with the row of anything else.
[[nodiscard]] Vector number_column(const Table& table, std::string_view column);

/// A column of fixed effects, or the products of several columns: an interaction.
struct FixedTerm {
  std::vector<FeatureColumn> columns;

  [[nodiscard]] Index width() const;
  /// "age", "sex=male", "sex=male:age".
  [[nodiscard]] std::vector<std::string> names() const;
  /// Rows x width(), as FeatureCoding::encode_dense.
  [[nodiscard]] Matrix encode(const Table& table) const;
};

/// The groups of random effects: which columns name a row's level, and what the level's effects multiply.
struct GroupCoding {
  std::string term;                 ///< "1|patient", "week|patient".
  std::vector<std::string> group;   ///< Columns whose cells together name the level.
  bool intercept = true;            ///< The first effect of a level is added as it is,
  std::string slope = {};           ///< and one multiplies this column; empty: none.
  bool correlated = false;          ///< Both effects of a level are.
  std::vector<std::string> levels;  ///< Of the training table.

  [[nodiscard]] Index effects() const { return (intercept ? 1 : 0) + (slope.empty() ? 0 : 1); }
  /// "patient", or "school:class".
  [[nodiscard]] std::string name() const;
  /// The level of every row, -1 for one that was never seen or is missing.
  [[nodiscard]] std::vector<Index> rows(const Table& table) const;
  /// What the effects of its level multiply in every row: rows x effects().
  [[nodiscard]] Matrix multipliers(const Table& table) const;
};

/// The levels of a group in a training table, in the order of numbers or bytes.
[[nodiscard]] std::vector<std::string> group_levels(const Table& table, const std::vector<std::string>& group);

/// Nodes with names, and the pairs of them that are neighbours.
struct Graph {
  std::string source = {};                          ///< File name, for messages.
  std::vector<std::string> nodes = {};              ///< Numbers in their shortest form.
  std::vector<std::pair<Index, Index>> edges = {};  ///< Each once.
  Index repeated = 0;                               ///< Pairs that were given again.
};

/// Reads neighbours from a table with two columns (.csv, .tsv, .tab), a pair of nodes a row, or from a file with a line
/// for each node, its name, the number of its neighbours and their names, after a first line with the number of nodes
/// (the graph files of INLA; .gal files of GeoDa). Plain or gzip. Throws InvalidFile with file and line.
[[nodiscard]] Graph read_graph(const std::filesystem::path& path);
/// The same from text; `name` stands for the file name.
[[nodiscard]] Graph parse_graph(std::string_view text, const std::string& name);

/// A Markov field over the cells of a column.
struct FieldCoding {
  std::string term;                     ///< "besag(district)", "rw2(day,cyclic)".
  std::string column;                   ///< Whose cells name the node of a row.
  std::vector<std::string> nodes = {};  ///< Of a graph.
  Vector places = {};                   ///< Of a random walk: the values that are its nodes, ascending.

  [[nodiscard]] Index size() const { return nodes.empty() ? places.size() : static_cast<Index>(nodes.size()); }
  /// The names of the nodes, numbers in their shortest form.
  [[nodiscard]] std::vector<std::string> names() const;
  /// The node of every row. Throws InvalidFile with the row of a cell that is none.
  [[nodiscard]] std::vector<Index> rows(const Table& table) const;
};

/// How a table becomes all the data of a model; plain data, to be kept with it.
struct TableCoding {
  FeatureCoding features;  ///< Inputs of the process, or columns of a linear model with an isotropic prior.
  TargetCoding target;
  bool intercept = false;                ///< The first column of a linear model's design is one.
  std::vector<FixedTerm> fixed = {};     ///< Fixed effects after the intercept,
  Vector centres = {};                   ///< each column less this, the mean of the training table,
  std::vector<GroupCoding> groups = {};  ///< then random effects,
  std::vector<FieldCoding> fields = {};  ///< and Markov fields.
  double constant = 0.0;                 ///< Added to eta, where no process has a mean.
  /// Columns of the table that give likelihood arguments by row, e.g. {"exposure", "expected"}.
  std::map<std::string, std::string, std::less<>> argument_columns = {};
  /// Those of them whose column holds one minus the argument: events in place of censoring.
  std::vector<std::string> inverted_arguments = {};
  std::string offset_column = {};      ///< Empty: no offset.
  std::vector<std::string> keep = {};  ///< Columns of new tables to copy into their predictions.
  Index training_rows = 0;
};

}  // namespace gaussmith
