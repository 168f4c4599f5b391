#include "base/input_file.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/version.hpp"
#include "io/atomic_file.hpp"
#include "io/checksum.hpp"
#include "io/problem_file_kernel.hpp"
#include "io/problem_file_latents.hpp"
#include "io/problem_file_parts.hpp"
#include "io/result_trust.hpp"
#include "io/saved_network.hpp"
#include "io/saved_parts.hpp"
#include "io/text.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <typeinfo>
#include <utility>

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view model_family = "gaussmith-model/";
constexpr std::string_view model_format = "gaussmith-model/1";
constexpr std::size_t max_model_bytes = std::size_t{4} << 30;
/// The share of entries from which on a covariance root is written as rows.
constexpr double triplets_pay = 0.3;

// --- Writing ---

bool same_kinds(const Kernel& a, const Kernel& b) {
  const auto a_terms = a.terms();
  const auto b_terms = b.terms();
  return typeid(a) == typeid(b) && std::equal(a_terms.begin(), a_terms.end(), b_terms.begin(), b_terms.end(),
                                              [](const auto& s, const auto& t) { return same_kinds(*s, *t); });
}

bool is_catalogued(const Kernel& kernel, Index columns) {
  const nlohmann::json document = kernel_json(kernel);
  try {
    return same_kinds(*read_kernel(JsonNode(document, "kernel"), columns), kernel);
  } catch (const InvalidInput&) {
    return false;
  }
}

/// How many features the coding gives and how many the prior was fitted on.
std::pair<Index, Index> feature_counts(const SavedModel& model) {
  const TableCoding& coding = model.coding;
  const auto* process = process_of(model.fitted.prior);
  Index given = coding.features.dimension() + (coding.intercept ? 1 : 0);
  for (const FixedTerm& term : coding.fixed) given += term.width();
  for (const GroupCoding& group : coding.groups) given += static_cast<Index>(group.levels.size()) * group.effects();
  for (const FieldCoding& field : coding.fields) given += field.size();
  if (model.network) return {given, model.network->input_count};
  Index expected = process != nullptr ? process->inputs.cols() : dimension_of(model.fitted.prior);
  if (process != nullptr) expected += weights_beside_process(model.fitted.prior);
  return {given, expected};
}

/// Groups of the coding are those of the prior, and centres belong to the columns of fixed effects.
bool terms_fit(const SavedModel& model) {
  const TableCoding& coding = model.coding;
  Index fixed = 0;
  for (const FixedTerm& term : coding.fixed) fixed += term.width();
  if (coding.centres.size() != 0 && coding.centres.size() != fixed) return false;
  if (model.network)
    return coding.fixed.empty() && coding.groups.empty() && coding.fields.empty() && !coding.intercept &&
           coding.constant == 0.0;
  const auto* prior = std::get_if<Additive>(&model.fitted.prior);
  if (prior == nullptr && !coding.fields.empty()) return false;
  if (std::holds_alternative<NoGaussian>(model.fitted.prior)) return coding.groups.empty();
  // Several latents take the priors of fixed effects as they are.
  if (prior == nullptr) return coding.groups.empty() && (coding.fixed.empty() || model.fitted.latents.count > 1);
  if (prior->random.size() != coding.groups.size()) return false;
  for (std::size_t t = 0; t < coding.groups.size(); ++t)
    if (prior->random[t].levels != static_cast<Index>(coding.groups[t].levels.size()) ||
        prior->random[t].effects() != coding.groups[t].effects())
      return false;
  if (prior->fields.size() != coding.fields.size()) return false;
  for (std::size_t k = 0; k < coding.fields.size(); ++k) {
    const auto* field = std::get_if<IntrinsicField>(&prior->fields[k]);
    if (field == nullptr || field->dimension != coding.fields[k].size()) return false;
  }
  return true;
}

/// What is wrong with the number of latents beside the likelihood and the classes of the target; empty: nothing.
std::string wrong_latents(const SavedModel& model) {
  const Index count = model.fitted.latents.count;
  if (count > max_latents) {
    return fmt::format("files hold up to {} latents a row, found {}", max_latents, count);
  }
  for (const Sites& block : model.fitted.sites) {
    if (block->width() != count) {
      return fmt::format("{} has {} latents a row, but the prior has {}", block->traits().name, block->width(), count);
    }
  }
  const auto classes = static_cast<Index>(model.coding.target.classes.size());
  const bool labels = model.coding.target.kind == ResponseKind::label;
  if (labels ? classes != count : classes != 0) {
    return fmt::format("the target has the names of {} classes, but the model has {} latents a row", classes, count);
  }
  return {};
}

