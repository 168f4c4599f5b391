#include "tables/formula.hpp"

#include "base/spelling.hpp"
#include "io/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace gaussmith {

namespace {

constexpr std::string_view accepted_terms =
    "columns, a:b, a*b, 0, 1, (1|group), (x|group), (x||group), (0 + x|group), kernels such as se(x) and fields: "
    "besag(x), rw1(x), rw2(x)";

bool is_field_name(std::string_view name) { return name == "besag" || name == "rw1" || name == "rw2"; }

bool is_kernel_name(std::string_view name) {
  const auto& known = kernel_catalogue();
  return std::any_of(known.begin(), known.end(), [&](const KernelInfo& info) { return info.name == name; });
}

/// What stands here for functions that formulas of R have.
std::string_view instead_of(std::string_view name) {
  if (name == "factor" || name == "as.factor") return ", or name the column in --categorical";
  if (name == "offset") return ", or name it in --offset";
  if (name == "s" || name == "te" || name == "f") return ", or write gp(x), rw2(x) or besag(x)";
  if (name == "bym" || name == "bym2") return ", or write besag(x) + (1|x)";
  return "";
}

class Parser {
 public:
  Parser(std::string_view text, std::string option) : text_(text), option_(std::move(option)) {}

  ModelTerms formula() {
    ModelTerms terms;
    terms.target = column("the column of the responses");
    if (text_.substr(at_).starts_with("("))
      fail(
          "the response is a column; events are named by --event, trials by --trials, and functions need a column of "
          "their own");
    if (!take("~")) fail("expected ~ after the response");
    bool minus = take("-");
    while (true) {
      term(minus, terms);
      if (take("+")) {
        minus = false;
      } else if (take("-")) {
        minus = true;
      } else {
        break;
      }
    }
    if (!at_end()) fail(fmt::format("unexpected \"{}\"; terms are joined by +", text_[at_]));
    return terms;
  }

  FieldTerm field() {
    const std::string kind = column("a field");
    if (quoted_ || !is_field_name(kind) || !is_kernel())
      fail(fmt::format("{} is no field", kind.empty() ? "this" : kind), 0);
    FieldTerm term = field_term(0, kind);
    if (!at_end()) fail(fmt::format("unexpected \"{}\" after the field", text_[at_]));
    return term;
  }

  std::vector<GroupTerm> groups() {
    std::vector<GroupTerm> terms = group_terms(0);
    if (!at_end()) fail(fmt::format("unexpected \"{}\" after the group", text_[at_]));
    return terms;
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::optional<std::size_t> place = {}) const {
    throw InvalidFormula(fmt::format("{}: {}; accepted: {}", option_, what, accepted_terms), std::string(text_),
                         place.value_or(at_));
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }

  bool take(std::string_view wanted) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }

  /// Letters, digits, dots and underscores, and anything beyond ASCII.
  [[nodiscard]] static bool in_name(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return std::isalnum(byte) != 0 || c == '_' || c == '.' || byte >= 0x80;
  }

  std::string column(std::string_view what) {
    skip_spaces();
    quoted_ = at_ < text_.size() && text_[at_] == '`';
    if (at_ == text_.size()) fail(fmt::format("the text ends where {} is expected", what));
    if (quoted_) {
      const std::size_t start = at_ + 1;
      const auto end = text_.find('`', start);
      if (end == std::string_view::npos || end == start) fail("a name in backticks does not end");
      at_ = end + 1;
      return std::string(text_.substr(start, end - start));
    }
    const std::size_t start = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    if (at_ == start) fail(fmt::format("\"{}\" stands where {} is expected", text_[at_], what));
    return std::string(text_.substr(start, at_ - start));
  }

