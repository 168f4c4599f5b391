// Every verb of a design, for every kind of storage, against the dense formula written out.

#include "gaussmith/design.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/model.hpp"
#include "support/models.hpp"
#include "support/operators.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// A design and the matrix that it stands for.
struct Kind {
  std::string name;
  Design design;
  Matrix h;
};

/// Thin rows (looked up one by one) and full ones (through dense blocks), more rows than any block of work holds.
std::vector<Kind> kinds() {
  const Matrix h = random_matrix(5000, 7, 1);
  const Matrix wide = random_matrix(6, 90, 2);
  Matrix thin = Matrix::Zero(9000, 60);
  for (Index n = 0; n < thin.rows(); ++n)
    for (Index k = 0; k < 3; ++k) thin(n, (7 * n + 11 * k * k) % 60) = std::sin(static_cast<double>(n + k));
  const SparseMatrix filled = h.sparseView();
  const SingleSparseMatrix single = SparseMatrix(thin.sparseView()).cast<float>();
  const SingleSparseMatrix filled_single = filled.cast<float>();
  return {{"identity", Design(Identity{}).sized(40), Matrix::Identity(40, 40)},
          {"dense", h, h},
          {"wide", wide, wide},
          {"sparse", SparseMatrix(thin.sparseView()), thin},
          {"filled sparse", filled, h},
          {"single", single, Matrix(single.cast<double>())},
          {"filled single", filled_single, Matrix(filled_single.cast<double>())},
          {"operator", only_multiplies(h), h},
          {"wide operator", only_multiplies(wide), wide}};
}

double difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  return (a - b).norm() / (1.0 + b.norm());
}

TEST(Design, VerbsAreThoseOfTheMatrix) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Design& d = kind.design;
    const Matrix& h = kind.h;
    ASSERT_EQ(d.rows(), h.rows());
    ASSERT_EQ(d.cols(), h.cols());
    const Matrix x = random_matrix(h.cols(), 3, 3);
    const Matrix y = random_matrix(h.rows(), 3, 4);
    const Vector weights = random_vector(h.rows(), 5);
    const Vector positive = random_vector(h.cols(), 6).cwiseAbs();
    const Vector x0 = x.col(0);
    const Vector y0 = y.col(0);
    EXPECT_LT(difference(d.times(x, 2), h * x), 1e-13);
    EXPECT_LT(difference(d.times(x0, 2), h * x0), 1e-13);
    EXPECT_LT(difference(d.transposed_times(y, 2), h.transpose() * y), 1e-12);
    EXPECT_LT(difference(d.transposed_times(y0, 2), h.transpose() * y0), 1e-12);
    Vector hx;
    const Vector gram_x = d.gram_times(weights, x0, hx, 2);
    EXPECT_LT(difference(hx, h * x0), 1e-13);
    EXPECT_LT(difference(gram_x, h.transpose() * (weights.asDiagonal() * (h * x0))), 1e-12);
    const Matrix gram = h.transpose() * weights.asDiagonal() * h;
    EXPECT_LT(difference(Matrix(d.gram(weights, 2).triangularView<Eigen::Lower>()),
                         Matrix(gram.triangularView<Eigen::Lower>())),
              1e-12);
    EXPECT_LT(difference(d.column_squares(weights, 2), h.cwiseAbs2().transpose() * weights), 1e-12);
    EXPECT_LT(difference(d.row_squares(positive, 2), h.cwiseAbs2() * positive), 1e-13);
    if (h.rows() < 100) {
      EXPECT_LT(difference(d.outer(positive, 2), h * positive.asDiagonal() * h.transpose()), 1e-13);
    }
    // More vectors than stand side by side, and not a multiple of those.
    const Matrix many_x = random_matrix(h.cols(), 19, 7);
    const Matrix many_y = random_matrix(h.rows(), 19, 8);
    EXPECT_LT(difference(d.times(many_x, 2), h * many_x), 1e-13);
    EXPECT_LT(difference(d.transposed_times(many_y, 2), h.transpose() * many_y), 1e-12);
    EXPECT_LT(difference(d.gram_times(weights, many_x, 2), gram * many_x), 1e-12);
    EXPECT_LT(difference(d.transposed_rows(2, 5), h.middleRows(2, 3).transpose()), 1e-15);
    EXPECT_LT(difference(d.columns(1, 3), h.middleCols(1, 2)), 1e-15);
    EXPECT_THROW((void)d.columns(1, h.cols() + 1), InvalidModel);
    const Design chosen = d.select({4, 1, 4});
    EXPECT_LT(difference(chosen.times(x), (Matrix(3, h.cols()) << h.row(4), h.row(1), h.row(4)).finished() * x), 1e-13);
    const Design scaled = d.scaled(positive);
    EXPECT_LT(difference(scaled.times(x), h * positive.asDiagonal() * x), 1e-13);
    EXPECT_LT(difference(scaled.transposed_times(y), positive.asDiagonal() * (h.transpose() * y)), 1e-12);
    EXPECT_TRUE(d.with_entries().has_entries());
    EXPECT_LT(difference(d.with_entries().times(x), h * x), 1e-13);
  }
}