/// The kernels of a model: one for all functions, or one each.
std::vector<KernelHandle> kernels_of(const FittedGaussian& fitted) {
  if (!fitted.latents.kernels.empty()) return fitted.latents.kernels;
  const auto* process = process_of(fitted.prior);
  return process != nullptr ? std::vector<KernelHandle>{process->kernel} : std::vector<KernelHandle>();
}

/// Refuses now what parse_saved_model would refuse when the fit is long gone.
void require_loadable(const SavedModel& model) {
  if (model.fitted.sites.empty() && !model.network) {
    throw InvalidModel("a model without sites cannot be saved");
  }
  for (const Sites& block : model.fitted.sites) require_catalogued(*block);
  for (const KernelHandle& kernel : kernels_of(model.fitted)) {
    if (!is_catalogued(*kernel, process_of(model.fitted.prior)->inputs.cols())) {
      throw InvalidModel(fmt::format("kernel {}: only those of the catalogue can be saved", in_quotes(kernel->name())));
    }
  }
  if (const std::string wrong = wrong_latents(model); !wrong.empty()) throw InvalidModel(wrong);
  if (const auto [given, expected] = feature_counts(model); given != expected) {
    throw InvalidModel(
        fmt::format("a saved model predicts tables: its coding gives {} features, but the prior was fitted on {}; "
                    "plain_coding() makes one "
                    "for a model that came from no table",
                    given, expected));
  }
  if (!terms_fit(model)) throw InvalidModel("the terms of the coding are not those of the prior");
  const auto& known = column_arguments();
  for (const auto& given : model.coding.argument_columns) {
    if (std::none_of(known.begin(), known.end(), [&](const auto& a) { return a.info->name == given.first; })) {
      throw InvalidModel(
          fmt::format("coding.argument_columns: no likelihood has an argument {}", in_quotes(given.first)));
    }
  }
}

Json column_json(const FeatureColumn& column) {
  Json entry;
  entry["name"] = column.name;
  if (column.type == ColumnType::numeric) {
    entry["mean"] = column.mean;
    entry["sd"] = column.sd;
    if (column.filled < 1.0) entry["filled"] = column.filled;
  } else {
    entry["levels"] = column.levels;
    entry["drop_first_level"] = column.drop_first_level;
  }
  return entry;
}

Json features_json(const FeatureCoding& coding) {
  Json out;
  out["columns"] = Json::array();
  for (const FeatureColumn& column : coding.columns) {
    out["columns"].push_back(column_json(column));
  }
  if (coding.is_sparse) {
    out["sparse_features"] = coding.sparse_features;
    out["sparse_mean"] = vector_json(coding.sparse_mean);
    out["sparse_sd"] = vector_json(coding.sparse_sd);
  }
  return out;
}

const char* kind_name(ResponseKind kind) {
  switch (kind) {
    case ResponseKind::sign:
      return "sign";
    case ResponseKind::count:
      return "count";
    case ResponseKind::positive:
      return "positive";
    case ResponseKind::label:
      return "label";
    case ResponseKind::real:
      break;
  }
  return "real";
}

Json target_json(const TargetCoding& coding) {
  Json out = {{"column", coding.column},
              {"kind", kind_name(coding.kind)},
              {"negative", coding.negative},
              {"positive", coding.positive},
              {"note", coding.note}};
  if (!coding.classes.empty()) {
    out["classes"] = coding.classes;
  }
  return out;
}

/// Nothing for a model without terms: such files are those of earlier versions.
void put_terms(const TableCoding& coding, Json& out) {
  if (!coding.fixed.empty()) {
    out["fixed"] = Json::array();
    for (const FixedTerm& term : coding.fixed) {
      Json columns = Json::array();
      for (const FeatureColumn& column : term.columns) {
        columns.push_back(column_json(column));
      }
      out["fixed"].push_back(std::move(columns));
    }
    out["centres"] = vector_json(coding.centres);
  }
  if (!coding.groups.empty()) {
    out["groups"] = Json::array();
    for (const GroupCoding& group : coding.groups) {
      out["groups"].push_back({{"term", group.term},
                               {"group", group.group},
                               {"intercept", group.intercept},
                               {"slope", group.slope},
                               {"correlated", group.correlated},
                               {"levels", group.levels}});
    }
  }
  if (!coding.fields.empty()) {
    out["fields"] = Json::array();
    for (const FieldCoding& field : coding.fields) {
      Json entry = {{"term", field.term}, {"column", field.column}};
      if (field.nodes.empty()) {
        entry["places"] = vector_json(field.places);
      } else {
        entry["nodes"] = field.nodes;
      }
      out["fields"].push_back(std::move(entry));
    }
  }
  if (coding.constant != 0.0) {
    out["constant"] = coding.constant;
  }
}

