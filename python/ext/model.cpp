#include "gaussmith/model.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/kernel_expression.hpp"

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

/// One number for all of `size`, or as many.
Vector spread(nb::handle values, Index size, const std::string& name) {
  const Vector given = to_vector(values, name);
  if (given.size() == size) return given;
  if (given.size() != 1)
    throw InvalidModel(fmt::format("{}: expected one number or {}, found {}", name, size, given.size()));
  return Vector::Constant(size, given(0));
}

Index to_dimension(nb::handle given) {
  const Index dimension = to_whole(given, "dimension");
  if (dimension < 1) throw InvalidModel(fmt::format("dimension: expected a positive number, found {}", dimension));
  return dimension;
}

KernelHandle to_kernel(nb::handle kernel, Index columns) {
  if (nb::isinstance<nb::str>(kernel)) return parse_kernel(nb::cast<std::string>(kernel)).build(columns);
  KernelHandle known;
  if (!nb::try_cast(kernel, known, false) || !known)
    throw InvalidModel("kernel: expected a Kernel or a text such as \"se-ard\"");
  return known;
}

FieldKind to_field(const std::string& kind) {
  if (kind == "rw1") return FieldKind::rw1;
  if (kind == "rw2") return FieldKind::rw2;
  if (kind == "besag") return FieldKind::besag;
  throw InvalidModel(fmt::format("kind: expected rw1, rw2 or besag, found \"{}\"", kind));
}

LatentModel to_latent_model(const std::string& name) {
  for (const LatentModel model : {LatentModel::identity, LatentModel::given, LatentModel::diagonal,
                                  LatentModel::centred_diagonal, LatentModel::centred, LatentModel::full})
    if (name_of(model) == name) return model;
  throw InvalidModel(
      fmt::format("model: expected identity, given, diagonal, centred-diagonal, centred or full, found \"{}\"", name));
}

Prior to_prior(nb::handle prior) {
  Prior out;
  if (!nb::try_cast(prior, out, false))
    throw InvalidModel(
        fmt::format("prior: expected Isotropic, Diagonal, DenseGaussian, GaussianProcess, NoGaussian, SparsePrecision, "
                    "IntrinsicField or Additive, found {}",
                    nb::cast<std::string>(prior.type().attr("__name__"))));
  return out;
}

std::vector<Sites> to_sites(nb::handle sites) {
  const std::string expected = "sites: expected what observe() makes, or a list of it";
  if (Sites block; nb::try_cast(sites, block, false) && block) return {block};
  std::vector<Sites> out;
  if (!nb::isinstance<nb::list>(sites) && !nb::isinstance<nb::tuple>(sites)) throw InvalidModel(expected);
  for (const nb::handle item : sites) {
    Sites block;
    if (!nb::try_cast(item, block, false) || !block) throw InvalidModel(expected);
    out.push_back(std::move(block));
  }
  return out;
}

template <class Part>
nb::class_<Part> part(nb::module_& m, const char* name, const char* help) {
  return nb::class_<Part>(m, name, help);
}

