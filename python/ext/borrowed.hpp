#pragma once
// Eigen's matrices over numbers that somebody else holds, so that arrays of Python become designs without a copy. The
// library shares matrices by handle (shared_ptr<const Matrix>); these are such matrices, whose numbers are those of an
// array and which give nothing back to Eigen's allocator.

#include "gaussmith/types.hpp"

#include <cstdlib>
#include <memory>
#include <utility>

namespace gaussmith::python {

/// Eigen keeps the pointer of a dense matrix private; naming a private member is allowed in an explicit instantiation
/// alone. Eigen 3.4 has these three members; of other versions arrays are copied.
#if EIGEN_VERSION_AT_LEAST(3, 4, 0) && !EIGEN_VERSION_AT_LEAST(3, 4, 90)
#define GAUSSMITH_BORROWS_DENSE 1

namespace detail {

using DenseStorage = Eigen::DenseStorage<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::Dynamic, 0>;

struct DataMember {
  friend double* DenseStorage::*member_of(DataMember);
};
struct RowsMember {
  friend Index DenseStorage::*member_of(RowsMember);
};
struct ColumnsMember {
  friend Index DenseStorage::*member_of(ColumnsMember);
};
template <class Tag, class Type, Type member>
struct Opened {
  friend Type member_of(Tag /*tag*/) { return member; }
};
template struct Opened<DataMember, double * DenseStorage::*, &DenseStorage::m_data>;
template struct Opened<RowsMember, Index DenseStorage::*, &DenseStorage::m_rows>;
template struct Opened<ColumnsMember, Index DenseStorage::*, &DenseStorage::m_cols>;

}  // namespace detail

/// A dense matrix over numbers in column-major order; `owner` keeps them.
class BorrowedMatrix : public Matrix {
 public:
  BorrowedMatrix(const double* numbers, Index rows, Index cols, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)) {
    // Never written to: the matrix is handed on as const.
    set(const_cast<double*>(numbers), rows, cols);
  }
  ~BorrowedMatrix() { set(nullptr, 0, 0); }
  BorrowedMatrix(const BorrowedMatrix&) = delete;
  BorrowedMatrix& operator=(const BorrowedMatrix&) = delete;

 private:
  void set(double* numbers, Index rows, Index cols) {
    m_storage.*member_of(detail::DataMember{}) = numbers;
    m_storage.*member_of(detail::RowsMember{}) = rows;
    m_storage.*member_of(detail::ColumnsMember{}) = cols;
  }

  std::shared_ptr<const void> owner_;
};
#endif

/// Compressed sparse rows over three arrays; `owner` keeps them.
template <class Value>
class BorrowedRows : public Eigen::SparseMatrix<Value, Eigen::RowMajor> {
 public:
  struct Arrays {
    const Value* values;
    const int* columns;
    const int* starts;
    Index rows, cols, entries;
  };

  BorrowedRows(const Arrays& arrays, std::shared_ptr<const void> owner) : owner_(std::move(owner)) {
    std::free(this->m_outerIndex);  // Of the empty matrix.
    this->m_outerIndex = const_cast<int*>(arrays.starts);
    this->m_outerSize = arrays.rows;
    this->m_innerSize = arrays.cols;
    Entries lent(const_cast<Value*>(arrays.values), const_cast<int*>(arrays.columns), arrays.entries);
    this->m_data.swap(lent);
  }
  ~BorrowedRows() {
    this->m_outerIndex = nullptr;
    Entries returned(nullptr, nullptr, 0);
    this->m_data.swap(returned);
    returned.forget();
  }
  BorrowedRows(const BorrowedRows&) = delete;
  BorrowedRows& operator=(const BorrowedRows&) = delete;

 private:
  class Entries : public Eigen::internal::CompressedStorage<Value, int> {
   public:
    Entries(Value* values, int* columns, Index entries) {
      this->m_values = values;
      this->m_indices = columns;
      this->m_size = this->m_allocatedSize = entries;
    }
    void forget() {
      this->m_values = nullptr;
      this->m_indices = nullptr;
    }
  };

  std::shared_ptr<const void> owner_;
};

}  // namespace gaussmith::python