void put_coding(const TableCoding& coding, Json& out) {
  out["training_rows"] = coding.training_rows;
  out["features"] = features_json(coding.features);
  out["target"] = target_json(coding.target);
  out["intercept"] = coding.intercept;
  out["argument_columns"] = Json::object();
  for (const auto& [argument, column] : coding.argument_columns) {
    out["argument_columns"][argument] = column;
  }
  // Only where there are any: what is not there need not be known to who reads it.
  if (!coding.inverted_arguments.empty()) {
    out["inverted_arguments"] = coding.inverted_arguments;
  }
  out["offset_column"] = coding.offset_column;
  put_terms(coding, out);
  if (!coding.keep.empty()) {
    out["keep"] = coding.keep;
  }
}

void put_precision_form(const FittedGaussian& fitted, Json& out) {
  require_finite(fitted.coordinates, "posterior mean");
  require_finite(fitted.factor.reshaped(), "posterior precision");
  out["form"] = "precision";
  out["coordinates"] = vector_json(fitted.coordinates);
  out["factor"] = lower_json(fitted.factor);
}

void put_root_form(const FittedGaussian& fitted, Json& out) {
  require_finite(fitted.coordinates, "posterior mean");
  require_finite(fitted.covariance.root.coeffs(), "posterior covariance");
  require_finite(fitted.covariance.complement.reshaped(), "posterior covariance");
  out["form"] = "root";
  out["coordinates"] = vector_json(fitted.coordinates);
  const SparseMatrix& root = fitted.covariance.root;
  // Triplets of a full matrix take ten times the memory of its rows.
  const double cells = static_cast<double>(root.rows()) * static_cast<double>(root.cols());
  const bool full = static_cast<double>(root.nonZeros()) > triplets_pay * cells;
  out["root"] = full ? design_json(Matrix(root)) : design_json(root);
  if (fitted.covariance.complement.size() > 0) {
    out["complement"] = design_json(fitted.covariance.complement);
    out["scale"] = fitted.covariance.scale;
  }
  out["whitened"] = fitted.covariance.whitened;
}

/// Draws, a column each.
void put_draws_form(const FittedGaussian& fitted, Json& out) {
  require_finite(fitted.draws.reshaped(), "posterior draws");
  out["form"] = "draws";
  out["draws"] = Json::array();
  for (Index s = 0; s < fitted.draws.cols(); ++s) {
    out["draws"].push_back(vector_json(fitted.draws.col(s)));
  }
}

/// Whether a fitted Gaussian of this form holds the training rows.
bool has_rows(CoreForm form) { return form == CoreForm::covariance || form == CoreForm::sparse; }

/// The forms that hold the training rows: the mean is that of the rows' dual or of the weights.
void put_form_of_rows(const FittedGaussian& fitted, bool with_design, Json& out) {
  const bool sparse = fitted.form == CoreForm::sparse;
  const Vector& mean = sparse ? fitted.coordinates : fitted.dual;
  require_finite(mean, "posterior mean");
  require_finite(fitted.precision, "site precisions");
  out["form"] = sparse ? "sparse" : "covariance";
  if (with_design) {
    out["design"] = design_json(fitted.design);
  }
  if (fitted.star.size() > 0) {
    require_finite(fitted.star, "site precisions");
    out["star"] = vector_json(fitted.star);
  }
  out["precision"] = vector_json(fitted.precision);
  out[sparse ? "coordinates" : "dual"] = vector_json(mean);
}

/// Inducing variables: which of the prior's inputs count, in what order, and q of their whitened values.
void put_inducing_form(const FittedGaussian& fitted, Json& out) {
  require_finite(fitted.noise, "noise of the inducing variables");
  put_precision_form(fitted, out);
  out["form"] = "inducing";
  out["pivots"] = fitted.pivots;
  out["noise"] = vector_json(fitted.noise);
}

void put_form(const FittedGaussian& fitted, bool with_design, Json& out) {
  if (fitted.form == CoreForm::inducing) {
    put_inducing_form(fitted, out);
    return;
  }
  if (fitted.form == CoreForm::draws) {
    put_draws_form(fitted, out);
    return;
  }
  if (fitted.form == CoreForm::precision) {
    put_precision_form(fitted, out);
  } else if (fitted.form == CoreForm::root) {
    put_root_form(fitted, out);
  } else {
    put_form_of_rows(fitted, with_design, out);
  }
}

void put_fitted(const FittedGaussian& fitted, Json& out) {
  out["sites"] = Json::array();
  for (std::size_t b = 0; b < fitted.sites.size(); ++b) {
    out["sites"].push_back(block_json(*fitted.sites[b], fitted.row_arguments[b]));
  }
  out["prior"] = prior_json(fitted.prior, fitted.latents);
  put_form(fitted, true, out);
}

