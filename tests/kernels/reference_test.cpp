// Values and derivatives against tests/data/kernels_reference.json.

#include "gaussmith/kernels.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>

namespace gaussmith {
namespace {

using Json = nlohmann::json;

Matrix matrix_of(const Json& rows) {
  Matrix m(static_cast<Index>(rows.size()), static_cast<Index>(rows.at(0).size()));
  for (Index i = 0; i < m.rows(); ++i) {
    for (Index j = 0; j < m.cols(); ++j) m(i, j) = rows.at(static_cast<std::size_t>(i)).at(static_cast<std::size_t>(j));
  }
  return m;
}

std::vector<double> numbers(const Json& value) {
  return value.is_array() ? value.get<std::vector<double>>() : std::vector<double>{value.get<double>()};
}

std::vector<double> root(std::vector<double> values) {
  for (double& v : values) v = std::sqrt(v);
  return values;
}

// The table's kernel in our arguments.
KernelHandle kernel_of(const std::string& name, const Json& theta) {
  const std::vector<double> signal_sd = root(numbers(theta.at("variance")));
  if (name == "linear") {
    return sum({make_kernel("linear", {{"signal_sd", signal_sd}}),
                make_kernel("constant", {{"signal_sd", root(numbers(theta.at("bias")))}})});
  }
  if (name == "nn") {
    return make_kernel("neural-network", {{"signal_sd", signal_sd},
                                          {"bias_sd", root(numbers(theta.at("bias")))},
                                          {"weight_sd", root(numbers(theta.at("weight")))}});
  }
  KernelArguments arguments{{"signal_sd", signal_sd}, {"lengthscale", numbers(theta.at("lengthscale"))}};
  for (const char* shape : {"alpha", "period"}) {
    if (theta.contains(shape)) arguments[shape] = numbers(theta.at(shape));
  }
  if (name == "se_challis") {
    for (double& l : arguments["lengthscale"]) l /= std::sqrt(2.0);
  }
  return make_kernel(name.starts_with("se_") ? "se" : name, arguments);
}

// The table's name of one of our parameters, and d log(theirs)/d log(ours).
std::pair<std::string, double> table_parameter(const std::string& kernel, const std::string& ours) {
  if (kernel == "linear") return {ours == "terms[0].signal_sd" ? "variance" : "bias", 2.0};
  if (ours == "signal_sd") return {"variance", 2.0};
  if (ours == "bias_sd") return {"bias", 2.0};
  if (ours.starts_with("weight_sd")) return {"weight" + ours.substr(9), 2.0};
  return {ours, 1.0};
}

TEST(KernelReference, ValuesAndDerivatives) {
  std::ifstream file(GAUSSMITH_TEST_DATA "/kernels_reference.json");
  ASSERT_TRUE(file);
  const Json table = Json::parse(file);
  const Matrix x = matrix_of(table.at("X"));
  const Matrix z = matrix_of(table.at("X2"));
  ASSERT_GE(table.at("rows").size(), 10U);
  for (const Json& row : table.at("rows")) {
    const std::string name = row.at("kernel");
    SCOPED_TRACE(name);
    const KernelHandle kernel = kernel_of(name, row.at("theta"));

    Matrix gram, cross;
    kernel->gram(x, gram);
    kernel->block(x, z, cross);
    EXPECT_LE((gram - matrix_of(row.at("K").at("value"))).cwiseAbs().maxCoeff(), 1e-13);
    EXPECT_LE((cross - matrix_of(row.at("Kcross").at("value"))).cwiseAbs().maxCoeff(), 1e-13);

    const std::vector<KernelParameter> parameters = kernel->parameters();
    EXPECT_EQ(parameters.size(), row.at("dK_dlogtheta").size());
    for (Index i = 0; i < x.rows(); ++i) {
      for (Index j = 0; j <= i; ++j) {
        Matrix pick = Matrix::Zero(x.rows(), x.rows());
        pick(i, j) += 0.5;
        pick(j, i) += 0.5;
        const Vector derivatives = kernel->contract(x, pick);
        for (std::size_t p = 0; p < parameters.size(); ++p) {
          const auto [theirs, factor] = table_parameter(name, parameters[p].name);
          const Json& expected = row.at("dK_dlogtheta").at(theirs);
          const double value = expected.at("value").at(static_cast<std::size_t>(i)).at(static_cast<std::size_t>(j));
          EXPECT_NEAR(derivatives[static_cast<Index>(p)], factor * value, factor * expected.at("acc").get<double>())
              << parameters[p].name << " at " << i << ", " << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gaussmith
