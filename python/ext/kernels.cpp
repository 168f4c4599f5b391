#include "gaussmith/kernels.hpp"
#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/kernel_expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

/// The arguments that make the kernel again: "lengthscale[0]", "lengthscale[1]" become one argument of two values.
KernelArguments arguments_of(const Kernel& kernel) {
  KernelArguments arguments;
  for (const KernelParameter& parameter : kernel.parameters())
    arguments[parameter.name.substr(0, parameter.name.find('['))].push_back(parameter.value);
  return arguments;
}

std::string written(const KernelHandle& kernel) {
  std::string out;
  const auto terms = kernel->terms();
  if (terms.empty()) {
    std::vector<std::string> arguments;
    for (const auto& [name, values] : arguments_of(*kernel))
      arguments.push_back(values.size() == 1 ? fmt::format(", {}={}", name, values.front())
                                             : fmt::format(", {}=[{}]", name, fmt::join(values, ", ")));
    out = fmt::format("kernel(\"{}\"{})", kernel->name(), fmt::join(arguments, ""));
  } else {
    const bool product = kernel->name() == "product";
    std::vector<std::string> parts;
    for (const KernelHandle& term : terms)
      parts.push_back(product && term->name() == "sum" ? "(" + written(term) + ")" : written(term));
    out = fmt::format("{}", fmt::join(parts, product ? " * " : " + "));
  }
  const auto columns = kernel->columns();
  if (columns.empty()) return out;
  return terms.empty() ? fmt::format("{}.on([{}])", out, fmt::join(columns, ", "))
                       : fmt::format("({}).on([{}])", out, fmt::join(columns, ", "));
}

/// k1 + (k2 + k3) as one sum of three: the names of parameters are then those that JSON and the command line give them.
KernelHandle joined(const KernelHandle& a, const KernelHandle& b, std::string_view name,
                    KernelHandle (*join)(std::vector<KernelHandle>)) {
  std::vector<KernelHandle> terms;
  for (const KernelHandle& side : {a, b}) {
    const bool same = side->name() == name && side->columns().empty();
    const auto parts = same ? side->terms() : std::vector<KernelHandle>{side};
    terms.insert(terms.end(), parts.begin(), parts.end());
  }
  return join(std::move(terms));
}

KernelHandle plus(const KernelHandle& a, const KernelHandle& b) { return joined(a, b, "sum", sum); }
KernelHandle times(const KernelHandle& a, const KernelHandle& b) { return joined(a, b, "product", product); }

KernelArguments to_arguments(const nb::kwargs& given, const std::string& name) {
  KernelArguments arguments;
  for (const auto& [key, value] : given) {
    const auto argument = nb::cast<std::string>(key);
    const Vector numbers = to_vector(value, fmt::format("{}.{}", name, argument));
    arguments[argument] = std::vector<double>(numbers.begin(), numbers.end());
  }
  return arguments;
}

/// What a pickle holds: name, arguments, terms, columns.
nb::tuple state_of(const KernelHandle& kernel) {
  nb::dict arguments;
  nb::list terms;
  if (kernel->terms().empty())
    for (const auto& [name, values] : arguments_of(*kernel)) arguments[name.c_str()] = values;
  for (const KernelHandle& term : kernel->terms()) terms.append(nb::cast(term));
  return nb::make_tuple(std::string(kernel->name()), arguments, terms, kernel->columns());
}

KernelHandle from_state(const std::string& name, const nb::dict& arguments, const std::vector<KernelHandle>& terms,
                        const std::vector<Index>& columns) {
  KernelArguments values;
  for (const auto& [key, value] : arguments) values[nb::cast<std::string>(key)] = nb::cast<std::vector<double>>(value);
  KernelHandle kernel = terms.empty() ? make_kernel(name, values) : name == "sum" ? sum(terms) : product(terms);
  return columns.empty() ? kernel : on_columns(kernel, columns);
}

}  // namespace