/// Prior and sites of a point are the model's with other parameters; the design of the rows is the model's own.
Json integration_json(const SavedModel& model) {
  Json out = Json::array();
  for (const WeightedGaussian& point : model.integration) {
    if (!(point.weight > 0.0) || !std::isfinite(point.weight)) {
      throw InvalidModel(fmt::format("a weight of the integration is {}; it must be positive", point.weight));
    }
    Json entry;
    entry["weight"] = point.weight;
    entry["parameters"] = Json::object();
    for (const auto& [name, value] : point.parameters) {
      entry["parameters"][name] = value;
    }
    put_form(point.fitted, !has_rows(model.fitted.form), entry);
    out.push_back(std::move(entry));
  }
  return out;
}

// --- Reading ---

SavedTrust read_trust(const JsonNode& node) {
  node.expect_fields({"verdict", "reasons", "advice"});
  SavedTrust trust;
  const std::string verdict = node.at("verdict").text();
  const std::array all{Verdict::trust, Verdict::caution, Verdict::do_not_trust};
  const auto* found = std::find_if(all.begin(), all.end(), [&](Verdict one) { return to_string(one) == verdict; });
  if (found == all.end()) {
    node.at("verdict").fail(fmt::format("expected trust, caution or do-not-trust, found \"{}\"", verdict));
  }
  trust.verdict = *found;
  trust.reasons = node.at("reasons").texts();
  trust.advice = node.at("advice").text();
  return trust;
}

/// V = S'S + scale^2 (I - P'P): the root S is sparse, the complement P dense.
CovarianceRoot read_covariance_root(const JsonNode& root, Index size) {
  CovarianceRoot covariance;
  const Design given = read_design(root.at("root"), size);
  if (given.entries().sparse != nullptr) {
    covariance.root = *given.entries().sparse;
  } else if (given.entries().dense != nullptr) {
    covariance.root = given.entries().dense->sparseView();
  } else {
    root.at("root").fail("expected a sparse or dense matrix");
  }
  if (const auto complement = root.find("complement")) {
    const Design dense = read_design(*complement, size);
    if (dense.entries().dense == nullptr) {
      complement->fail("expected a dense matrix");
    }
    covariance.complement = *dense.entries().dense;
    covariance.scale = root.at("scale").number();
    if (!(covariance.scale >= 0.0)) {
      root.at("scale").fail(fmt::format("expected a number that is not negative, found {}", covariance.scale));
    }
  }
  covariance.whitened = root.at("whitened").boolean();
  return covariance;
}

/// The same checks as for a model to be fitted.
void check_prior(const JsonNode& node, const Prior& prior, const Latents& latents) {
  const Index dimension = dimension_of(prior);
  if (dimension == 0) {
    node.fail("has dimension 0; expected at least 1");
  }
  const Vector rows = Vector::Zero(dimension);
  const Sites sites = latents.count > 1
                          ? observe("multinomial-logit", rows, {{"classes", one(static_cast<double>(latents.count))}})
                          : observe("gaussian", rows, {{"variance", one(1.0)}});
  const Model model{.prior = prior, .sites = {sites}, .latents = latents};
  try {
    model.validate();
  } catch (const InvalidModel& error) {
    node.fail(error.what());
  }
}

void read_inducing_variables(const JsonNode& root, Index dimension, FittedGaussian& fitted) {
  if (!std::holds_alternative<GaussianProcess>(fitted.prior)) {
    root.at("form").fail("inducing variables belong to a gp prior");
  }
  const JsonNode pivots = root.at("pivots");
  const Index latents = fitted.latents.count;
  // Of several latents: all at each pivot, or pivots times the latents plus the latent.
  const bool shared = static_cast<Index>(pivots.array_size()) * latents == fitted.coordinates.size();
  std::set<Index> seen;
  for (std::size_t i = 0; i < pivots.array_size(); ++i) {
    fitted.pivots.push_back(pivots.element(i).integer(0, dimension * (shared ? 1 : latents) - 1));
    if (!seen.insert(fitted.pivots.back()).second) {
      pivots.element(i).fail(fmt::format("{} stands there before; each may stand once", fitted.pivots.back()));
    }
  }
  const auto rank = static_cast<Index>(fitted.pivots.size());
  if (!shared && rank != fitted.coordinates.size()) {
    pivots.fail(fmt::format("expected {} numbers, one for each coordinate, found {}", fitted.coordinates.size(), rank));
  }
  fitted.noise = root.at("noise").numbers(rank);
  if (rank > 0 && fitted.noise.minCoeff() < 0.0) {
    root.at("noise").fail("expected variances, 0 or more");
  }
}

