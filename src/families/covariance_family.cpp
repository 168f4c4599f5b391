#include "families/covariance_family.hpp"

#include "base/input_file.hpp"
#include "families/root_pattern.hpp"
#include "gaussmith/errors.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace gaussmith {

namespace {

constexpr std::size_t longest_quote = 40;
constexpr std::string_view accepted = "auto, full, diagonal, banded:B, chevron:K, sparse:FILE, subspace:K or factor:K";
/// 2 GiB as pairs of indices.
constexpr std::size_t most_entries = std::size_t{1} << 28;

Index parse_size(std::string_view kind, std::string_view text, Index lowest) {
  Index value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest)
    throw InvalidOption(fmt::format(
        "kl.covariance {}: expected a whole number of at least {} after the colon, found \"{}\"", kind, lowest, text));
  return value;
}

/// The file, or InvalidOption: the option names it.
InputFile open_pattern(const std::string& file) {
  try {
    return InputFile(file);
  } catch (const InvalidFile&) {
    throw InvalidOption(fmt::format("kl.covariance sparse: cannot open the pattern file \"{}\"", file));
  }
}

std::vector<std::pair<int, int>> read_pattern(const std::string& file) {
  InputFile in = open_pattern(file);
  std::vector<std::pair<int, int>> entries;
  std::string_view whole;
  while (in.next(whole)) {
    const std::string line(whole.substr(0, whole.find('#')));
    std::istringstream words(line);
    std::string rest;
    long long i = 0;
    long long j = 0;
    if (!(words >> std::ws) || words.eof()) continue;
    if (!(words >> i >> j) || (words >> rest))
      throw InvalidOption(fmt::format("{}:{}: expected two whole numbers \"i j\", found \"{}\"", file, in.line(),
                                      line.size() <= longest_quote ? line : line.substr(0, longest_quote) + "..."));
    if (i < 0 || j < i || j > 100'000'000)
      throw InvalidOption(fmt::format(
          "{}:{}: expected 0 <= i <= j (C is upper triangular, counted from 0), found {} {}", file, in.line(), i, j));
    if (entries.size() == most_entries)
      throw InvalidOption(
          fmt::format("{}:{}: more than {} entries, the most that is accepted", file, in.line(), most_entries));
    entries.emplace_back(static_cast<int>(i), static_cast<int>(j));
  }
  return entries;
}

}  // namespace

CovarianceFamily parse_family(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool sized = colon != std::string_view::npos;
  const std::string_view size = sized ? text.substr(colon + 1) : std::string_view();
  if (!sized && kind == "full") return {FamilyKind::full};
  if (!sized && kind == "diagonal") return {FamilyKind::diagonal};
  if (sized && kind == "banded") return {FamilyKind::banded, parse_size(kind, size, 0)};
  if (sized && kind == "chevron") return {FamilyKind::chevron, parse_size(kind, size, 0)};
  if (sized && kind == "subspace") return {FamilyKind::subspace, parse_size(kind, size, 1)};
  if (sized && kind == "factor") return {FamilyKind::factor, parse_size(kind, size, 1)};
  if (sized && kind == "sparse" && !size.empty())
    return {FamilyKind::sparse, 0, read_pattern(std::string(size)), std::string(size)};
  if (!sized && (kind == "banded" || kind == "chevron" || kind == "subspace" || kind == "factor"))
    throw InvalidOption(fmt::format("kl.covariance {}: a size is missing; accepted are {}", kind, accepted));
  if (sized && (kind == "full" || kind == "diagonal"))
    throw InvalidOption(fmt::format("kl.covariance {}: this family has no size; write {}", text, kind));
  if (kind == "sparse") throw InvalidOption("kl.covariance sparse: a pattern file is missing; write sparse:FILE");
  throw InvalidOption(fmt::format("kl.covariance: there is no family \"{}\"; accepted are {}", text, accepted));
}

std::string to_string(const CovarianceFamily& family) {
  switch (family.kind) {
    case FamilyKind::full:
      return "full";
    case FamilyKind::diagonal:
      return "diagonal";
    case FamilyKind::banded:
      return fmt::format("banded:{}", family.size);
    case FamilyKind::chevron:
      return fmt::format("chevron:{}", family.size);
    case FamilyKind::sparse:
      return fmt::format("sparse:{}", family.file);
    case FamilyKind::subspace:
      return fmt::format("subspace:{}", family.size);
    case FamilyKind::factor:
      break;
  }
  return fmt::format("factor:{}", family.size);
}