void bind_kernels(nb::module_& m) {
  nb::class_<Kernel>(m, "Kernel",
                     "A covariance function: immutable, with named positive parameters. `+` adds functions, `*` "
                     "modulates one by another.")
      .def_prop_ro("name", [](const Kernel& kernel) { return std::string(kernel.name()); })
      .def_prop_ro(
          "parameters",
          [](const Kernel& kernel) {
            nb::dict out;
            for (const KernelParameter& parameter : kernel.parameters()) out[parameter.name.c_str()] = parameter.value;
            return out;
          },
          nb::sig("def parameters(self) -> dict[str, float]"), "Names and values.")
      .def_prop_ro("terms", &Kernel::terms, "The parts of a sum or product.")
      .def_prop_ro("columns", &Kernel::columns, "The columns of the inputs that it sees, from 0; empty: all.")
      .def("__add__", &plus, "other"_a)
      .def("__mul__", &times, "other"_a)
      .def(
          "on",
          [](const KernelHandle& kernel, const std::vector<Index>& columns) { return on_columns(kernel, columns); },
          "columns"_a, "The kernel over these columns of the inputs alone, from 0.")
      .def(
          "with_parameters",
          [](const Kernel& kernel, const nb::dict& changes) {
            std::vector<double> values;
            std::vector<std::string> names;
            for (const KernelParameter& parameter : kernel.parameters()) {
              names.push_back(parameter.name);
              values.push_back(parameter.value);
            }
            for (const auto& [key, value] : changes) {
              const auto name = nb::cast<std::string>(key);
              const auto at = std::find(names.begin(), names.end(), name);
              if (at == names.end())
                throw InvalidOption(fmt::format("there is no parameter {}{}; there are {}", name,
                                                suggestion(name, names), fmt::join(names, ", ")));
              values[static_cast<std::size_t>(at - names.begin())] = to_number(value, name);
            }
            return kernel.with_parameters(values);
          },
          "values"_a, nb::sig("def with_parameters(self, values: dict[str, float]) -> Kernel"),
          "The same kernel with some parameters replaced.")
      .def(
          "__call__",
          [](const Kernel& kernel, nb::handle x, nb::handle z, int threads) {
            const auto points = to_shared_matrix(x, "x");
            kernel.check_dimension(points->cols());
            Matrix out;
            if (z.is_none()) {
              const Unlocked unlocked;
              kernel.gram(*points, out, threads);
            } else {
              const auto others = to_shared_matrix(z, "z");
              if (others->cols() != points->cols())
                throw InvalidModel(
                    fmt::format("z: expected {} columns, as x has, found {}", points->cols(), others->cols()));
              const Unlocked unlocked;
              kernel.block(*points, *others, out, threads);
            }
            return to_array(std::move(out));
          },
          "x"_a, "z"_a = nb::none(), "threads"_a = 1,
          nb::sig("def __call__(self, x: ArrayLike, z: ArrayLike | None = None, threads: int = 1) -> FloatArray"),
          "The matrix of k(x_i, z_j); without z that of x with itself, white noise on its diagonal.")
      .def("__repr__", &written)
      .def("__reduce__", [](const KernelHandle& kernel) {
        return nb::make_tuple(nb::module_::import_("gaussmith._pickles").attr("kernel"), state_of(kernel));
      });

  m.def("_kernel_from_state", &from_state);
  m.def(
      "kernel",
      [](const std::string& name, const nb::kwargs& arguments) {
        return make_kernel(name, to_arguments(arguments, name));
      },
      "name"_a, "arguments"_a, nb::sig("def kernel(name: str, /, **arguments: ArrayLike) -> Kernel"),
      "A kernel by its name: `kernel(\"se\", lengthscale=[0.5, 2])`. Arguments left out are 1.");
  m.def(
      "parse_kernel", [](const std::string& text, Index columns) { return parse_kernel(text).build(columns); },
      "text"_a, "columns"_a,
      "A kernel written as on the command line, `se-ard + periodic*white`, over inputs of so many columns.");
  m.def(
      "kernel_catalogue",
      [] {
        nb::list out;
        for (const KernelInfo& info : kernel_catalogue()) {
          nb::list arguments;
          for (const KernelArgumentInfo& argument : info.arguments) {
            nb::dict fields;
            fields["name"] = std::string(argument.name);
            fields["default"] = argument.default_value;
            fields["per_dimension"] = argument.per_dimension;
            fields["help"] = std::string(argument.help);
            arguments.append(fields);
          }
          nb::dict fields;
          fields["name"] = std::string(info.name);
          fields["formula"] = std::string(info.formula);
          fields["summary"] = std::string(info.summary);
          fields["arguments"] = arguments;
          out.append(fields);
        }
        return out;
      },
      nb::sig("def kernel_catalogue() -> list[dict[str, typing.Any]]"), "What `kernel` knows.");
}

}  // namespace gaussmith::python