void read_draws(const JsonNode& root, FittedGaussian& fitted) {
  fitted.form = CoreForm::draws;
  const Index dimension = dimension_of(fitted.prior);
  const JsonNode draws = root.at("draws");
  if (draws.array_size() == 0) {
    draws.fail("expected at least one draw");
  }
  fitted.draws.resize(dimension * fitted.latents.count, static_cast<Index>(draws.array_size()));
  for (Index s = 0; s < fitted.draws.cols(); ++s) {
    fitted.draws.col(s) = draws.element(static_cast<std::size_t>(s)).numbers(fitted.draws.rows());
  }
}

/// The Gaussian itself; rows without a design of their own have the given one.
void read_form(const JsonNode& root, const Design* design, FittedGaussian& fitted) {
  const Index dimension = dimension_of(fitted.prior);
  const JsonNode form = root.at("form");
  if (form.text() == "covariance" || form.text() == "sparse") {
    fitted.form = form.text() == "sparse" ? CoreForm::sparse : CoreForm::covariance;
    fitted.design = design != nullptr && !root.has("design") ? *design : read_design(root.at("design"), dimension);
    const Index rows = fitted.design.sized(dimension).rows();
    const Index latents = fitted.latents.count;
    if (latents > 1 && fitted.form == CoreForm::sparse) {
      form.fail("several latents a row have the form \"covariance\"");
    }
    if (const auto star = root.find("star")) {
      if (latents == 1) {
        star->fail("goes with several latents a row");
      }
      fitted.star = star->numbers(rows * latents);
    }
    fitted.precision = root.at("precision").numbers(rows * latents * latents);
    if (fitted.form == CoreForm::sparse) {
      fitted.coordinates = root.at("coordinates").numbers(dimension);
    } else {
      fitted.dual = root.at("dual").numbers(rows * latents);
    }
  } else if (form.text() == "draws") {
    read_draws(root, fitted);
  } else if (fitted.latents.count > 1 && form.text() != "inducing") {
    form.fail("several latents a row have the form \"covariance\", \"inducing\" or \"draws\"");
  } else if (form.text() == "precision" || form.text() == "inducing") {
    fitted.form = form.text() == "precision" ? CoreForm::precision : CoreForm::inducing;
    fitted.coordinates = root.at("coordinates").numbers();
    fitted.factor = read_lower(root.at("factor"));
    const Index most = dimension * fitted.latents.count;
    if (fitted.coordinates.size() != fitted.factor.rows() || fitted.factor.rows() > most) {
      root.at("factor").fail(fmt::format("has {} rows for {} coordinates and dimension {}", fitted.factor.rows(),
                                         fitted.coordinates.size(), most));
    }
    if (fitted.form == CoreForm::inducing) {
      read_inducing_variables(root, dimension, fitted);
    }
  } else if (form.text() == "root") {
    fitted.form = CoreForm::root;
    fitted.coordinates = root.at("coordinates").numbers();
    fitted.covariance = read_covariance_root(root, fitted.coordinates.size());
    if (fitted.coordinates.size() > dimension) {
      root.at("coordinates").fail(fmt::format("has {} numbers for dimension {}", fitted.coordinates.size(), dimension));
    }
  } else {
    form.fail("expected \"covariance\", \"precision\", \"sparse\", \"root\", \"inducing\" or \"draws\"");
  }
}

FittedGaussian read_fitted(const JsonNode& root) {
  FittedGaussian fitted;
  PriorFields fields = read_prior(root.at("prior"));
  fitted.prior = std::move(fields.prior);
  fitted.latents = std::move(fields.latents);
  check_prior(root.at("prior"), fitted.prior, fitted.latents);
  const JsonNode blocks = root.at("sites");
  for (std::size_t b = 0; b < blocks.array_size(); ++b) {
    SavedBlock block = read_saved_block(blocks.element(b));
    fitted.sites.push_back(std::move(block.likelihood));
    fitted.row_arguments.push_back(std::move(block.row_arguments));
  }
  if (fitted.sites.empty()) {
    blocks.fail("expected at least one block of sites");
  }
  read_form(root, nullptr, fitted);
  return fitted;
}

WeightedGaussian read_point(const JsonNode& node, const FittedGaussian& shared) {
  node.expect_fields({"weight", "parameters", "form", "design", "precision", "star", "dual", "coordinates", "factor",
                      "root", "complement", "scale", "whitened", "pivots", "noise"});
  WeightedGaussian point;
  point.weight = node.at("weight").number();
  if (!(point.weight > 0.0)) {
    node.at("weight").fail(fmt::format("expected a positive number, found {}", point.weight));
  }
  const JsonNode parameters = node.at("parameters");
  if (!parameters.json().is_object()) {
    parameters.fail("expected an object");
  }
  for (const auto& entry : parameters.json().items()) {
    point.parameters[entry.key()] = parameters.at(entry.key()).number();
  }
  point.fitted.row_arguments = shared.row_arguments;
  try {
    const Model model = Model{.prior = shared.prior, .sites = shared.sites, .latents = shared.latents}.with_parameters(
        point.parameters);
    point.fitted.prior = model.prior;
    point.fitted.sites = model.sites;
    point.fitted.latents = model.latents;
  } catch (const InvalidInput& error) {
    parameters.fail(error.what());
  }
  read_form(node, has_rows(shared.form) ? &shared.design : nullptr, point.fitted);
  return point;
}