void bind_priors(nb::module_& m) {
  part<Isotropic>(m, "Isotropic", "w ~ N(mean, variance I).")
      .def(
          "__init__",
          [](Isotropic* self, nb::handle dimension, nb::handle variance, nb::handle mean) {
            new (self) Isotropic{spread(mean, to_dimension(dimension), "mean"), to_number(variance, "variance")};
          },
          "dimension"_a, "variance"_a = 1.0, "mean"_a = 0.0,
          nb::sig("def __init__(self, dimension: int, variance: float = 1.0, mean: ArrayLike = 0.0) -> None"))
      .def_prop_ro(
          "mean", [](const Isotropic& p) { return to_array(p.mean); }, nb::rv_policy::move,
          nb::sig("def mean(self) -> FloatArray"))
      .def_ro("variance", &Isotropic::variance)
      .def("__repr__",
           [](const Isotropic& p) { return fmt::format("Isotropic({}, variance={})", p.mean.size(), p.variance); });
  part<Diagonal>(m, "Diagonal", "w ~ N(mean, diag(variance)).")
      .def(
          "__init__",
          [](Diagonal* self, nb::handle variance, nb::handle mean) {
            const Vector variances = to_vector(variance, "variance");
            new (self) Diagonal{spread(mean, variances.size(), "mean"), variances};
          },
          "variance"_a, "mean"_a = 0.0,
          nb::sig("def __init__(self, variance: ArrayLike, mean: ArrayLike = 0.0) -> None"))
      .def_prop_ro(
          "mean", [](const Diagonal& p) { return to_array(p.mean); }, nb::rv_policy::move,
          nb::sig("def mean(self) -> FloatArray"))
      .def_prop_ro(
          "variance", [](const Diagonal& p) { return to_array(p.variance); }, nb::rv_policy::move,
          nb::sig("def variance(self) -> FloatArray"))
      .def("__repr__", [](const Diagonal& p) { return fmt::format("Diagonal(<{} variances>)", p.variance.size()); });
  part<DenseGaussian>(m, "DenseGaussian",
                      "w ~ N(mean, covariance). The covariance is shared where it is float64 in Fortran order.")
      .def(
          "__init__",
          [](DenseGaussian* self, nb::handle covariance, nb::handle mean) {
            SharedMatrix shared(to_shared_matrix(covariance, "covariance"));
            new (self) DenseGaussian{spread(mean, shared.rows(), "mean"), shared};
          },
          "covariance"_a, "mean"_a = 0.0,
          nb::sig("def __init__(self, covariance: ArrayLike, mean: ArrayLike = 0.0) -> None"))
      .def("__repr__", [](const DenseGaussian& p) { return fmt::format("DenseGaussian(<{0} x {0}>)", p.mean.size()); });
  part<GaussianProcess>(m, "GaussianProcess",
                        "A Gaussian process at the rows of inputs. These are shared where they are float64 in Fortran "
                        "order. The kernel is a Kernel, or text as on the command line. With `inducing` inputs (M x d) "
                        "the rows are seen through the values there alone, by `kl`.")
      .def(
          "__init__",
          [](GaussianProcess* self, nb::handle inputs, nb::handle kernel, nb::handle mean, nb::handle inducing,
             bool learn_inducing) {
            SharedMatrix shared(to_shared_matrix(inputs, "inputs"));
            KernelHandle known = to_kernel(kernel, shared.cols());
            std::optional<Inducing> seen_through;
            if (!inducing.is_none() || learn_inducing) seen_through = Inducing{.learn = learn_inducing};
            if (!inducing.is_none()) seen_through->inputs = SharedMatrix(to_shared_matrix(inducing, "inducing"));
            new (self) GaussianProcess{shared, std::move(known), to_number(mean, "mean"), std::move(seen_through)};
          },
          "inputs"_a, "kernel"_a = "se", "mean"_a = 0.0, "inducing"_a = nb::none(), "learn_inducing"_a = false,
          nb::sig("def __init__(self, inputs: ArrayLike, kernel: Kernel | str = 'se', mean: float = 0.0, "
                  "inducing: ArrayLike | None = None, learn_inducing: bool = False) -> None"))
      .def_prop_ro(
          "inducing",
          [](const GaussianProcess& p) {
            if (!p.inducing || p.inducing->inputs.rows() == 0) return nb::object(nb::none());
            return nb::cast(to_array(Matrix(*p.inducing->inputs)));
          },
          nb::sig("def inducing(self) -> FloatArray | None"), "The inputs through which alone the rows are seen.")
      .def_prop_ro(
          "inputs", [](const GaussianProcess& p) { return to_array(Matrix(*p.inputs)); }, nb::rv_policy::move,
          nb::sig("def inputs(self) -> FloatArray"))
      .def_prop_ro("kernel", [](const GaussianProcess& p) { return p.kernel; })
      .def_ro("mean", &GaussianProcess::mean)
      .def("__repr__", [](const GaussianProcess& p) {
        return fmt::format("GaussianProcess(<{} x {}>, {}, mean={})", p.inputs.rows(), p.inputs.cols(),
                           nb::cast<std::string>(nb::repr(nb::cast(p.kernel))), p.mean);
      });
  part<NoGaussian>(m, "NoGaussian", "No Gaussian factor: all factors are sites.")
      .def(
          "__init__", [](NoGaussian* self, nb::handle dimension) { new (self) NoGaussian{to_dimension(dimension)}; },
          "dimension"_a)
      .def_ro("dimension", &NoGaussian::dimension)
      .def("__repr__", [](const NoGaussian& p) { return fmt::format("NoGaussian({})", p.dimension); });
  part<SparsePrecision>(
      m, "SparsePrecision",
      "w ~ N(mean, precision^-1) with a sparse precision: both halves, or the lower one alone. Copied.")
      .def(
          "__init__",
          [](SparsePrecision* self, nb::handle precision, nb::handle mean) {
            SparseMatrix entries = to_sparse(precision, "precision");
            Vector means = spread(mean, entries.rows(), "mean");
            new (self) SparsePrecision{std::move(means), std::move(entries)};
          },
          "precision"_a, "mean"_a = 0.0,
          nb::sig("def __init__(self, precision: typing.Any, mean: ArrayLike = 0.0) -> None"))
      .def("__repr__", [](const SparsePrecision& p) {
        return fmt::format("SparsePrecision(<{0} x {0}, {1} entries>)", p.mean.size(), p.precision.nonZeros());
      });
  part<IntrinsicField>(
      m, "IntrinsicField",
      "An intrinsic Markov field: rw1, rw2, or besag with the edges of a graph, each once. Random walks may "
      "have locations, or be cyclic; a scaled field has variances of geometric mean 1 / precision in each "
      "connected part, and nodes without neighbours are independent.")
      .def(
          "__init__",
          [](IntrinsicField* self, const std::string& kind, nb::handle dimension, nb::handle precision,
             const std::vector<std::pair<Index, Index>>& edges, nb::handle locations, bool cyclic, bool scale) {
            IntrinsicField field{to_field(kind), to_dimension(dimension), to_number(precision, "precision"), edges};
            if (!locations.is_none()) field.locations = to_vector(locations, "locations");
            field.cyclic = cyclic;
            new (self) IntrinsicField(scale ? scaled(std::move(field)) : std::move(field));
          },
          "kind"_a, "dimension"_a, "precision"_a = 1.0, "edges"_a = std::vector<std::pair<Index, Index>>{},
          "locations"_a = nb::none(), "cyclic"_a = false, "scaled"_a = false,
          nb::sig(
              "def __init__(self, kind: typing.Literal['rw1', 'rw2', 'besag'], dimension: int, precision: float = 1.0, "
              "edges: collections.abc.Sequence[tuple[int, int]] = (), locations: ArrayLike | None = None, cyclic: bool "
              "= False, scaled: bool = False) -> None"))
      .def_ro("dimension", &IntrinsicField::dimension)
      .def_ro("precision", &IntrinsicField::precision)
      .def("__repr__", [](const IntrinsicField& p) {
        return fmt::format("IntrinsicField(\"{}\", {}, precision={})", gaussmith::type_of(p), p.dimension, p.precision);
      });
  part<FixedEffects>(
      m, "FixedEffects",
      "Independent coefficients: w_j ~ N(mean_j, (sd_j scale)^2) where scaled_j, else N(mean_j, sd_j^2).")
      .def(
          "__init__",
          [](FixedEffects* self, nb::handle sd, nb::handle mean, const std::vector<bool>& scaled, double scale) {
            const Vector deviations = to_vector(sd, "sd");
            new (self) FixedEffects{spread(mean, deviations.size(), "mean"), deviations, scaled, scale};
          },
          "sd"_a, "mean"_a = 0.0, "scaled"_a = std::vector<bool>{}, "scale"_a = 1.0,
          nb::sig("def __init__(self, sd: ArrayLike, mean: ArrayLike = 0.0, scaled: collections.abc.Sequence[bool] = "
                  "(), scale: "
                  "float = 1.0) -> None"))
      .def("__repr__", [](const FixedEffects& p) { return fmt::format("FixedEffects(<{}>)", p.size()); });
  part<RandomEffects>(m, "RandomEffects", "Effects of the levels of a group: one or two a level.")
      .def(
          "__init__",
          [](RandomEffects* self, nb::handle levels, nb::handle sd, std::optional<double> correlation) {
            new (self) RandomEffects{to_dimension(levels), to_vector(sd, "sd"), correlation};
          },
          "levels"_a, "sd"_a = 1.0, "correlation"_a = nb::none(),
          nb::sig("def __init__(self, levels: int, sd: ArrayLike = 1.0, correlation: float | None = None) -> None"))
      .def("__repr__", [](const RandomEffects& p) { return fmt::format("RandomEffects({})", p.levels); });
  part<Additive>(
      m, "Additive",
      "Independent parts that the design adds up: w holds coefficients, effects of groups, values of fields or of a "
      "process.")
      .def(
          "__init__",
          [](Additive* self, std::optional<FixedEffects> fixed, const std::vector<RandomEffects>& random,
             std::optional<GaussianProcess> process, const std::vector<MarkovField>& fields) {
            new (self) Additive{fixed ? *fixed : FixedEffects{}, random, std::move(process), fields};
          },
          "fixed"_a = nb::none(), "random"_a = std::vector<RandomEffects>{}, "process"_a = nb::none(),
          "fields"_a = std::vector<MarkovField>{},
          nb::sig("def __init__(self, fixed: FixedEffects | None = None, random: "
                  "collections.abc.Sequence[RandomEffects] = (), "
                  "process: GaussianProcess | None = None, fields: collections.abc.Sequence[IntrinsicField | "
                  "SparsePrecision] = ()) -> None"))
      .def("__repr__", [](const Additive& p) {
        return fmt::format("Additive({} coefficients, {} groups{}{})", p.fixed.size(), p.random.size(),
                           p.process ? ", a process" : "",
                           p.fields.empty() ? std::string() : fmt::format(", {} fields", p.fields.size()));
      });
}

