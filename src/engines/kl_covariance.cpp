#include "engines/kl_covariance.hpp"

#include "base/memory.hpp"
#include "engines/engine_core.hpp"
#include "gaussian/core.hpp"
#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

namespace {

constexpr double gigabyte = 1e9;
/// Multiplications of one factorisation with its variances beyond which `auto` takes a constrained family: about a
/// minute of two cores, ten times over in a fit.
constexpr double most_operations = 4e12;
/// The widest chevron that `auto` takes.
constexpr Index widest_chevron = 50;

double site_form_operations(const Model& model, CoreForm form) {
  const auto n = static_cast<double>(model.rows());
  const auto d = static_cast<double>(form == CoreForm::inducing ? count_of(*inducing_of(model), model.latents.count)
                                                                : model.dimension());
  return form == CoreForm::covariance ? n * n * n * 2.0 / 3.0 : 2.0 * n * d * d + d * d * d / 3.0;
}

class Chooser {
 public:
  Chooser(const Kl& options, const Model& model, CoreForm form)
      : options_(options),
        model_(model),
        form_(choose_form(model, form).form),
        limit_(options.memory > 0.0 ? options.memory * gigabyte : machine_memory() - model_memory(model)) {}

  /// Throws InvalidOption when it does not fit.
  [[nodiscard]] KlCovariance take(CovarianceFamily family, std::string reason = {}) const {
    const double bytes = needed(family);
    if (bytes > limit_)
      throw InvalidOption(fmt::format(
          "kl.covariance {} needs about {}, more than the {} {}{}", to_string(family), memory_in_words(bytes),
          memory_in_words(limit_), options_.memory > 0.0 ? "that kl.memory allows" : "of this machine", hint(bytes)));
    return {std::move(family), bytes, std::move(reason)};
  }

  [[nodiscard]] KlCovariance automatic(bool form_asked_for) const {
    const CovarianceFamily full{FamilyKind::full};
    const double bytes = needed(full);
    const double operations = form_ == CoreForm::sparse ? 0.0 : site_form_operations(model_, form_);
    const bool fits = bytes <= limit_;
    if (fits && operations <= most_operations)
      return take(full, fmt::format("kl.covariance auto: full, which needs {}", memory_in_words(bytes)));
    if (form_ == CoreForm::inducing) return take(full, "kl.covariance auto: full, over the inducing variables");
    if (has_only_precision(model_.prior)) return take(full, "kl.covariance auto: full, in the sparse form");
    if (form_asked_for) return take(full, "kl.covariance auto: full, because a form was asked for");
    if (!model_.design.has_entries())
      return take(full, "kl.covariance auto: full, because the design is an operator that only multiplies");
    if (has_dense_covariance(model_.prior))
      return take(full, "kl.covariance auto: full, because the prior's matrix takes as much in every family");
    const std::string why =
        fits ? fmt::format("full would take {:.1g} multiplications a step", operations)
             : fmt::format("full would need {} of {}", memory_in_words(bytes), memory_in_words(limit_));
    CovarianceFamily family{FamilyKind::chevron, std::min(widest_chevron, model_.dimension())};
    while (family.size > 0 && needed(family) > limit_) --family.size;
    if (family.size == 0) family = {FamilyKind::diagonal};
    return take(family, fmt::format("kl.covariance auto: {}, because {}", to_string(family), why));
  }

 private:
  [[nodiscard]] double needed(const CovarianceFamily& family) const {
    return family.kind == FamilyKind::full ? core_memory(model_, form_) : memory_needed(family, model_, options_.basis);
  }

  [[nodiscard]] std::string hint(double bytes) const {
    if (form_ == CoreForm::inducing) return "; " + memory_way_out(model_, form_);
    const double least = needed({FamilyKind::diagonal});
    return least < bytes && model_.design.has_entries() ? fmt::format("; diagonal needs {}", memory_in_words(least))
                                                        : "; " + memory_way_out(model_, form_);
  }

  const Kl& options_;
  const Model& model_;
  CoreForm form_;
  double limit_;
};

}  // namespace

KlCovariance choose_kl_covariance(const Kl& options, const Model& model, CoreForm form) {
  const Chooser chooser(options, model, form);
  if (options.covariance == "auto") return chooser.automatic(form != CoreForm::automatic);
  CovarianceFamily family = parse_family(options.covariance);
  check_family(family, model.dimension());
  if (family.kind != FamilyKind::full && inducing_of(model) != nullptr)
    throw InvalidOption(
        fmt::format("kl.covariance {}: inducing variables take full alone, or auto", to_string(family)));
  if (family.kind != FamilyKind::full && has_only_precision(model.prior))
    throw InvalidOption(fmt::format(
        "kl.covariance {}: a prior given by its precision takes full alone, which is sparse there", to_string(family)));
  if (family.kind != FamilyKind::full && form != CoreForm::automatic)
    throw InvalidOption(
        fmt::format("form: kl.covariance {} is not of the site form, so there is none to choose; leave it at auto",
                    to_string(family)));
  return chooser.take(std::move(family));
}

}  // namespace gaussmith
