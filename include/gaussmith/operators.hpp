#pragma once
// Ready linear operators: designs H that are never stored as matrices, and the check that an operator's two products
// belong together. Signals and images are vectors in row-major order: pixel (i, j) of an image stands at i width + j.

#include "gaussmith/design.hpp"
#include "gaussmith/types.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace gaussmith {

using OperatorHandle = std::shared_ptr<const LinearOperator>;

/// The shape of an image; a signal is an image of one row.
struct Grid {
  Index height = 1;
  Index width = 0;

  [[nodiscard]] Index size() const { return height * width; }
};

/// Forward differences of neighbours, no wrap-around: first all x(i, j+1) - x(i, j), then all x(i+1, j) - x(i, j), both
/// in row-major order. height (width - 1) + (height - 1) width rows; a signal has n - 1.
[[nodiscard]] OperatorHandle finite_differences(const Grid& grid);

/// The orthonormal Daubechies wavelets with four taps, periodic. One level takes a signal x of n entries to the means
/// s_i = sum_k h_k x(2i + k mod n) followed by the details d_i = sum_k (-1)^k h_(3-k) x(2i + k mod n), i < n / 2, with
/// h = (1 + sqrt 3, 3 + sqrt 3, 3 - sqrt 3, 1 - sqrt 3) / (4 sqrt 2); an image is transformed along its rows, then its
/// columns. The next level does the same to the means (of an image, those in both directions), so that W'W = W W' = I.
/// Every side longer than 1 must be divisible by 2^levels. O(size) a product.
[[nodiscard]] OperatorHandle wavelets(const Grid& grid, int levels);

/// What lies beyond the edges of an image.
enum class Boundary {
  circular,  ///< The opposite edge.
  zero,      ///< Zeros.
};

/// The convolution y(i, j) = sum_ab k(a, b) x(i + p - a, j + q - b) with p, q = half the kernel's height and width,
/// rounded down; as many rows as columns. The kernel is not larger than the image. Fourier transforms:
/// O(size log size) a product whatever the kernel, rounding about 1e-16 |k| |x|.
[[nodiscard]] OperatorHandle convolution(const Matrix& kernel, const Grid& grid, Boundary boundary);

/// Chosen coefficients of a two-dimensional Fourier transform: true at (u, v) for 0 <= u < height, 0 <= v < width.
using FrequencyMask = Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic>;

/// All coefficients of the chosen lines u.
[[nodiscard]] FrequencyMask frequency_lines(const Grid& grid, const std::vector<Index>& lines);

/// The chosen coefficients F(u, v) = size^(-1/2) sum_ij x(i, j) exp(-2 pi i (u i / height + v j / width)), ordered by
/// u, then v: first their real parts, then their imaginary parts. Two rows a coefficient; those with (u, v) = (-u, -v)
/// have an imaginary part of zero. O(size log size) a product.
[[nodiscard]] OperatorHandle subsampled_fourier(const Grid& grid, const FrequencyMask& chosen);

/// [A; B; ...]: the rows of all, one below the other.
[[nodiscard]] OperatorHandle stacked(std::vector<OperatorHandle> parts);

/// diag(row_scale) A.
[[nodiscard]] OperatorHandle scaled(OperatorHandle a, Vector row_scale);
/// scale A.
[[nodiscard]] OperatorHandle scaled(OperatorHandle a, double scale);

/// A B.
[[nodiscard]] OperatorHandle composed(OperatorHandle a, OperatorHandle b);

/// A sparse matrix among operators, to be stacked or composed. A model takes a sparse matrix as it is.
[[nodiscard]] OperatorHandle from_matrix(SparseMatrix matrix);

/// How far the two products are from those of one matrix: the largest |y'(H x) - x'(H'y)| over four pairs of random
/// vectors, divided by the root-mean-square that such a number y'H x has. About 1e-15 for a matrix, about 1 for two
/// unrelated ones; infinite where a product is not finite.
[[nodiscard]] double adjoint_error(const LinearOperator& h, std::uint64_t seed = 1);

/// Throws InvalidModel with the figure where adjoint_error is above the tolerance.
void check_adjoint(const LinearOperator& h, std::uint64_t seed = 1, double tolerance = 1e-6);

}  // namespace gaussmith