nb::dict parameters_of(const Model& model) {
  nb::dict out;
  for (const Parameter& parameter : model.parameters()) out[parameter.name.c_str()] = parameter.value;
  return out;
}

}  // namespace

void bind_model(nb::module_& m) {
  bind_priors(m);
  nb::class_<Latents>(m, "Latents", "How many functions a row has, and how they are related.")
      .def(
          "__init__",
          [](Latents* self, nb::handle count, const std::string& model, nb::handle weight, nb::handle factor,
             const std::vector<KernelHandle>& kernels, nb::handle mean) {
            new (self) Latents{.count = to_dimension(count),
                               .model = to_latent_model(model),
                               .weight = to_optional_vector(weight, "weight"),
                               .factor = factor.is_none() ? Matrix() : to_matrix(factor, "factor"),
                               .kernels = kernels,
                               .mean = to_optional_vector(mean, "mean")};
          },
          "count"_a, "model"_a = "identity", "weight"_a = nb::none(), "factor"_a = nb::none(),
          "kernels"_a = std::vector<KernelHandle>{}, "mean"_a = nb::none(),
          nb::sig("def __init__(self, count: int, model: typing.Literal['identity', 'given', 'diagonal', "
                  "'centred-diagonal', "
                  "'centred', 'full'] = 'identity', weight: ArrayLike | None = None, factor: ArrayLike | None = None, "
                  "kernels: collections.abc.Sequence[Kernel] = (), mean: ArrayLike | None = None) -> None"))
      .def_ro("count", &Latents::count)
      .def_prop_ro("model", [](const Latents& latents) { return name_of(latents.model); })
      .def_prop_ro(
          "covariance", [](const Latents& latents) { return to_array(latents.covariance()); }, nb::rv_policy::move,
          nb::sig("def covariance(self) -> FloatArray"), "Of the functions with one another.")
      .def("__repr__", [](const Latents& l) { return fmt::format("Latents({}, \"{}\")", l.count, name_of(l.model)); });

  nb::class_<Model>(
      m, "Model",
      "p(w) ∝ N(w | mean, covariance) ∏ t_n(eta_n)^weight_n, eta = design w + offset. Immutable; copies and "
      "posteriors share the data.")
      .def(
          "__init__",
          [](Model* self, nb::handle prior, nb::handle sites, nb::handle design, nb::handle offset, nb::handle weights,
             nb::handle latents) {
            Model model;
            model.prior = to_prior(prior);
            model.sites = to_sites(sites);
            model.design = to_design(design, "design");
            if (nb::isinstance<Latents>(latents))
              model.latents = nb::cast<Latents>(latents);
            else if (!latents.is_none())
              model.latents.count = to_whole(latents, "latents");
            else if (!model.sites.empty())
              model.latents.count = model.sites.front()->width();
            model.offset = to_row_values(offset, "offset");
            model.weights = to_optional_vector(weights, "weights");
            {
              const Unlocked unlocked;
              model.validate();
            }
            new (self) Model(std::move(model));
          },
          "prior"_a, "sites"_a, "design"_a = nb::none(), "offset"_a = nb::none(), "weights"_a = nb::none(),
          "latents"_a = nb::none(),
          nb::sig("def __init__(self, prior: Prior, sites: Sites | collections.abc.Sequence[Sites], design: typing.Any "
                  "= None, offset: "
                  "ArrayLike | None = None, weights: ArrayLike | None = None, latents: Latents | int | None = None) -> "
                  "None"))
      .def_prop_ro("rows", &Model::rows, "N, the number of sites.")
      .def_prop_ro("dimension", &Model::dimension,
                   "D, the length of w, of one of its functions where there are several.")
      .def_prop_ro(
          "latents", [](const Model& model) { return model.latents.count; }, "Functions a row.")
      .def_prop_ro("sites", [](const Model& model) { return model.sites; })
      .def_prop_ro(
          "prior", [](const Model& model) { return model.prior; }, nb::sig("def prior(self) -> Prior"))
      .def_prop_ro(
          "design_kind", [](const Model& model) { return model.design.kind(); },
          "\"identity\", \"dense\", \"sparse\" or \"operator\".")
      .def_prop_ro("parameters", &parameters_of, nb::sig("def parameters(self) -> dict[str, float]"),
                   "All parameters by their full names.")
      .def_prop_ro(
          "learnable",
          [](const Model& model) {
            std::vector<std::string> names;
            for (const Parameter& parameter : model.parameters())
              if (parameter.learnable) names.push_back(parameter.name);
            return names;
          },
          "Names of the parameters that learning moves.")
      .def(
          "with_parameters",
          [](const Model& model, const nb::dict& changes) {
            std::map<std::string, double, std::less<>> values;
            for (const auto& [key, value] : changes) {
              const auto name = nb::cast<std::string>(key);
              values[name] = to_number(value, name);
            }
            return model.with_parameters(values);
          },
          "values"_a, nb::sig("def with_parameters(self, values: collections.abc.Mapping[str, float]) -> Model"),
          "The same model with some parameters replaced, by full or short name.")
      .def(
          "__str__",
          [](nb::handle model) { return nb::module_::import_("gaussmith._reports").attr("model_text")(model); },
          nb::sig("def __str__(self) -> str"))
      .def(
          "_repr_html_",
          [](nb::handle model) { return nb::module_::import_("gaussmith._reports").attr("model_html")(model); },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", [](const Model& model) {
        std::vector<std::string> likelihoods;
        std::string text;
        for (const Sites& block : model.sites) text += (text.empty() ? "" : ", ") + block->traits().name;
        return fmt::format("<Model: {} rows of {}, {} prior over {} weights, {} design>", model.rows(), text,
                           gaussmith::type_of(model.prior), model.dimension(), model.design.kind());
      });
}

}  // namespace gaussmith::python
