// The largest of eta_c + e_c, e_c ~ N(0, 1), is observed: C classes, C latents.

#include "numerics/class_probabilities.hpp"
#include "sites/class_block.hpp"
#include "sites/entry.hpp"
#include "sites/probit_classes.hpp"

namespace gaussmith {

namespace {

LikelihoodInfo info() {
  return {.traits = {.name = "multinomial-probit",
                     .response = ResponseKind::label,
                     .log_concave = true,
                     .methods = {"ep", "vmf"}},
          .formula = "int N(u | 0, 1) prod_(c != y) Phi(u + eta_y - eta_c) du",
          .summary = "several classes, the largest of one noisy latent function a class",
          .arguments = {classes_argument()}};
}

class MultinomialProbit final : public ClassBlock {
 public:
  MultinomialProbit(const Vector& responses, const SiteArguments& arguments)
      : ClassBlock(info(), responses, arguments) {}

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    return std::make_shared<const MultinomialProbit>(responses, arguments_with(arguments));
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    const Index c = width();
    ProbitClasses classes(c);
    Vector gradient(c);
    for_rows(first, eta, [&](Index row, Index i) {
      // The Hessian is made of the gradient.
      const Span slope = out.first.empty() && !out.second.empty() ? view(gradient) : row_of(out.first, i, c);
      const double value = classes.log_density(label(row), row_of(eta, i, c), slope, row_of(out.second, i, c * c));
      if (!out.value.empty()) out.value[static_cast<std::size_t>(i)] = value;
    });
  }

  void class_probabilities(Index, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal, Span probability,
                           Span error) const override {
    gaussmith::class_probabilities(ClassLink::probit, width(), mean, covariance, goal, probability, error);
  }

  void response_sample(Index first, ConstSpan eta, Random& random, Span out) const override {
    const Index c = width();
    Vector noisy(c);
    for_rows(first, eta, [&](Index, Index i) {
      const ConstSpan f = row_of(eta, i, c);
      for (Index k = 0; k < c; ++k) noisy(k) = f[static_cast<std::size_t>(k)] + random.normal();
      Index largest = 0;
      noisy.maxCoeff(&largest);
      out[static_cast<std::size_t>(i)] = static_cast<double>(largest);
    });
  }
};

}  // namespace

const LikelihoodEntry& multinomial_probit_likelihood() {
  static const LikelihoodEntry entry{info(), [](const Vector& responses, const SiteArguments& arguments) -> Sites {
                                       return std::make_shared<const MultinomialProbit>(responses, arguments);
                                     }};
  return entry;
}

}  // namespace gaussmith
