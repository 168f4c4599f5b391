#include "sites/bernoulli_logit.hpp"

#include "sites/adaptor.hpp"
#include "sites/logit_bound.hpp"

namespace gaussmith {

namespace {

using Plain = LikelihoodBlock<likelihoods::BernoulliLogit>;

SiteArgumentInfo bound_argument() {
  return {.name = "bound",
          .kind = ArgumentKind::bound,
          .required = false,
          .help = "linear:R or quadratic:R, a bound in 3 to 20 pieces in place of log t"};
}

Sites make(const Vector& responses, const SiteArguments& arguments) {
  const auto bound = arguments.find("bound");
  if (bound == arguments.end()) return std::make_shared<const Plain>(responses, arguments);
  SiteArguments others = arguments;
  others.erase("bound");
  auto plain = std::make_shared<const Plain>(responses, others);
  if (bound->second.size() == 1 && bound->second[0] == 0.0) return plain;
  if (bound->second.size() != 1) throw InvalidModel("bernoulli-logit: argument 'bound' is one for all rows");
  return make_logit_bound(PiecewiseBound::from_code(bound->second[0]), responses);
}

}  // namespace

const LikelihoodEntry& bernoulli_logit_likelihood() {
  static const LikelihoodEntry entry = [] {
    LikelihoodInfo info = likelihoods::BernoulliLogit::info();
    info.arguments = {bound_argument()};
    return LikelihoodEntry{info, make};
  }();
  return entry;
}

}  // namespace gaussmith
