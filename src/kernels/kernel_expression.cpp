#include "gaussmith/kernel_expression.hpp"

#include "base/spelling.hpp"
#include "kernels/starting_period.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace gaussmith {

namespace {

constexpr std::string_view ard_suffix = "-ard";
constexpr int max_brackets = 32;

const KernelInfo* find_kernel(std::string_view name) {
  for (const auto& info : kernel_catalogue()) {
    if (info.name == name && name != "sum" && name != "product") {
      return &info;
    }
  }
  return nullptr;
}

/// None for a name that does not exist, which make_kernel() refuses.
std::vector<KernelArgumentInfo> arguments_of(std::string_view name) {
  const KernelInfo* info = find_kernel(name);
  return info == nullptr ? std::vector<KernelArgumentInfo>() : info->arguments;
}

bool has_ard_argument(const KernelInfo& info) {
  return std::any_of(info.arguments.begin(), info.arguments.end(), [](const auto& a) { return a.per_dimension; });
}

/// Recursive descent over "a+b*(c+d)".
class Parser {
 public:
  Parser(std::string_view text, Spelling spelling) : text_(text), option_(option_name("kernel", spelling)) {}

  KernelExpression whole() {
    KernelExpression result = chain('+', 0);
    if (at_ < text_.size()) {
      fail(fmt::format("unexpected \"{}\"", text_[at_]));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw InvalidOption(
        fmt::format("{} {}: {} at position {}; expected names joined by + and *, e.g. se-ard+linear or se(age)",
                    option_, text_, cause, at_ + 1));
  }

  KernelExpression chain(char join, int depth) {
    std::vector<KernelExpression> terms;
    do {
      terms.push_back(join == '+' ? chain('*', depth) : factor(depth));
    } while (take(join));
    if (terms.size() == 1) {
      return std::move(terms.front());
    }
    KernelExpression joined;
    joined.name = join == '+' ? "sum" : "product";
    joined.terms = std::move(terms);
    return joined;
  }

  KernelExpression factor(int depth) {
    if (depth > max_brackets) {
      fail("too many brackets");
    }
    if (take('(')) {
      KernelExpression inner = chain('+', depth + 1);
      if (!take(')')) {
        fail("a closing bracket is missing");
      }
      return inner;
    }
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && std::string_view("+*() ").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    if (at_ == start) {
      fail("a name is missing");
    }
    KernelExpression leaf = named(text_.substr(start, at_ - start));
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      leaf.columns = column_list();
    }
    return leaf;
  }

  std::vector<std::string> column_list() {
    std::vector<std::string> columns;
    do {
      skip_spaces();
      const bool quoted = at_ < text_.size() && text_[at_] == '`';
      const std::size_t start = quoted ? ++at_ : at_;
      while (at_ < text_.size() &&
             (quoted ? text_[at_] != '`' : std::string_view(",()").find(text_[at_]) == std::string_view::npos)) {
        ++at_;
      }
      std::string_view name = text_.substr(start, at_ - start);
      while (!quoted && name.ends_with(' ')) {
        name.remove_suffix(1);
      }
      if (quoted && !take('`')) {
        fail("a closing ` is missing");
      }
      if (name.empty()) {
        fail("a column is missing");
      }
      columns.emplace_back(name);
    } while (take(','));
    if (!take(')')) {
      fail("a closing bracket is missing");
    }
    return columns;
  }

  KernelExpression named(std::string_view name) const {
    const bool ard = name.ends_with(ard_suffix);
    const std::string_view plain = ard ? name.substr(0, name.size() - ard_suffix.size()) : name;
    const KernelInfo* info = find_kernel(plain);
    if (info == nullptr) {
      std::vector<std::string> names;
      for (const auto& known : kernel_catalogue()) {
        if (find_kernel(known.name) != nullptr) {
          names.emplace_back(known.name);
        }
      }
      throw InvalidOption(
          fmt::format("{}: unknown kernel \"{}\"{}; accepted: {}, joined by + and *, with -ard for "
                      "one length-scale a feature",
                      option_, name, suggestion(plain, names), fmt::join(names, ", ")));
    }
    if (ard && !has_ard_argument(*info)) {
      throw InvalidOption(
          fmt::format("{}: {} has no parameter by feature, so {} does not exist; use {}", option_, plain, name, plain));
    }
    KernelExpression leaf;
    leaf.name = plain;
    leaf.ard = ard;
    return leaf;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }

  bool take(char wanted) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      return true;
    }
    return false;
  }

  std::string_view text_;
  std::string option_;
  std::size_t at_ = 0;
};

/// The standard deviation of a column; 1 for one that does not vary.
double spread_of(const Vector& column) {
  const double sd = std::sqrt((column.array() - column.mean()).square().mean());
  return sd > 1e-12 && std::isfinite(sd) ? sd : 1.0;
}

/// What earlier components have started with: components of one kind on the same columns must start apart, because
/// nothing else tells them from one another.
struct Taken {
  std::map<std::vector<Index>, int> lengthscales;
  std::map<std::vector<Index>, int> periods;
};

/// Each further length-scale on the same columns starts this much shorter.
constexpr double apart = 0.25;

void start_leaf(KernelExpression& leaf, const Matrix& inputs, double response_scale, const Vector& responses,
                Taken& taken) {
  const std::string_view name = leaf.name;
  const auto start = [&](const char* argument, std::vector<double> values) {
    leaf.arguments.try_emplace(argument, std::move(values));
  };
  if (name == "linear") {
    const double size = std::sqrt(inputs.rowwise().squaredNorm().mean());
    start("signal_sd", {response_scale / (size > 1e-12 && std::isfinite(size) ? size : 1.0)});
    return;
  }
  start("signal_sd", {response_scale});
  if (name == "periodic") {
    const int before = taken.periods[leaf.places]++;
    start("period", {strongest_periods(inputs, responses, static_cast<std::size_t>(before) + 1).back()});
  }
  const bool stationary = name == "se" || name == "rq" || name.starts_with("matern");
  if (!stationary && name != "neural-network") {
    return;
  }
  const auto width = static_cast<std::size_t>(inputs.cols());
  std::vector<double> spreads(width);
  double total = 0.0;
  for (std::size_t j = 0; j < width; ++j) {
    spreads[j] = spread_of(inputs.col(static_cast<Index>(j)));
    total += spreads[j] * spreads[j];
  }
  const double count = static_cast<double>(width);
  if (name == "neural-network") {
    for (double& spread : spreads) {
      spread = 1.0 / spread;
    }
    start("weight_sd", leaf.ard ? spreads : std::vector<double>{std::sqrt(count / total)});
    return;
  }
  // Differences of rows are of this size, whatever the columns' own sizes.
  const double factor = std::pow(apart, taken.lengthscales[leaf.places]++);
  for (double& spread : spreads) {
    spread *= factor * std::sqrt(count);
  }
  start("lengthscale", leaf.ard ? spreads : std::vector<double>{factor * std::sqrt(total)});
}

void start(KernelExpression& kernel, const Matrix& all_inputs, double response_scale, const Vector& responses,
           Taken& taken) {
  const Matrix inputs = kernel.places.empty() ? all_inputs : Matrix(all_inputs(Eigen::all, kernel.places));
  if (kernel.terms.empty()) {
    start_leaf(kernel, inputs, response_scale, responses, taken);
    return;
  }
  const bool is_sum = kernel.name == "sum";
  const double share = is_sum ? response_scale / std::sqrt(static_cast<double>(kernel.terms.size())) : response_scale;
  for (std::size_t i = 0; i < kernel.terms.size(); ++i) {
    start(kernel.terms[i], inputs, is_sum || i == 0 ? share : 1.0, responses, taken);
  }
}

/// Splits "lengthscale[3]" into the name and 3; index -1 without brackets, nothing for anything else.
bool split_index(std::string_view text, std::string_view& name, Index& index) {
  const auto open = text.find('[');
  name = text.substr(0, open);
  index = -1;
  if (open == std::string_view::npos) {
    return true;
  }
  if (!text.ends_with(']')) {
    return false;
  }
  const std::string_view digits = text.substr(open + 1, text.size() - open - 2);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return code == std::errc() && end == digits.data() + digits.size() && index >= 0;
}

}  // namespace

KernelExpression parse_kernel(std::string_view text, Spelling spelling) { return Parser(text, spelling).whole(); }