  void term(bool minus, ModelTerms& terms) {
    skip_spaces();
    const std::size_t start = at_;
    if (take("(")) {
      if (minus) fail("only 1 can be taken away", start);
      std::vector<GroupTerm> found = group_terms(start);
      if (!take(")")) fail(at_end() ? "the text ends where ) is expected" : "expected ) after the group");
      terms.groups.insert(terms.groups.end(), found.begin(), found.end());
      return;
    }
    std::string name = column("a term");
    if (!quoted_ && (name == "0" || name == "1")) {
      terms.intercept = (name == "1") != minus;
      return;
    }
    if (minus) fail("only 1 can be taken away", start);
    if (!quoted_ && name == ".") fail("\".\" is not understood; name the columns", start);
    if (!quoted_ && std::isdigit(static_cast<unsigned char>(text_[start])) != 0)
      fail(fmt::format("the number {} is no term", name), start);
    if (!quoted_ && is_kernel() && is_field_name(name)) {
      terms.fields.push_back(field_term(start, name));
      return;
    }
    if (!quoted_ && is_kernel()) {
      add_kernel(start, terms);
      return;
    }
    std::vector<std::string> columns = {std::move(name)};
    bool crossed = false;
    bool product = false;
    while (true) {
      const std::size_t before = at_;
      if (take(":")) {
        product = true;
      } else if (take("*")) {
        crossed = true;
      } else {
        break;
      }
      columns.push_back(column("a column"));
      if (is_kernel()) fail("a column times a kernel has no meaning here", before);
      if (crossed && (product || columns.size() > 2)) fail("write products of more than two columns as a:b:c", before);
    }
    if (take("^") || take("/")) fail("powers and nesting of columns are not understood", at_ - 1);
    if (crossed) {
      add_fixed({columns[0]}, terms);
      add_fixed({columns[1]}, terms);
    }
    add_fixed(columns, terms);
  }

  /// A column by itself is that column: x:x is x and no square.
  static void add_fixed(const std::vector<std::string>& written, ModelTerms& terms) {
    std::vector<std::string> columns;
    for (const std::string& name : written)
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    const auto sorted = [](std::vector<std::string> names) {
      std::sort(names.begin(), names.end());
      return names;
    };
    for (const auto& known : terms.fixed)
      if (sorted(known) == sorted(columns)) return;  // a + a*b names a twice.
    terms.fixed.push_back(std::move(columns));
  }

  /// Whether a name is followed by a bracket, as in se(x) and se-ard(x).
  [[nodiscard]] bool is_kernel() const {
    const std::string_view rest = text_.substr(at_);
    return rest.starts_with("(") || rest.starts_with("-ard(");
  }

  /// What follows the name of a field: its column, and of random walks a range and whether they are cyclic.
  FieldTerm field_term(std::size_t start, const std::string& kind) {
    FieldTerm term;
    term.kind = kind;
    if (!take("(")) fail("expected ( and a column");
    term.column = column("a column");
    std::vector<double> range;
    while (take(",")) {
      skip_spaces();
      const std::size_t here = at_;
      const auto end = text_.find_first_of(",)", at_);
      std::string argument(text_.substr(at_, end == std::string_view::npos ? end : end - at_));
      while (!argument.empty() && argument.back() == ' ') argument.pop_back();
      if (kind == "besag") fail("besag takes a column alone; its graph is named by an option", here);
      if (argument == "cyclic") {
        term.cyclic = true;
      } else if (const Cell cell = parse_cell(argument); cell.kind == CellKind::number && range.size() < 2) {
        range.push_back(cell.value);
      } else {
        fail(fmt::format("\"{}\" is understood by no random walk; after the column come cyclic, or its first and last "
                         "value",
                         argument),
             here);
      }
      at_ = end == std::string_view::npos ? text_.size() : end;
    }
    if (!take(")")) fail(at_end() ? "the text ends where ) is expected" : "expected ) after the column");
    if (range.size() == 1 || (range.size() == 2 && !(range[0] < range[1])))
      fail("a range is the first value and the last one, ascending", start);
    if (!range.empty()) term.range.emplace(range[0], range[1]);
    term.text = std::string(text_.substr(start, at_ - start));
    std::erase(term.text, ' ');
    return term;
  }