FeatureColumn read_feature_column(const JsonNode& node) {
  FeatureColumn column;
  column.name = node.at("name").text();
  if (node.has("levels")) {
    node.expect_fields({"name", "levels", "drop_first_level"});
    column.type = ColumnType::text;
    column.levels = node.at("levels").texts();
    column.drop_first_level = node.at("drop_first_level").boolean();
    for (std::size_t i = 1; i < column.levels.size(); ++i) {
      if (!(column.levels[i - 1] < column.levels[i])) {
        node.at("levels").fail("expected different levels in byte order");
      }
    }
    if (column.levels.empty()) {
      node.at("levels").fail("expected at least one level");
    }
    return column;
  }
  node.expect_fields({"name", "mean", "sd", "filled"});
  column.mean = node.at("mean").number();
  column.sd = node.at("sd").number();
  if (!(column.sd > 0.0)) {
    node.at("sd").fail(fmt::format("expected a positive number, found {}", column.sd));
  }
  if (const auto filled = node.find("filled")) {
    column.filled = filled->number();
    if (!(column.filled >= 0.0 && column.filled <= 1.0))
      filled->fail(fmt::format("expected a number from 0 to 1, found {}", column.filled));
  }
  return column;
}

Vector read_optional_size(const JsonNode& node, Index size) {
  Vector values = node.numbers();
  if (values.size() != 0 && values.size() != size) {
    node.fail(fmt::format("expected none or {} numbers, found {}", size, values.size()));
  }
  return values;
}

FeatureCoding read_features(const JsonNode& node) {
  node.expect_fields({"columns", "sparse_features", "sparse_mean", "sparse_sd"});
  FeatureCoding coding;
  const JsonNode columns = node.at("columns");
  for (std::size_t i = 0; i < columns.array_size(); ++i) {
    coding.columns.push_back(read_feature_column(columns.element(i)));
  }
  if (const auto sparse = node.find("sparse_features")) {
    coding.is_sparse = true;
    coding.sparse_features = sparse->integer(0, max_sparse_features);
    coding.sparse_mean = read_optional_size(node.at("sparse_mean"), coding.sparse_features);
    coding.sparse_sd = read_optional_size(node.at("sparse_sd"), coding.sparse_features);
    if ((coding.sparse_sd.array() <= 0.0).any()) {
      node.at("sparse_sd").fail("expected positive numbers");
    }
    if (!coding.columns.empty()) {
      columns.fail("expected none beside sparse features");
    }
  }
  return coding;
}

TargetCoding read_target(const JsonNode& node) {
  node.expect_fields({"column", "kind", "negative", "positive", "note", "classes"});
  TargetCoding coding;
  coding.column = node.at("column").text();
  const std::string kind = node.at("kind").text();
  bool known = false;
  for (const ResponseKind candidate :
       {ResponseKind::real, ResponseKind::sign, ResponseKind::count, ResponseKind::positive, ResponseKind::label}) {
    if (kind == kind_name(candidate)) {
      coding.kind = candidate;
      known = true;
    }
  }
  if (!known) {
    node.at("kind").fail("expected real, sign, count, positive or label");
  }
  coding.negative = node.at("negative").text();
  coding.positive = node.at("positive").text();
  coding.note = node.at("note").text();
  if (const auto classes = node.find("classes")) {
    coding.classes = classes->texts();
    if (std::set<std::string>(coding.classes.begin(), coding.classes.end()).size() != coding.classes.size()) {
      classes->fail("expected different names");
    }
  }
  return coding;
}

GroupCoding read_group(const JsonNode& node) {
  node.expect_fields({"term", "group", "intercept", "slope", "correlated", "levels"});
  GroupCoding group{.term = node.at("term").text(),
                    .group = node.at("group").texts(),
                    .intercept = node.at("intercept").boolean(),
                    .slope = node.at("slope").text(),
                    .correlated = node.at("correlated").boolean(),
                    .levels = node.at("levels").texts()};
  if (group.group.empty() || group.effects() == 0) {
    node.fail("expected at least one column and one effect");
  }
  return group;
}

