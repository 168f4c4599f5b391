#pragma once
// Small precisions A = H'diag(tau) H + diag(q) of several characters, with the system of products that estimators see.

#include "linalg/random_matrix.hpp"
#include "linalg/variance_estimators.hpp"

#include <cmath>
#include <memory>
#include <string>

namespace gaussmith::testing {

struct PrecisionProblem {
  std::string name;
  Matrix h;
  Vector tau;
  Vector q;

  [[nodiscard]] Matrix precision() const {
    return dense_transposed_product(h, tau.asDiagonal() * h) + Matrix(q.asDiagonal());
  }

  [[nodiscard]] PrecisionSystem system() const {
    const auto a = std::make_shared<const Matrix>(precision());
    const auto rows = std::make_shared<const Matrix>(h);
    const auto root = std::make_shared<Matrix>(h.cols(), h.rows() + h.cols());
    *root << Matrix(h.transpose() * tau.cwiseSqrt().asDiagonal()), Matrix(q.cwiseSqrt().asDiagonal());
    PrecisionSystem out;
    out.dimension = h.cols();
    out.times = [a](const Matrix& x) { return dense_product(*a, x); };
    out.diagonal = a->diagonal();
    out.preconditioner = [inverse = Vector(a->diagonal().cwiseInverse())](const Matrix& x) -> Matrix {
      return inverse.asDiagonal() * x;
    };
    out.rows = h.rows();
    out.rows_times = [rows](const Matrix& x) { return dense_product(*rows, x); };
    out.rows_transposed_times = [rows](const Matrix& x) { return dense_transposed_product(*rows, x); };
    out.root_columns = root->cols();
    out.root_times = [root](const Matrix& x) { return dense_product(*root, x); };
    return out;
  }

  /// The same with what draws can make use of.
  [[nodiscard]] PrecisionSystem open_system() const {
    PrecisionSystem out = system();
    out.exact_diagonal = true;
    out.row_precision = tau;
    out.single_weight.assign(static_cast<std::size_t>(h.rows()), -1);
    out.single_scale = Vector::Zero(h.rows());
    for (Index n = 0; n < h.rows(); ++n) {
      Index largest = 0;
      h.row(n).cwiseAbs().maxCoeff(&largest);
      if (h.row(n).cwiseAbs().sum() != std::abs(h(n, largest))) continue;
      out.single_weight[static_cast<std::size_t>(n)] = largest;
      out.single_scale(n) = h(n, largest);
    }
    return out;
  }

  [[nodiscard]] Vector row_variances() const {
    return dense_product(h, dense_inverse(precision())).cwiseProduct(h).rowwise().sum();
  }
  [[nodiscard]] Vector weight_variances() const { return dense_inverse(precision()).diagonal(); }
};

/// First differences below the identity: a chain, whose neighbours are correlated.
inline Matrix chain_rows(Index n) {
  Matrix out = Matrix::Zero(2 * n - 1, n);
  out.topRows(n).setIdentity();
  for (Index i = 0; i + 1 < n; ++i) {
    out(n + i, i) = -1.0;
    out(n + i, i + 1) = 1.0;
  }
  return out;
}

inline std::vector<PrecisionProblem> precision_problems() {
  Random random(7);
  const Index d = 40;
  const auto powers = [](Index n, double from, double to) -> Vector {
    return (Vector::LinSpaced(n, from, to) * std::log(10.0)).array().exp();
  };
  std::vector<PrecisionProblem> out;
  const Matrix h = normal_matrix(60, d, random);
  out.push_back({"regression", h, Vector::Constant(60, 0.2), Vector::Ones(d)});
  out.push_back({"nearly singular", normal_matrix(25, d, random), Vector::Ones(25), Vector::Constant(d, 1e-6)});
  out.push_back({"many units", h * powers(d, -3.0, 3.0).asDiagonal(), powers(60, -2.0, 2.0), powers(d, -4.0, 4.0)});
  Vector tau(2 * d - 1);
  tau << Vector::Constant(d, 0.01), Vector::Constant(d - 1, 10.0);
  out.push_back({"chain", chain_rows(d), tau, Vector::Zero(d)});
  out.push_back({"one factor", Vector::Ones(60) * Vector::Ones(d).transpose() + 0.01 * h, Vector::Constant(60, 0.01),
                 Vector::Ones(d)});
  out.push_back({"decaying", normal_matrix(60, d, random) * powers(d, 0.0, -3.0).asDiagonal(), Vector::Ones(60),
                 Vector::Constant(d, 1e-2)});
  return out;
}

}  // namespace gaussmith::testing