  /// A product of kernels that starts at `start`.
  void add_kernel(std::size_t start, ModelTerms& terms) {
    while (true) {
      const auto open = text_.find('(', at_);
      std::size_t close = open + 1;
      while (close < text_.size() && text_[close] != ')') close = text_[close] == '`' ? skip_quoted(close) : close + 1;
      if (close >= text_.size()) {
        at_ = text_.size();
        fail("the text ends where ) is expected");
      }
      at_ = close + 1;
      if (!take("*")) break;
      const std::size_t next = at_;
      (void)column("a kernel");
      if (!is_kernel()) fail("a kernel times a column has no meaning here", next);
    }
    std::string written(text_.substr(start, at_ - start));
    for (std::size_t at = 0; (at = written.find("gp(", at)) != std::string::npos; at += 3)
      if (at == 0 || !in_name(written[at - 1])) written.replace(at, 2, "se");
    if (std::string_view name = text_.substr(start, text_.find_first_of("(-", start) - start);
        name != "gp" && !is_kernel_name(name))
      fail(fmt::format("{}() is no kernel, and functions of columns are not understood: add a column to the table{}",
                       name, instead_of(name)),
           start);
    KernelExpression kernel;
    try {
      kernel = parse_kernel(written);
    } catch (const InvalidInput& error) {
      throw InvalidFormula(fmt::format("{}: {}", option_, error.what()), std::string(text_), start);
    }
    if (!terms.kernel) {
      terms.kernel = std::move(kernel);
    } else if (terms.kernel->name == "sum") {
      terms.kernel->terms.push_back(std::move(kernel));
    } else {
      KernelExpression sum;
      sum.name = "sum";
      sum.terms = {std::move(*terms.kernel), std::move(kernel)};
      terms.kernel = std::move(sum);
    }
  }

  [[nodiscard]] std::size_t skip_quoted(std::size_t at) const {
    const auto end = text_.find('`', at + 1);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }

  /// What stands before and after the bar; `start` is where messages about the whole term point.
  std::vector<GroupTerm> group_terms(std::size_t start) {
    skip_spaces();
    const std::size_t first = at_;
    GroupTerm term;
    bool one = false;
    bool zero = false;
    do {
      skip_spaces();
      const std::size_t here = at_;
      const std::string name = column("1, 0 or a column");
      if (!quoted_ && name == "1") {
        one = true;
      } else if (!quoted_ && name == "0") {
        zero = true;
      } else if (term.slope.empty()) {
        term.slope = name;
      } else {
        fail("a random term has one slope at most", here);
      }
    } while (take("+"));
    if (take("-")) fail("write 0 + x for a slope without an intercept", at_ - 1);
    if (!take("|")) fail(at_end() ? "the text ends where | and a group are expected" : "expected | and a group");
    const bool independent = take("|");
    if ((one && zero) || (zero && term.slope.empty())) fail("the term has no effect", start);
    term.intercept = !zero;
    term.correlated = term.intercept && !term.slope.empty() && !independent;
    std::vector<GroupTerm> all;
    term.group.push_back(column("a group"));
    while (take(":")) term.group.push_back(column("a group"));
    all.push_back(term);
    while (take("/")) {
      // g/h: the groups of g, and within each of them those of h.
      term.group.push_back(column("a group"));
      all.push_back(term);
    }
    std::string written(text_.substr(first, at_ - first));
    written.erase(std::remove(written.begin(), written.end(), ' '), written.end());
    const std::string effects = written.substr(0, written.rfind('|') + 1);
    for (GroupTerm& each : all) each.text = fmt::format("{}{}", effects, fmt::join(each.group, ":"));
    return all;
  }

  std::string_view text_;
  std::string option_;
  std::size_t at_ = 0;
  bool quoted_ = false;  // The last name stood in backticks.
};

}  // namespace

ModelTerms parse_formula(std::string_view text, Spelling spelling) {
  return Parser(text, option_name("formula", spelling)).formula();
}

FieldTerm parse_field(std::string_view text, Spelling spelling) {
  return Parser(text, option_name("field", spelling)).field();
}

std::vector<GroupTerm> parse_groups(std::string_view text, Spelling spelling) {
  return Parser(text, option_name("random", spelling)).groups();
}

}  // namespace gaussmith