TEST(Design, SumsDoNotDependOnTheNumberOfThreads) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const Vector x = random_vector(kind.h.cols(), 3);
    const Vector y = random_vector(kind.h.rows(), 4);
    Vector one;
    Vector three;
    EXPECT_EQ(kind.design.times(x, 1), kind.design.times(x, 3));
    EXPECT_EQ(kind.design.transposed_times(y, 1), kind.design.transposed_times(y, 3));
    EXPECT_EQ(kind.design.gram_times(y, x, one, 1), kind.design.gram_times(y, x, three, 3));
    EXPECT_EQ(one, three);
    EXPECT_EQ(kind.design.column_squares(y, 1), kind.design.column_squares(y, 3));
    EXPECT_EQ(kind.design.row_squares(x, 1), kind.design.row_squares(x, 3));
  }
}

TEST(Design, CopiesShareTheirNumbers) {
  const Design dense = random_matrix(4, 3, 1);
  const Design copy = dense;  // NOLINT(performance-unnecessary-copy-initialization): the copy is what is tested.
  EXPECT_EQ(dense.entries().dense, copy.entries().dense);
  const Model model = linear_model("gaussian", 8, 3, 2);
  const Model changed = model.with_parameters({{"prior.variance", 2.0}});
  EXPECT_EQ(model.design.entries().dense, changed.design.entries().dense);
  const Model process = process_model("poisson", 5, 3);
  const Model other = process.with_parameters({{"kernel.signal_sd", 2.0}});
  EXPECT_EQ(&*std::get<GaussianProcess>(process.prior).inputs, &*std::get<GaussianProcess>(other.prior).inputs);
}

TEST(Design, SharesWhatTheCallerHolds) {
  const auto held = std::make_shared<const Matrix>(random_matrix(4, 3, 1));
  EXPECT_EQ(Design(held).entries().dense, held.get());
  const auto sparse = std::make_shared<const SparseMatrix>(SparseMatrix(held->sparseView()));
  EXPECT_EQ(Design(sparse).entries().sparse, sparse.get());
  EXPECT_THROW(Design(std::shared_ptr<const Matrix>()), InvalidModel);
}

TEST(Design, SingleEntriesTakeTwoThirdsOfTheBytes) {
  SparseMatrix rows(1000, 50);
  for (Index n = 0; n < rows.rows(); ++n)
    for (Index k = 0; k < 20; ++k) rows.insert(n, (n + 2 * k) % 50) = std::cos(static_cast<double>(n + k));
  const Design twice(rows);
  const Design once(SingleSparseMatrix(rows.cast<float>()));
  EXPECT_EQ(twice.bytes(), 12.0 * 20000 + 4.0 * 1000);
  EXPECT_EQ(once.bytes(), 8.0 * 20000 + 4.0 * 1000);
  EXPECT_NE(once.entries().single, nullptr);
  EXPECT_STREQ(once.kind(), "sparse");
  EXPECT_NE(once.select({3, 1}).entries().single, nullptr);
  const Design widened = once.in_double();
  ASSERT_NE(widened.entries().sparse, nullptr);
  EXPECT_EQ(Matrix(*widened.entries().sparse), Matrix(once.entries().single->cast<double>()));
  EXPECT_EQ(twice.in_double().entries().sparse, twice.entries().sparse);
}

TEST(Design, OnlyTheIdentityTakesTheSizeOfTheModel) {
  EXPECT_EQ(Design().rows(), 0);
  EXPECT_EQ(Design().sized(3).rows(), 3);
  EXPECT_EQ(Design(random_matrix(4, 2, 1)).sized(3).cols(), 2);
}

/// H and something else as its transpose.
class Lopsided final : public LinearOperator {
 public:
  [[nodiscard]] Index rows() const override { return 5; }
  [[nodiscard]] Index cols() const override { return 3; }
  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override { out = h_ * x; }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out = 2.0 * h_.transpose() * x;
  }

 private:
  Matrix h_ = random_matrix(5, 3, 7);
};

TEST(Design, AnOperatorMustHaveOneTranspose) {
  Model model = linear_model("gaussian", 5, 3, 1);
  model.design = only_multiplies(random_matrix(5, 3, 7));
  EXPECT_NO_THROW(model.validate());
  model.design = std::shared_ptr<const LinearOperator>(std::make_shared<Lopsided>());
  try {
    model.validate();
    FAIL();
  } catch (const InvalidModel& error) {
    EXPECT_NE(std::string(error.what()).find("apply_transposed"), std::string::npos);
  }
  model.design = only_multiplies(random_matrix(5, 4, 7));
  EXPECT_THROW(model.validate(), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
