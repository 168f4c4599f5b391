// exp eta_y / sum_c exp eta_c: C classes, C latents.

#include "numerics/averaged_log_sum_exp.hpp"
#include "numerics/class_probabilities.hpp"
#include "numerics/expected_log_sum_exp.hpp"
#include "sites/class_block.hpp"
#include "sites/entry.hpp"
#include "sites/softmax.hpp"
#include "sites/softmax_bound.hpp"
#include "sites/started_expectation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

LikelihoodInfo info() {
  return {.traits = {.name = "multinomial-logit",
                     .response = ResponseKind::label,
                     .log_concave = true,
                     .star = true,
                     .methods = {"laplace", "kl"}},
          .formula = "exp(eta_y) / sum_c exp(eta_c)",
          .summary = "several classes, softmax of one latent function a class",
          .arguments = {classes_argument()}};
}

/// About E softmax(f), where the maximum of the bound is looked for first: the softmax of means that are drawn in as
/// for two classes, m/sqrt(1 + pi v/8).
void guess_probabilities(ConstSpan mean, ConstSpan covariance, Eigen::Map<Vector> out) {
  const Eigen::Map<const Vector> m(mean.data(), out.size());
  const Eigen::Map<const Matrix> v(covariance.data(), out.size(), out.size());
  const Vector level = v.rowwise().mean();
  const double all = level.mean();
  constexpr double squared_scale = std::numbers::pi / 8.0;
  out = m.array() - m.mean();
  for (Index c = 0; c < out.size(); ++c)
    out(c) /= std::sqrt(1.0 + squared_scale * std::max(0.0, v(c, c) - 2.0 * level(c) + all));
  out = (out.array() - out.maxCoeff()).exp();
}

class MultinomialLogit final : public ClassBlock, public StartedExpectation {
 public:
  MultinomialLogit(const Vector& responses, const SiteArguments& arguments)
      : ClassBlock(info(), responses, arguments) {}

  std::shared_ptr<const SiteBlock> with(const Vector& responses, const SiteArguments& arguments) const override {
    return std::make_shared<const MultinomialLogit>(responses, arguments_with(arguments));
  }

  void log_density(Index first, ConstSpan eta, const LogDensityOut& out) const override {
    const Index c = width();
    Vector gradient(c);
    for_rows(first, eta, [&](Index row, Index i) {
      // The Hessian is made of the gradient.
      const Span slope = out.first.empty() && !out.second.empty() ? view(gradient) : row_of(out.first, i, c);
      const double value = softmax_log_density(label(row), row_of(eta, i, c), slope, row_of(out.second, i, c * c));
      if (!out.value.empty()) out.value[static_cast<std::size_t>(i)] = value;
    });
  }

  void curvature_slope(Index first, ConstSpan eta, ConstSpan covariance, Span out) const override {
    const Index c = width();
    for_rows(first, eta, [&](Index, Index i) {
      softmax_curvature_slope(row_of(eta, i, c), row_of(covariance, i, c * c), row_of(out, i, c));
    });
  }

  void star(Index first, ConstSpan eta, Span out) const override {
    const Index c = width();
    for_rows(first, eta, [&](Index, Index i) {
      const ConstSpan f = row_of(eta, i, c);
      const Span p = row_of(out, i, c);
      const double largest = *std::max_element(f.begin(), f.end());
      double sum = 0.0;
      for (std::size_t k = 0; k < f.size(); ++k) sum += p[k] = std::exp(f[k] - largest);
      for (double& value : p) value /= sum;
    });
  }

  /// The largest h of the bound, with its derivatives.
  void expectation(Index first, ConstSpan mean, ConstSpan covariance, const ExpectationOut& out) const override {
    Vector probabilities = Vector::Zero(static_cast<Index>(mean.size()));
    expectation_from(first, mean, covariance, {view(probabilities), 0.0}, out);
  }

  void expectation_from(Index first, ConstSpan mean, ConstSpan covariance, const Search& search,
                        const ExpectationOut& out) const override {
    const Index c = width();
    SoftmaxBound bound(c);
    for_rows(first, mean, [&](Index row, Index i) {
      const Span start = row_of(search.start, i, c);
      Eigen::Map<Vector> probabilities(start.data(), c);
      if (probabilities.isZero(0.0))
        guess_probabilities(row_of(mean, i, c), row_of(covariance, i, c * c), probabilities);
      const Span d_variance = row_of(out.d_variance, i, c * c);
      const auto result = bound.maximise(label(row), row_of(mean, i, c), row_of(covariance, i, c * c),
                                         {start, row_of(out.d_mean, i, c), d_variance, search.enough});
      if (!out.value.empty()) out.value[static_cast<std::size_t>(i)] = result.value;
      for (double& value : d_variance) value *= -0.5;
    });
  }

  /// m_y - E[log sum exp].
  void expected_log_density(Index first, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal, Span value,
                            Span error) const override {
    expected_log_sum_exp(width(), mean, covariance, goal, value, error);
    for_rows(first, mean, [&](Index row, Index i) {
      double& own = value[static_cast<std::size_t>(i)];
      own = row_of(mean, i, width())[static_cast<std::size_t>(label(row))] - own;
    });
  }

  void averaged_expectation(Index first, ConstSpan mean, ConstSpan covariance, std::uint64_t seed,
                            const ExpectationOut& out, Span replicates) const override {
    static_assert(AveragedLogSumExp::shifts == expectation_replicates);
    const Index c = width();
    AveragedLogSumExp average(c, seed);
    Vector own(expectation_replicates);
    for_rows(first, mean, [&](Index row, Index i) {
      const Span d_mean = row_of(out.d_mean, i, c);
      const Span d_variance = row_of(out.d_variance, i, c * c);
      const Span each = replicates.empty() ? view(own) : row_of(replicates, i, expectation_replicates);
      const double own_mean = row_of(mean, i, c)[static_cast<std::size_t>(label(row))];
      const double value =
          own_mean - average.average(row_of(mean, i, c), row_of(covariance, i, c * c), {d_mean, d_variance, each});
      if (!out.value.empty()) out.value[static_cast<std::size_t>(i)] = value;
      for (double& one : each) one = own_mean - one;
      for (double& slope : d_mean) slope = -slope;
      if (!d_mean.empty()) {
        // 1 - p_y as a sum, without cancellation.
        double& slope = d_mean[static_cast<std::size_t>(label(row))];
        slope = 0.0;
        double others = 0.0;
        for (const double other : d_mean) others += other;
        slope = -others;
      }
      for (double& bend : d_variance) bend *= -0.5;
    });
  }

  void class_probabilities(Index, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal, Span probability,
                           Span error) const override {
    gaussmith::class_probabilities(ClassLink::logit, width(), mean, covariance, goal, probability, error);
  }

  void response_sample(Index first, ConstSpan eta, Random& random, Span out) const override {
    const Index c = width();
    Vector p(c);
    for_rows(first, eta, [&](Index row, Index i) {
      star(row, row_of(eta, i, c), view(p));
      double left = random.uniform();
      Index k = 0;
      while (k + 1 < c && (left -= p(k)) >= 0.0) ++k;
      out[static_cast<std::size_t>(i)] = static_cast<double>(k);
    });
  }
};

}  // namespace

const LikelihoodEntry& multinomial_logit_likelihood() {
  static const LikelihoodEntry entry{info(), [](const Vector& responses, const SiteArguments& arguments) -> Sites {
                                       return std::make_shared<const MultinomialLogit>(responses, arguments);
                                     }};
  return entry;
}

}  // namespace gaussmith
