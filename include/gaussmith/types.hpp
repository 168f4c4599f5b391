#pragma once
// The few linear-algebra names that the whole library speaks.

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include <span>

// Vectors are allocated on one side of the library's border and freed on the other.
#ifdef GAUSSMITH_EIGEN_ALIGNMENT
static_assert(EIGEN_DEFAULT_ALIGN_BYTES == GAUSSMITH_EIGEN_ALIGNMENT,
              "Eigen allocates differently here than in the gaussmith library: build both with the same -march flags");
#endif

namespace gaussmith {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;  ///< Column-major, as LAPACK wants it.
using SparseMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

using Span = std::span<double>;
using ConstSpan = std::span<const double>;

/// A view of all entries of a vector, for block calls on sites.
inline Span view(Vector& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }
inline ConstSpan view(const Vector& v) { return {v.data(), static_cast<std::size_t>(v.size())}; }

}  // namespace gaussmith
