// Laplace(tolerance=1e-6) and its kin: a class for every method, its options as keywords, all from the catalogue.

#include "methods.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <utility>

namespace gaussmith::python {

namespace {

template <std::size_t place>
struct Named : MethodHolder {};

using OptionTexts = std::map<std::string, std::string, std::less<>>;

bool is_number(const MethodOptionInfo& option) {
  return option.range.starts_with('[') || option.range.starts_with('(');
}

/// tolerance of kl.tolerance; decoupled_penalty of decoupled.penalty, which has another's name in front.
std::string short_name(const MethodInfo& method, const MethodOptionInfo& option) {
  if (option.name.starts_with(method.name + ".")) return option.name.substr(method.name.size() + 1);
  std::string out = option.name;
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

/// The option of that keyword; where there is none, the name that make_method() will not know.
std::string full_name(const MethodInfo& method, const std::string& key) {
  for (const MethodOptionInfo& option : method.options)
    if (short_name(method, option) == key) return option.name;
  return fmt::format("{}.{}", method.name, key);
}

/// The type of an option in Python: numbers have a range, choices are listed.
std::string type_of(const MethodOptionInfo& option) {
  if (is_number(option)) return "float";
  if (option.range.find(':') != std::string::npos) return "str";
  std::string out = "typing.Literal[";
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = option.range.find(" | ", at);
    out += fmt::format("'{}'", option.range.substr(at, end - at));
    if (end == std::string::npos) return out + "]";
    out += ", ";
    at = end + 3;
  }
}

std::string default_of(const MethodOptionInfo& option) {
  return is_number(option) ? option.default_value : fmt::format("'{}'", option.default_value);
}

/// nanobind keeps pointers to the texts that describe functions.
const char* keep(std::string text) {
  static std::deque<std::string> all;
  return all.emplace_back(std::move(text)).c_str();
}

template <std::size_t place>
void bind_method(nb::module_& m, const MethodInfo& info) {
  using Class = Named<place>;
  std::string signature = "def __init__(self";
  std::string help = fmt::format("{}.\n\nEvidence: {}. Sites: {}.\n", info.summary, info.evidence, info.sites);
  if (!info.options.empty()) {
    signature += ", *";
    help += "\nOptions:\n";
  }
  for (const MethodOptionInfo& option : info.options) {
    signature += fmt::format(", {}: {} = {}", short_name(info, option), type_of(option), default_of(option));
    help +=
        fmt::format("  {} = {} ({}): {}\n", short_name(info, option), option.default_value, option.range, option.help);
  }
  nb::class_<Class, MethodHolder> bound(m, keep(class_name(info.name)), keep(std::move(help)));
  bound.def(
      "__init__",
      [&info](Class* self, const nb::args& nameless, const nb::kwargs& given) {
        if (nameless.size() > 0)
          throw nb::type_error(fmt::format("{} takes its options by name{}", class_name(info.name),
                                           info.options.empty() ? "; it has none"
                                                                : fmt::format(": {}({}=...)", class_name(info.name),
                                                                              short_name(info, info.options[0])))
                                   .c_str());
        OptionTexts options;
        for (const auto& [key, value] : given) {
          const std::string name = full_name(info, nb::cast<std::string>(key));
          options[name] = option_text(value, name);
        }
        new (self) Class{make_method(info.name, options)};
      },
      "nameless"_a, "options"_a, nb::sig(keep(signature + ") -> None")));
  for (const MethodOptionInfo& option : info.options)
    bound.def_prop_ro(
        keep(short_name(info, option)),
        [&option](const Class& self) {
          for (const auto& [name, text] : options_of(self.method))
            if (name == option.name) return to_python(option, text);
          return nb::object(nb::none());
        },
        nb::sig(keep(fmt::format("def {}(self) -> {}", short_name(info, option), type_of(option)))),
        keep(std::string(option.help)));
  bound.def("__reduce__", [](nb::handle self) {
    const Class& holder = nb::cast<const Class&>(self);
    const auto changed = options_of(holder.method, true);
    return nb::make_tuple(
        nb::module_::import_("gaussmith._pickles").attr("method"),
        nb::make_tuple(std::string(name_of(holder.method)), OptionTexts(changed.begin(), changed.end())));
  });
}

/// The class of the method that the holder holds.
template <std::size_t... place>
nb::object wrapped(const Method& method, std::index_sequence<place...> /*all*/) {
  nb::object out;
  ((method.index() == place ? static_cast<void>(out = nb::cast(Named<place>{method})) : static_cast<void>(0)), ...);
  return out;
}

template <std::size_t... place>
void bind_all(nb::module_& m, std::index_sequence<place...> /*all*/) {
  (bind_method<place>(m, method_catalogue()[place]), ...);
}

constexpr auto places = std::make_index_sequence<std::variant_size_v<Method>>{};

}  // namespace

std::string class_name(std::string name) {
  name.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(name.front())));
  return name;
}

