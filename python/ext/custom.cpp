// A likelihood from functions of Python that take arrays.

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/batch_likelihood.hpp"
#include "gaussmith/errors.hpp"
#include "sites.hpp"

#include <fmt/format.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace gaussmith::python {

namespace {

Vector copy_of(ConstSpan numbers) {
  return Eigen::Map<const Vector>(numbers.data(), static_cast<Index>(numbers.size()));
}

/// What a function of the caller gives for arrays, told apart and counted. Called with the interpreter's lock.
class ArrayFunction {
 public:
  ArrayFunction(nb::object function, std::string name, nb::dict parameters)
      : function_(std::move(function)), parameters_(std::move(parameters)), name_(std::move(name)) {}

  /// Of eta and y, arrays of one shape: as many arrays of that shape as there is room for.
  void operator()(ConstSpan eta, ConstSpan y, std::initializer_list<Span> out) const {
    const Locked lock;
    put(function_.get()(to_array(copy_of(eta)), to_array(copy_of(y)), **nb::borrow<nb::dict>(parameters_.get())), out);
  }
  /// Of the latents of one row.
  void operator()(ConstSpan eta, double y, std::initializer_list<Span> out) const {
    const Locked lock;
    put(function_.get()(to_array(copy_of(eta)), y, **nb::borrow<nb::dict>(parameters_.get())), out);
  }

 private:
  void put(const nb::object& made, std::initializer_list<Span> out) const {
    if (out.size() == 1) {
      fill(made, *out.begin());
      return;
    }
    nb::object parts = nb::module_::import_("builtins").attr("tuple")(made);
    if (nb::len(parts) != out.size())
      throw InvalidModel(fmt::format("{}: expected {} arrays, found {}", name_, out.size(), nb::len(parts)));
    std::size_t k = 0;
    for (const Span room : out) fill(parts[nb::int_(k++)], room);
  }
  void fill(nb::handle made, Span out) const {
    const Vector numbers = to_row_values(made, name_);
    if (made.is_none() || numbers.size() != static_cast<Index>(out.size()))
      throw InvalidModel(made.is_none() ? fmt::format("{}: expected numbers, found None", name_)
                                        : fmt::format("{}: expected {} numbers, one for each eta, found {}", name_,
                                                      out.size(), numbers.size()));
    std::copy(numbers.begin(), numbers.end(), out.begin());
  }

  Callable function_;
  Callable parameters_;
  std::string name_;
};

/// A function of one response.
class ResponseFunction {
 public:
  ResponseFunction(nb::object function, std::string name) : function_(std::move(function)), name_(std::move(name)) {}

  [[nodiscard]] Vector operator()(double y) const {
    const Locked lock;
    return to_vector(function_.get()(y), name_);
  }
  [[nodiscard]] double number(double y) const {
    const Locked lock;
    return to_number(function_.get()(y), name_);
  }

 private:
  Callable function_;
  std::string name_;
};

}  // namespace

void bind_custom(nb::module_& m) {
  m.def(
      "_observe_custom",
      [](const std::string& name, nb::handle y, nb::object log_density, nb::object derivatives, nb::object kinks,
         nb::object centre, nb::object bound, nb::object slope, double width, bool log_concave, bool smooth,
         nb::dict parameters) {
        BatchLikelihood likelihood;
        likelihood.name = name;
        likelihood.any_thread = false;
        likelihood.log_concave = log_concave;
        likelihood.smooth = smooth;
        likelihood.width = width;
        likelihood.log_densities = [f = ArrayFunction(log_density, name + ".log_density", parameters)](
                                       ConstSpan eta, ConstSpan of, Span out) { f(eta, of, {out}); };
        if (!derivatives.is_none())
          likelihood.all_derivatives = [f = ArrayFunction(derivatives, name + ".derivatives", parameters)](
                                           ConstSpan eta, ConstSpan of, Span first, Span second, Span third) {
            f(eta, of, {first, second, third});
          };
        if (!kinks.is_none())
          likelihood.kinks = [f = ResponseFunction(kinks, name + ".kinks")](double of) {
            const Vector points = f(of);
            return std::vector<double>(points.begin(), points.end());
          };
        if (!centre.is_none())
          likelihood.centre = [f = ResponseFunction(centre, name + ".centre")](double of) { return f.number(of); };
        if (!bound.is_none())
          likelihood.bound = [f = ArrayFunction(bound, name + ".bound", parameters)](double x, double of) {
            std::array<double, 2> g{};
            f({&x, 1}, {&of, 1}, {Span(g.data(), 1), Span(g.data() + 1, 1)});
            return g;
          };
        if (!slope.is_none())
          likelihood.slope = [f = ResponseFunction(slope, name + ".slope")](double of) { return f.number(of); };
        return observe(std::move(likelihood), to_vector(y, "y"));
      },
      "name"_a, "y"_a, "log_density"_a, "derivatives"_a.none(), "kinks"_a.none(), "centre"_a.none(), "bound"_a.none(),
      "slope"_a.none(), "width"_a, "log_concave"_a, "smooth"_a, "parameters"_a);
  m.def(
      "_observe_joint",
      [](const std::string& name, nb::handle y, Index latents, nb::object log_density, nb::object derivatives,
         bool log_concave, nb::dict parameters) {
        CustomJointLikelihood likelihood;
        likelihood.name = name;
        likelihood.latents = latents;
        likelihood.log_concave = log_concave;
        likelihood.any_thread = false;
        likelihood.log_density = [f = ArrayFunction(log_density, name + ".log_density", parameters)](ConstSpan eta,
                                                                                                     double of) {
          double log_t = 0.0;
          f(eta, of, {Span(&log_t, 1)});
          return log_t;
        };
        likelihood.derivatives = [f = ArrayFunction(derivatives, name + ".derivatives", parameters)](
                                     ConstSpan eta, double of, Span gradient, Span hessian) {
          f(eta, of, {gradient, hessian});
        };
        return observe(std::move(likelihood), to_vector(y, "y"));
      },
      "name"_a, "y"_a, "latents"_a, "log_density"_a, "derivatives"_a, "log_concave"_a, "parameters"_a);
  m.def(
      "_observe_pieces",
      [](const std::string& name, nb::handle y, nb::handle breaks, nb::handle pieces) {
        PiecewiseQuadratic likelihood;
        likelihood.name = name;
        const Vector at = to_vector(breaks, name + ".breaks");
        likelihood.breaks.assign(at.begin(), at.end());
        const Matrix rows = to_matrix(pieces, name + ".pieces");
        if (rows.cols() != 3)
          throw InvalidModel(fmt::format("{}.pieces: expected (constant, slope, square) of each, found {} numbers",
                                         name, rows.cols()));
        for (const auto& row : rows.rowwise()) likelihood.pieces.push_back({row(0), row(1), row(2)});
        return observe(std::move(likelihood), to_vector(y, "y"));
      },
      "name"_a, "y"_a, "breaks"_a, "pieces"_a);
}

}  // namespace gaussmith::python
