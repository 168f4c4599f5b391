// Every likelihood that observe() knows: one include and one line each.

#include "gaussmith/errors.hpp"
#include "gaussmith/sites.hpp"
#include "sites/adaptor.hpp"
#include "sites/bernoulli_logit.hpp"
#include "sites/bernoulli_probit.hpp"
#include "sites/binomial_logit.hpp"
#include "sites/cauchy.hpp"
#include "sites/exponential.hpp"
#include "sites/gamma.hpp"
#include "sites/gaussian.hpp"
#include "sites/laplace.hpp"
#include "sites/negative_binomial.hpp"
#include "sites/poisson.hpp"
#include "sites/student_t.hpp"
#include "sites/weibull.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace gaussmith {

namespace {

struct Entry {
  LikelihoodInfo (*info)();
  Sites (*make)(const Vector& responses, const SiteArguments& arguments);
};

template <Likelihood L>
constexpr Entry entry() {
  return {&L::info, [](const Vector& responses, const SiteArguments& arguments) -> Sites {
            return std::make_shared<const LikelihoodBlock<L>>(responses, arguments);
          }};
}

constexpr std::array catalogue{
    entry<likelihoods::Gaussian>(),          //
    entry<likelihoods::BernoulliLogit>(),    //
    entry<likelihoods::BernoulliProbit>(),   //
    entry<likelihoods::BinomialLogit>(),     //
    entry<likelihoods::Poisson>(),           //
    entry<likelihoods::NegativeBinomial>(),  //
    entry<likelihoods::StudentT>(),          //
    entry<likelihoods::Laplace>(),           //
    entry<likelihoods::Cauchy>(),            //
    entry<likelihoods::Weibull>(),           //
    entry<likelihoods::Exponential>(),       //
    entry<likelihoods::Gamma>(),             //
};

}  // namespace

const std::vector<LikelihoodInfo>& likelihood_catalogue() {
  static const std::vector<LikelihoodInfo> lines = [] {
    std::vector<LikelihoodInfo> all;
    all.reserve(std::size(catalogue));
    for (const Entry& entry : catalogue) all.push_back(entry.info());
    return all;
  }();
  return lines;
}

Sites observe(std::string_view likelihood, const Vector& responses, const SiteArguments& arguments) {
  const std::vector<LikelihoodInfo>& lines = likelihood_catalogue();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].traits.name == likelihood) return catalogue[i].make(responses, arguments);
    names.push_back(lines[i].traits.name);
  }
  throw InvalidModel(fmt::format("unknown likelihood '{}'; known: {}", likelihood, fmt::join(names, ", ")));
}

}  // namespace gaussmith