FieldCoding read_field_coding(const JsonNode& node) {
  node.expect_fields({"term", "column", "nodes", "places"});
  FieldCoding field{.term = node.at("term").text(), .column = node.at("column").text()};
  if (const auto nodes = node.find("nodes")) {
    field.nodes = nodes->texts();
  } else {
    field.places = node.at("places").numbers();
    for (Index j = 0; j + 1 < field.places.size(); ++j) {
      if (!(field.places(j) < field.places(j + 1))) {
        node.at("places").fail("expected numbers that ascend");
      }
    }
  }
  if (field.size() == 0) {
    node.fail("expected at least one node");
  }
  return field;
}

void read_terms(const JsonNode& root, TableCoding& coding) {
  if (const auto fixed = root.find("fixed")) {
    for (std::size_t t = 0; t < fixed->array_size(); ++t) {
      const JsonNode columns = fixed->element(t);
      FixedTerm term;
      for (std::size_t j = 0; j < columns.array_size(); ++j) {
        term.columns.push_back(read_feature_column(columns.element(j)));
      }
      if (term.columns.empty()) {
        columns.fail("expected at least one column");
      }
      coding.fixed.push_back(std::move(term));
    }
    coding.centres = root.at("centres").numbers();
  }
  if (const auto groups = root.find("groups")) {
    for (std::size_t t = 0; t < groups->array_size(); ++t) {
      coding.groups.push_back(read_group(groups->element(t)));
    }
  }
  if (const auto fields = root.find("fields")) {
    for (std::size_t k = 0; k < fields->array_size(); ++k) {
      coding.fields.push_back(read_field_coding(fields->element(k)));
    }
  }
  if (const auto constant = root.find("constant")) {
    coding.constant = constant->number();
  }
}

TableCoding read_coding(const JsonNode& root) {
  TableCoding coding;
  coding.training_rows = root.at("training_rows").integer(0, std::numeric_limits<int>::max());
  coding.features = read_features(root.at("features"));
  coding.target = read_target(root.at("target"));
  coding.intercept = root.at("intercept").boolean();
  std::vector<std::string> arguments;
  for (const ColumnArgument& known : column_arguments()) {
    arguments.push_back(known.info->name);
  }
  const JsonNode columns = root.at("argument_columns");
  columns.expect_fields(arguments);
  for (const std::string& argument : arguments) {
    if (const auto column = columns.find(argument)) {
      coding.argument_columns[argument] = column->text();
    }
  }
  if (const auto inverted = root.find("inverted_arguments")) {
    coding.inverted_arguments = inverted->texts();
    for (const std::string& argument : coding.inverted_arguments) {
      const SiteArgumentInfo* info = find_column_argument(argument);
      if (!coding.argument_columns.contains(argument) || info == nullptr || info->kind != ArgumentKind::flag) {
        inverted->fail(fmt::format("{} is no flag with a column", in_quotes(argument)));
      }
    }
  }
  coding.offset_column = root.at("offset_column").text();
  read_terms(root, coding);
  if (const auto keep = root.find("keep")) {
    coding.keep = keep->texts();
  }
  return coding;
}

EvidenceKind read_evidence_kind(const JsonNode& node) {
  const std::string name = node.text();
  for (const EvidenceKind kind :
       {EvidenceKind::exact, EvidenceKind::lower_bound, EvidenceKind::approximation, EvidenceKind::estimate}) {
    if (name == to_string(kind)) {
      return kind;
    }
  }
  node.fail("expected exact, lower-bound, approximation or estimate");
}

/// The coded features must be what the prior was fitted on.
void check_shapes(const JsonNode& root, const SavedModel& model) {
  if (const auto [features, expected] = feature_counts(model); features != expected) {
    root.fail(fmt::format("the coding gives {} features, but the prior was fitted on {}", features, expected));
  }
  if (!terms_fit(model)) {
    root.fail("the terms of the coding are not those of the prior");
  }
  if (const std::string wrong = wrong_latents(model); !wrong.empty()) {
    root.fail(wrong);
  }
}

struct Header {
  std::string_view checksum;
  std::size_t bytes = 0;
  std::string_view payload;
};

Header read_header(std::string_view text, const std::string& file) {
  const auto refuse = [&](const std::string& message) -> void { throw InvalidFile(file + ": " + message); };
  const auto end = text.substr(0, 200).find('\n');
  const std::string_view line = text.substr(0, end);
  if (!text.starts_with(model_family)) {
    refuse(fmt::format("not a saved model; the first line must start with \"{}\"", model_format));
  }
  const auto first = line.find(' ');
  const std::string_view format = line.substr(0, first);
  if (format != model_format) {
    refuse(fmt::format("written in the format {}; this version reads {}", in_quotes(format), model_format));
  }
  const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (end == std::string_view::npos || second == std::string_view::npos) {
    refuse("damaged: the first line is not complete");
  }
  Header header;
  header.checksum = line.substr(first + 1, second - first - 1);
  const std::string_view bytes = line.substr(second + 1);
  const auto [stop, code] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), header.bytes);
  if (code != std::errc() || stop != bytes.data() + bytes.size()) {
    refuse("damaged: the first line does not give the length");
  }
  header.payload = text.substr(end + 1);
  return header;
}