std::string option_text(nb::handle value, const std::string& name) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::bool_>(value) || value.is_none())
    throw InvalidOption(
        fmt::format("{}: expected a number or a name, found {}", name, nb::cast<std::string>(nb::str(value))));
  return fmt::format("{}", to_number(value, name));
}

nb::object to_python(const MethodOptionInfo& info, const std::string& text) {
  if (!is_number(info)) return nb::cast(text);
  nb::object number = nb::module_::import_("builtins").attr("float")(text);
  if (text.find_first_of(".en") == std::string::npos) return nb::module_::import_("builtins").attr("int")(text);
  return number;
}

nb::object to_python(const Method& method) { return wrapped(method, places); }

void bind_methods(nb::module_& m) {
  nb::class_<MethodHolder>(m, "Method", "An inference method with its options.")
      .def_prop_ro("name", [](const MethodHolder& holder) { return std::string(name_of(holder.method)); })
      .def_prop_ro(
          "options",
          [](const MethodHolder& holder) {
            nb::dict out;
            const MethodInfo& info = method_catalogue()[holder.method.index()];
            const auto texts = options_of(holder.method);
            for (std::size_t i = 0; i < texts.size(); ++i)
              out[short_name(info, info.options[i]).c_str()] = to_python(info.options[i], texts[i].second);
            return out;
          },
          nb::sig("def options(self) -> dict[str, typing.Any]"), "All options with their values.")
      .def("__eq__",
           [](const MethodHolder& holder, nb::handle other) {
             const MethodHolder* that = nullptr;
             return nb::try_cast(other, that, false) && that->method.index() == holder.method.index() &&
                    options_of(holder.method) == options_of(that->method);
           })
      .def("__hash__",
           [](const MethodHolder& holder) {
             return nb::hash(nb::cast(fmt::format("{} {}", name_of(holder.method), options_of(holder.method))));
           })
      .def("__repr__", [](const MethodHolder& holder) {
        std::vector<std::string> options;
        const MethodInfo& info = method_catalogue()[holder.method.index()];
        for (const auto& [name, text] : options_of(holder.method, true))
          for (const MethodOptionInfo& option : info.options)
            if (option.name == name)
              options.push_back(
                  fmt::format("{}={}", short_name(info, option), is_number(option) ? text : "'" + text + "'"));
        return fmt::format("{}({})", class_name(info.name), fmt::join(options, ", "));
      });
  bind_all(m, places);
  m.def(
      "make_method",
      [](const std::string& name, const OptionTexts& options) { return to_python(make_method(name, options)); },
      "name"_a, "options"_a = OptionTexts{},
      nb::sig("def make_method(name: str, options: dict[str, str] = {}) -> Method"),
      "A method by its name, its options as text under the names of the command line: {\"ep.power\": \"0.5\"}.");
  m.def(
      "method_catalogue",
      [] {
        nb::list out;
        for (const MethodInfo& info : method_catalogue()) {
          nb::list options;
          for (const MethodOptionInfo& option : info.options) {
            nb::dict fields;
            fields["name"] = option.name;
            fields["default"] = option.default_value;
            fields["range"] = option.range;
            fields["help"] = option.help;
            options.append(fields);
          }
          nb::dict fields;
          fields["name"] = info.name;
          fields["evidence"] = info.evidence;
          fields["sites"] = info.sites;
          fields["summary"] = info.summary;
          fields["options"] = options;
          out.append(fields);
        }
        return out;
      },
      nb::sig("def method_catalogue() -> list[dict[str, typing.Any]]"), "The methods and their options.");
}

}  // namespace gaussmith::python
