#include "gaussmith/errors.hpp"
#include "sites/entry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gaussmith {

namespace {

std::vector<const LikelihoodEntry*> entries() {
  return {&gaussian_likelihood(),          &bernoulli_logit_likelihood(),   &bernoulli_probit_likelihood(),
          &binomial_logit_likelihood(),    &poisson_likelihood(),           &negative_binomial_likelihood(),
          &student_t_likelihood(),         &laplace_likelihood(),           &cauchy_likelihood(),
          &weibull_likelihood(),           &exponential_likelihood(),       &gamma_likelihood(),
          &multinomial_logit_likelihood(), &multinomial_probit_likelihood()};
}

[[noreturn]] void refuse_unknown(std::string_view likelihood) {
  std::vector<std::string> known;
  for (const LikelihoodInfo& info : likelihood_catalogue()) known.push_back(info.traits.name);
  throw InvalidModel(fmt::format("unknown likelihood '{}'{}; known: {}", likelihood, suggestion(likelihood, known),
                                 fmt::join(known, ", ")));
}

}  // namespace

const std::vector<LikelihoodInfo>& likelihood_catalogue() {
  static const std::vector<LikelihoodInfo> catalogue = [] {
    std::vector<LikelihoodInfo> all;
    for (const LikelihoodEntry* entry : entries()) all.push_back(entry->info);
    return all;
  }();
  return catalogue;
}

const LikelihoodInfo& likelihood_info(std::string_view name) {
  if (const LikelihoodInfo* info = find_likelihood(name)) return *info;
  refuse_unknown(name);
}

Sites observe(std::string_view likelihood, const Vector& responses, const SiteArguments& arguments) {
  for (const LikelihoodEntry* entry : entries())
    if (entry->info.traits.name == likelihood) return entry->make(responses, arguments);
  refuse_unknown(likelihood);
}

}  // namespace gaussmith