void check_family(const CovarianceFamily& family, Index dimension) {
  if (family.size < 0 || family.size > dimension)
    throw InvalidOption(
        fmt::format("kl.covariance {}: the size must not exceed the dimension {}", to_string(family), dimension));
  if (family.kind != FamilyKind::sparse) return;
  std::vector<bool> diagonal(static_cast<std::size_t>(dimension), false);
  for (const auto& [i, j] : family.entries) {
    if (i < 0 || j < i || j >= dimension)
      throw InvalidOption(fmt::format("kl.covariance {}: entry {} {} is out of range; expected 0 <= i <= j < {}",
                                      to_string(family), i, j, dimension));
    if (i == j) diagonal[static_cast<std::size_t>(i)] = true;
  }
  for (Index i = 0; i < dimension; ++i)
    if (!diagonal[static_cast<std::size_t>(i)])
      throw InvalidOption(fmt::format("kl.covariance {}: the pattern lacks the diagonal entry {} {}; all {} are needed",
                                      to_string(family), i, i, dimension));
}

void check_rows(const CovarianceFamily& family, const Design& design) {
  if (!design.has_entries())
    throw InvalidOption(
        fmt::format("kl.covariance {} needs the entries of the design, and this one is an operator that only "
                    "multiplies; use full, or a dense or sparse design",
                    to_string(family)));
}

double memory_needed(const CovarianceFamily& family, const Model& model, Basis basis) {
  const auto d = static_cast<double>(model.dimension());
  const auto n = static_cast<double>(model.rows());
  const auto k = static_cast<double>(family.size);
  const bool dense_prior = has_dense_covariance(model.prior);
  const bool subspace = family.kind == FamilyKind::subspace;
  const bool whitened = dense_prior && (basis == Basis::whitened || family.kind == FamilyKind::full || subspace);
  const bool stored_dense = model.design.entries().dense != nullptr;
  const bool dense_design = stored_dense || whitened;
  double entries = 0.0;     // Of the root.
  double panel_rows = 0.0;  // Rows of the root that are not purely diagonal, where their products are kept.
  double grams = 0.0;       // Gram matrices of the windows of rows.
  switch (family.kind) {
    case FamilyKind::full:
      entries = d * (d + 1) / 2;
      panel_rows = d;
      break;
    case FamilyKind::diagonal:
      entries = d;
      break;
    case FamilyKind::banded: {
      // Narrow blocks keep no panel; their Gram matrices are about as large as five roots.
      const auto block_rows = static_cast<double>(rows_per_block(family));
      entries = d * (k + 1);
      if (std::min(d, k + block_rows) >= static_cast<double>(fewest_columns_for_panel)) panel_rows = d;
      grams = d / block_rows * (k + block_rows) * (k + block_rows);
      break;
    }
    case FamilyKind::chevron:
    case FamilyKind::factor:
      entries = d * (k + 1);
      panel_rows = k;
      break;
    case FamilyKind::sparse:
      entries = static_cast<double>(family.entries.size());
      panel_rows = d;
      break;
    case FamilyKind::subspace:
      entries = (k + 1) * (k + 2) / 2;
      panel_rows = k + 1;
      break;
  }
  // Point, two directions, gradient, their prior terms, scratch; the pattern's indices count half.
  double doubles = 14 * entries + grams + 40 * (n + d);
  // Sparse rows once more by column, for windows of columns.
  const bool windows = family.kind == FamilyKind::banded || family.kind == FamilyKind::sparse;
  if (!stored_dense && windows) doubles += 1.5 * model.design.sized(model.dimension()).nonzeros();
  // Rows in single precision are converted.
  if (model.design.entries().single != nullptr) doubles += 1.5 * model.design.nonzeros();
  if (dense_design || subspace) doubles += 4 * n * panel_rows;
  // Lanczos vectors; the basis, the next one, and the root of the result.
  if (subspace) doubles += d * (3 * k + 20) + 4 * d * k;
  if (dense_prior) {
    // The prior's covariance, its inverse for mean and root, A and its factor; H Sigma; the whitened rows twice.
    doubles += 5.5 * d * d;
    if (stored_dense) doubles += n * d;
    if (whitened) doubles += 2 * n * d;
  } else {
    const bool direct = family.kind == FamilyKind::full || d <= static_cast<double>(direct_dimension);
    if (direct) doubles += 3 * d * d;
    // The scaled rows.
    if (subspace) doubles += (stored_dense ? 1.0 : 1.5) * model.design.sized(model.dimension()).nonzeros();
  }
  return 8 * doubles;
}

}  // namespace gaussmith
