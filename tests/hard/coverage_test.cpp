// Do intervals of coefficients hold what they promise? 200 data sets a model, drawn from it with coefficients that do
// not come from the prior.

#include "gaussmith/learn.hpp"
#include "gaussmith/random.hpp"
#include "gaussmith/table_model.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace gaussmith {
namespace {

constexpr Index groups = 30;

struct Simulation {
  std::string name, likelihood, method, formula;
  Index rows;
  /// The response at eta, and whether it is censored.
  std::function<std::pair<double, bool>(double eta, Random& random)> respond;
  double group_sd = 0.0;
};

const Vector& truth() {
  static const Vector values{{0.4, 0.7, -0.003, 0.5}};  // Intercept; a, b and the level "m" of c.
  return values;
}

double poisson(double mean, Random& random) {
  double count = 0.0;
  for (double left = random.uniform(); left > std::exp(-mean); left *= random.uniform()) ++count;
  return count;
}

Table draw(const Simulation& model, std::uint64_t seed) {
  Random random(seed);
  Vector a(model.rows), b(model.rows), y(model.rows), censored(model.rows);
  std::vector<std::string> c, group;
  std::vector<double> effects;
  for (Index g = 0; g < groups; ++g) effects.push_back(model.group_sd * random.normal());
  for (Index i = 0; i < model.rows; ++i) {
    a(i) = random.normal();
    b(i) = 150.0 + 60.0 * random.normal() + 20.0 * a(i);  // Another scale, far from zero, correlated.
    c.push_back(random.uniform() < 0.4 ? "m" : "f");
    group.push_back("g" + std::to_string(i % groups));
    const double eta = truth()(0) + truth()(1) * a(i) + truth()(2) * b(i) + (c.back() == "m" ? truth()(3) : 0.0) +
                       effects[static_cast<std::size_t>(i % groups)];
    const auto response = model.respond(eta, random);
    y(i) = response.first;
    censored(i) = response.second ? 1.0 : 0.0;
  }
  Table table;
  table.columns = {numeric_column("a", a),
                   numeric_column("b", b),
                   text_column("c", c),
                   text_column("g", group),
                   numeric_column("censored", censored),
                   numeric_column("y", y)};
  return table;
}

std::vector<Simulation> simulations() {
  const auto gaussian = [](double eta, Random& random) { return std::pair(eta + 0.8 * random.normal(), false); };
  const auto classes = [](double eta, Random& random) {
    return std::pair(random.uniform() < 1.0 / (1.0 + std::exp(-eta)) ? 1.0 : -1.0, false);
  };
  const auto counts = [](double eta, Random& random) { return std::pair(poisson(std::exp(eta), random), false); };
  const auto times = [](double eta, Random& random) {
    const double time = std::pow(-std::log(random.uniform()) * std::exp(-eta), 1.0 / 1.5);
    const double end = 0.2 + 2.0 * random.uniform();
    return time < end ? std::pair(time, false) : std::pair(end, true);
  };
  return {{"gaussian", "gaussian", "exact", "y ~ a + b + c", 80, gaussian},
          {"logit, laplace", "bernoulli-logit", "laplace", "y ~ a + b + c", 250, classes},
          {"logit, ep", "bernoulli-logit", "ep", "y ~ a + b + c", 250, classes},
          {"poisson, kl", "poisson", "kl", "y ~ a + b + c", 100, counts},
          {"weibull", "weibull", "laplace", "y ~ a + b + c", 150, times},
          {"gaussian, groups", "gaussian", "exact", "y ~ a + b + c + (1|g)", 150, gaussian, 0.7},
          {"poisson, groups", "poisson", "laplace", "y ~ a + b + c + (1|g)", 150, counts, 0.6}};
}

TEST(Coverage, OfCoefficientsIsWhatIntervalsPromise) {
  for (const Simulation& model : simulations()) {
    SCOPED_TRACE(model.name);
    const int sets = testing::repetitions(200);
    int covered = 0;
    int intervals = 0;
    for (int set = 0; set < sets; ++set) {
      TableModelOptions options;
      options.likelihood = model.likelihood;
      options.formula = model.formula;
      options.learning = true;
      if (model.likelihood == "weibull") options.argument_columns = {{"censored", "censored"}};
      const TableModel built = build_table_model(draw(model, 1000 + static_cast<std::uint64_t>(set)), options);
      const Learned learned = learn(built.model, make_method(model.method));
      ASSERT_EQ(learned.report.status, Status::converged) << learned.report.message;
      const auto found = coefficients(learned.posterior, built.coding);
      ASSERT_EQ(found.size(), 4U);
      for (std::size_t j = 0; j < found.size(); ++j) {
        ++intervals;
        const double value = truth()(static_cast<Index>(j));
        if (found[j].lower <= value && value <= found[j].upper) ++covered;
      }
    }
    const double share = static_cast<double>(covered) / intervals;
    RecordProperty(model.name, std::to_string(share));
    std::printf("%-20s %.3f of %d intervals\n", model.name.c_str(), share, intervals);
    if (sets < 200) continue;  // Too few to tell.
    EXPECT_GE(share, 0.93);
    EXPECT_LE(share, 0.97);
  }
}

}  // namespace
}  // namespace gaussmith