/// The JSON after the header, complete and as it was written.
std::string_view checked_payload(std::string_view text, const std::string& file) {
  const Header header = read_header(text, file);
  if (header.payload.size() < header.bytes) {
    throw InvalidFile(
        fmt::format("{}: truncated: {} of {} bytes are there", file, header.payload.size(), header.bytes));
  }
  if (header.payload.size() > header.bytes) {
    throw InvalidFile(fmt::format("{}: {} bytes too many after the model; the file was changed", file,
                                  header.payload.size() - header.bytes));
  }
  if (header.checksum != checksum_hex(header.payload)) {
    throw InvalidFile(file + ": the checksum does not match; the file was changed or damaged since it was saved");
  }
  return header.payload;
}

}  // namespace

std::string format_saved_model(const SavedModel& model) {
  require_loadable(model);
  Json out;
  out["library_version"] = std::string(version);
  out["method"] = model.method;
  out["log_evidence"] = model.log_evidence.value;
  out["evidence_kind"] = std::string(to_string(model.log_evidence.kind));
  out["converged"] = model.converged;
  if (model.trust) {
    out["trust"] = saved_trust_json(*model.trust);
  }
  put_coding(model.coding, out);
  if (model.network) {
    out["network"] = network_json(*model.network);
  } else {
    put_fitted(model.fitted, out);
  }
  if (!model.integration.empty()) {
    out["integration"] = integration_json(model);
  }
  std::string payload = out.dump();
  payload += '\n';
  out = Json();  // Numbers as JSON take twice the memory of their text.
  std::string text = fmt::format("{} {} {}\n", model_format, checksum_hex(payload), payload.size());
  text.reserve(text.size() + payload.size());
  text += payload;
  if (text.size() > max_model_bytes) {
    throw InvalidModel(
        fmt::format("the saved model would have {} bytes; {} is the most that is read", text.size(), max_model_bytes));
  }
  return text;
}

SavedModel parse_saved_model(std::string_view text, std::string_view name) {
  const std::string file(name);
  const nlohmann::json document = parse_json(checked_payload(text, file), file);
  const JsonNode root(document, file);
  root.expect_fields({"library_version",
                      "method",
                      "log_evidence",
                      "evidence_kind",
                      "converged",
                      "trust",
                      "training_rows",
                      "features",
                      "target",
                      "intercept",
                      "argument_columns",
                      "offset_column",
                      "sites",
                      "prior",
                      "form",
                      "design",
                      "precision",
                      "star",
                      "dual",
                      "coordinates",
                      "factor",
                      "root",
                      "complement",
                      "scale",
                      "whitened",
                      "pivots",
                      "noise",
                      "draws",
                      "inverted_arguments",
                      "keep",
                      "fixed",
                      "centres",
                      "groups",
                      "fields",
                      "constant",
                      "integration",
                      "network"});
  SavedModel model;
  model.library_version = root.at("library_version").text();
  model.method = root.at("method").text();
  const JsonNode evidence = root.at("log_evidence");
  model.log_evidence.value = evidence.json().is_null() ? std::numeric_limits<double>::quiet_NaN() : evidence.number();
  model.log_evidence.kind = read_evidence_kind(root.at("evidence_kind"));
  model.converged = root.at("converged").boolean();
  if (const auto trust = root.find("trust")) {
    model.trust = read_trust(*trust);
  }
  model.coding = read_coding(root);
  if (const auto network = root.find("network")) {
    for (const char* other : {"sites", "prior", "form", "integration"})
      if (const auto given = root.find(other)) given->fail("a network stands alone");
    model.network = read_network(*network);
  } else {
    model.fitted = read_fitted(root);
  }
  if (const auto points = root.find("integration")) {
    for (std::size_t k = 0; k < points->array_size(); ++k) {
      model.integration.push_back(read_point(points->element(k), model.fitted));
    }
  }
  check_shapes(root, model);
  return model;
}

void write_file(const std::filesystem::path& path, std::string_view content) { write_atomically(path, content); }

void save_model(const std::filesystem::path& path, const SavedModel& model) {
  write_file(path, format_saved_model(model));
}

SavedModel load_model(const std::filesystem::path& path) {
  const std::string start = first_bytes(path, model_family.size());
  if (!start.empty() && start != model_family) {
    (void)read_header(start, path.string());
  }
  return parse_saved_model(read_text_file(path, max_model_bytes), path.string());
}

}  // namespace gaussmith
