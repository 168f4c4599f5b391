#include "cases.hpp"

#include <random>

namespace gaussmith::test {

std::vector<KernelCase> kernel_cases() {
  const std::vector<double> ard{0.9, 2.0, 1.3, 4.0, 0.7, 3.1};
  std::vector<KernelCase> cases{
      {"se", make_kernel("se", {{"signal_sd", {1.4}}, {"lengthscale", {1.7}}})},
      {"se ard", make_kernel("se", {{"signal_sd", {0.6}}, {"lengthscale", ard}})},
      {"matern12", make_kernel("matern12", {{"signal_sd", {1.4}}, {"lengthscale", {2.7}}})},
      {"matern12 ard", make_kernel("matern12", {{"lengthscale", ard}})},
      {"matern32", make_kernel("matern32", {{"signal_sd", {1.4}}, {"lengthscale", {2.7}}})},
      {"matern32 ard", make_kernel("matern32", {{"lengthscale", ard}})},
      {"matern52", make_kernel("matern52", {{"signal_sd", {1.4}}, {"lengthscale", {2.7}}})},
      {"matern52 ard", make_kernel("matern52", {{"lengthscale", ard}})},
      {"rq", make_kernel("rq", {{"signal_sd", {1.4}}, {"lengthscale", {1.2}}, {"alpha", {0.4}}})},
      {"rq ard", make_kernel("rq", {{"lengthscale", ard}, {"alpha", {7.0}}})},
      {"periodic", make_kernel("periodic", {{"signal_sd", {0.8}}, {"lengthscale", {1.9}}, {"period", {2.3}}})},
      {"periodic ard", make_kernel("periodic", {{"lengthscale", ard}, {"period", {3.7}}})},
      {"linear", make_kernel("linear", {{"signal_sd", {0.7}}})},
      {"constant", make_kernel("constant", {{"signal_sd", {1.9}}})},
      {"white", make_kernel("white", {{"signal_sd", {0.3}}})},
      {"neural-network",
       make_kernel("neural-network", {{"signal_sd", {1.3}}, {"weight_sd", {0.8}}, {"bias_sd", {1.6}}})},
      {"neural-network ard", make_kernel("neural-network", {{"weight_sd", ard}, {"bias_sd", {0.2}}})},
  };
  const auto find = [&](const char* label) {
    for (const auto& entry : cases) {
      if (entry.label == label) return entry.kernel;
    }
    return KernelHandle{};
  };
  const KernelHandle sum_case = sum({find("se ard"), find("linear"), find("white")});
  const KernelHandle product_case = product({find("matern32 ard"), find("periodic"), find("rq")});
  const KernelHandle nested =
      sum({product({find("se"), sum_case}), find("constant"), product({find("linear"), find("linear")})});
  const KernelHandle noise_product = product({find("matern52"), find("white")});
  cases.push_back({"sum", sum_case});
  cases.push_back({"product", product_case});
  cases.push_back({"nested", nested});
  cases.push_back({"product with white", noise_product});
  return cases;
}

Matrix random_inputs(Index rows, Index columns, unsigned seed, double scale) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, columns, [&](Index, Index) { return scale * normal(generator); });
}

Matrix random_weights(Index size, unsigned seed) {
  const Matrix half = random_inputs(size, size, seed);
  return half + half.transpose();
}

}  // namespace gaussmith::test