std::vector<std::string> KernelExpression::named_columns() const {
  std::vector<std::string> all = columns;
  for (const KernelExpression& term : terms) {
    for (const std::string& column : term.named_columns()) {
      if (std::find(all.begin(), all.end(), column) == all.end()) {
        all.push_back(column);
      }
    }
  }
  return all;
}

bool KernelExpression::sees_all() const {
  if (terms.empty()) {
    return columns.empty();
  }
  return std::any_of(terms.begin(), terms.end(), [](const KernelExpression& term) { return term.sees_all(); });
}

void KernelExpression::place_columns(const std::function<std::vector<Index>(const std::string&)>& places_of) {
  places.clear();
  for (const std::string& column : columns) {
    const std::vector<Index> found = places_of(column);
    places.insert(places.end(), found.begin(), found.end());
  }
  for (KernelExpression& term : terms) {
    term.place_columns(places_of);
  }
}

bool KernelExpression::set(std::string_view parameter, const std::vector<double>& values, Index input_columns,
                           Spelling spelling) {
  const auto dot = parameter.find('.');
  std::string_view head;
  Index index = -1;
  if (!split_index(parameter.substr(0, dot), head, index)) {
    return false;
  }
  if (dot != std::string_view::npos) {
    if (head != "terms" || index < 0 || index >= static_cast<Index>(terms.size())) {
      return false;
    }
    return terms[static_cast<std::size_t>(index)].set(parameter.substr(dot + 1), values, input_columns, spelling);
  }
  const auto known = arguments_of(name);
  const auto argument = std::find_if(known.begin(), known.end(), [&](const auto& a) { return a.name == head; });
  if (argument == known.end()) {
    return false;
  }
  const Index seen = places.empty() ? input_columns : static_cast<Index>(places.size());
  const auto width = static_cast<std::size_t>(seen);
  if (index >= 0 || values.size() > 1) {
    if (!argument->per_dimension) {
      throw InvalidOption(fmt::format("{} takes one number", setting_name(fmt::format("kernel.{}", head), spelling)));
    }
    if (index >= seen || (index < 0 && values.size() != width) || (index >= 0 && values.size() != 1)) {
      throw InvalidOption(fmt::format("{}: there are {} coded features; give one number, or {}",
                                      setting_name(fmt::format("kernel.{}", parameter), spelling), seen, seen));
    }
  }
  std::vector<double>& stored = arguments[std::string(head)];
  if (index < 0) {
    stored = values;
    return true;
  }
  if (stored.size() != width) {
    stored.assign(width, stored.empty() ? argument->default_value : stored.front());
  }
  stored[static_cast<std::size_t>(index)] = values.front();
  return true;
}

void KernelExpression::start_from(const Matrix& inputs, double response_scale, const Vector& responses) {
  Taken taken;
  start(*this, inputs, response_scale, responses, taken);
}

KernelHandle KernelExpression::build(Index input_columns) const {
  if (!terms.empty()) {
    std::vector<KernelHandle> built;
    built.reserve(terms.size());
    for (const KernelExpression& term : terms) {
      built.push_back(term.build(input_columns));
    }
    return name == "sum" ? sum(std::move(built)) : product(std::move(built));
  }
  const Index seen = places.empty() ? input_columns : static_cast<Index>(places.size());
  KernelArguments complete = arguments;
  if (ard) {
    for (const auto& argument : arguments_of(name)) {
      if (!argument.per_dimension) {
        continue;
      }
      std::vector<double>& values = complete[std::string(argument.name)];
      if (values.size() <= 1) {
        values.assign(static_cast<std::size_t>(seen), values.empty() ? argument.default_value : values.front());
      }
    }
  }
  KernelHandle kernel = make_kernel(name, complete);
  return places.empty() ? kernel : on_columns(std::move(kernel), places);
}

std::string KernelExpression::defaults() const {
  std::vector<std::string> found;
  for (const KernelExpression& term : terms) {
    if (const std::string inner = term.defaults(); !inner.empty()) {
      found.push_back(fmt::format("{} ({})", inner, term.name));
    }
  }
  if (terms.empty()) {
    for (const auto& argument : arguments_of(name)) {
      if (!arguments.contains(argument.name)) {
        found.push_back(fmt::format("{} = {}", argument.name, argument.default_value));
      }
    }
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace gaussmith
