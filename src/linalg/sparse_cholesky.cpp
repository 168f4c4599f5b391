#include "linalg/sparse_cholesky.hpp"

#include "linalg/blas_memory.hpp"

#include <cblas.h>
#include <cholmod.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>

// Of the OpenMP library that CHOLMOD was built with.
extern "C" {
void omp_set_max_active_levels(int levels);
int omp_get_max_active_levels(void);
}

// Where CHOLMOD and its orderings print, under the names that the archives we link have for them
// (cmake/GaussmithDependencies.cmake). They print nothing unless asked to. They stand beside the calls, so that
// whatever links these links them, too. NOLINTBEGIN(misc-use-internal-linkage,
// cppcoreguidelines-avoid-non-const-global-variables): C code names them.
extern "C" {
[[gnu::visibility("hidden")]] std::FILE* gaussmith_stdout = stdout;
[[gnu::visibility("hidden")]] std::FILE* gaussmith_stderr = stderr;
}
// NOLINTEND(misc-use-internal-linkage, cppcoreguidelines-avoid-non-const-global-variables)

namespace gaussmith {

/// The workspace and settings of one factorisation.
class CholmodCommon {
 public:
  CholmodCommon() {
    cholmod_start(&common_);
    common_.print = 0;
    common_.supernodal = CHOLMOD_SUPERNODAL;
    common_.final_ll = 1;
    common_.quick_return_if_not_posdef = 1;
  }
  ~CholmodCommon() { cholmod_finish(&common_); }
  CholmodCommon(const CholmodCommon&) = delete;
  CholmodCommon& operator=(const CholmodCommon&) = delete;
  [[nodiscard]] cholmod_common* get() { return &common_; }
  void check() const {
    if (common_.status == CHOLMOD_OUT_OF_MEMORY) throw std::bad_alloc();
    if (common_.status < 0) throw std::runtime_error("a sparse factorisation failed: the matrix may be too large");
  }

 private:
  cholmod_common common_{};
};

namespace {

/// Columns solved for at once.
constexpr Index solve_block = 64;

/// CHOLMOD's own threads spin, and there are four of them whatever the machine: none while this lives.
class NoForeignThreads {
 public:
  NoForeignThreads() : before_(omp_get_max_active_levels()) { omp_set_max_active_levels(0); }
  ~NoForeignThreads() { omp_set_max_active_levels(before_); }
  NoForeignThreads(const NoForeignThreads&) = delete;
  NoForeignThreads& operator=(const NoForeignThreads&) = delete;

 private:
  int before_;
};

/// CHOLMOD's view of a pattern; the arrays stay ours.
cholmod_sparse view_of(const SymmetricPattern& pattern, double* values) {
  cholmod_sparse a{};
  a.nrow = a.ncol = static_cast<std::size_t>(pattern.size);
  a.nzmax = pattern.row.size();
  a.p = const_cast<int*>(pattern.begin.data());
  a.i = const_cast<int*>(pattern.row.data());
  a.x = values;
  a.stype = -1;
  a.itype = CHOLMOD_INT;
  a.xtype = values == nullptr ? CHOLMOD_PATTERN : CHOLMOD_REAL;
  a.dtype = CHOLMOD_DOUBLE;
  a.sorted = a.packed = 1;
  return a;
}

}  // namespace

std::optional<SymmetricPattern> small_gram_pattern(const SparseMatrix& a, const SparseMatrix* h, double most) {
  most = std::min<double>(most, std::numeric_limits<int>::max());
  const auto size = static_cast<int>(a.rows());
  // Columns of H, so that those rows are had that a weight is part of.
  std::vector<int> first(static_cast<std::size_t>(size) + 1, 0);
  std::vector<int> rows;
  if (h != nullptr) {
    for (Index n = 0; n < h->rows(); ++n)
      for (SparseMatrix::InnerIterator it(*h, n); it; ++it) ++first[static_cast<std::size_t>(it.col()) + 1];
    for (std::size_t j = 0; j < static_cast<std::size_t>(size); ++j) first[j + 1] += first[j];
    rows.resize(static_cast<std::size_t>(first.back()));
    std::vector<int> next(first.begin(), first.end() - 1);
    for (Index n = 0; n < h->rows(); ++n)
      for (SparseMatrix::InnerIterator it(*h, n); it; ++it)
        rows[static_cast<std::size_t>(next[static_cast<std::size_t>(it.col())]++)] = static_cast<int>(n);
  }
  SparseMatrix mirrored = a.transpose();
  SymmetricPattern out;
  out.size = size;
  out.begin.push_back(0);
  std::vector<int> seen(static_cast<std::size_t>(size), -1);
  std::vector<int> column;
  for (int j = 0; j < size; ++j) {
    column.clear();
    const auto add = [&](Index i) {
      if (i < j || seen[static_cast<std::size_t>(i)] == j) return;
      seen[static_cast<std::size_t>(i)] = j;
      column.push_back(static_cast<int>(i));
    };
    add(j);
    for (SparseMatrix::InnerIterator it(a, j); it; ++it) add(it.col());
    for (SparseMatrix::InnerIterator it(mirrored, j); it; ++it) add(it.col());
    for (int k = first[static_cast<std::size_t>(j)]; k < first[static_cast<std::size_t>(j) + 1]; ++k)
      for (SparseMatrix::InnerIterator it(*h, rows[static_cast<std::size_t>(k)]); it; ++it) add(it.col());
    if (static_cast<double>(out.row.size() + column.size()) > most) return {};
    std::sort(column.begin(), column.end());
    out.row.insert(out.row.end(), column.begin(), column.end());
    out.begin.push_back(static_cast<int>(out.row.size()));
  }
  return out;
}

SymmetricPattern gram_pattern(const SparseMatrix& a, const SparseMatrix* h) {
  std::optional<SymmetricPattern> out = small_gram_pattern(a, h, std::numeric_limits<double>::infinity());
  if (!out) throw std::bad_alloc();
  return std::move(*out);
}

SparseCost factor_cost(const SymmetricPattern& pattern) {
  CholmodCommon common;
  common.get()->supernodal = CHOLMOD_SIMPLICIAL;
  const cholmod_sparse a = view_of(pattern, nullptr);
  cholmod_factor* factor = cholmod_analyze(const_cast<cholmod_sparse*>(&a), common.get());
  common.check();
  const SparseCost cost{common.get()->lnz, common.get()->fl};
  cholmod_free_factor(&factor, common.get());
  return cost;
}

class SparseCholesky::State {
 public:
  explicit State(SymmetricPattern pattern) : pattern_(std::move(pattern)) {
    const NoForeignThreads alone;
    const cholmod_sparse a = view_of(pattern_, nullptr);
    factor_ = cholmod_analyze(const_cast<cholmod_sparse*>(&a), common_.get());
    common_.check();
    if (factor_ == nullptr) throw std::bad_alloc();
    cost_ = {common_.get()->lnz, common_.get()->fl};
  }
  ~State() { cholmod_free_factor(&factor_, common_.get()); }
  State(const State& other)
      : pattern_(other.pattern_),
        diagonal_(other.diagonal_),
        pivots_(other.pivots_),
        places_(other.places_),
        owner_(other.owner_),
        cost_(other.cost_) {
    factor_ = cholmod_copy_factor(other.factor_, common_.get());
    common_.check();
    if (factor_ == nullptr) throw std::bad_alloc();
  }
  State& operator=(const State&) = delete;

  [[nodiscard]] const SymmetricPattern& pattern() const { return pattern_; }
  [[nodiscard]] const SparseCost& cost() const { return cost_; }

  bool factorise(const std::vector<double>& entries) {
    prepare_blas();
    const NoForeignThreads alone;
    diagonal_.resize(pattern_.size);
    for (Index j = 0; j < pattern_.size; ++j)
      diagonal_(j) = entries[static_cast<std::size_t>(pattern_.begin[static_cast<std::size_t>(j)])];
    cholmod_sparse a = view_of(pattern_, const_cast<double*>(entries.data()));
    cholmod_factorize(&a, factor_, common_.get());
    common_.check();
    if (common_.get()->status == CHOLMOD_NOT_POSDEF || factor_->minor < factor_->n) return false;
    pivots_.resize(pattern_.size);
    for_supernodes([&](const Supernode& s) {
      for (Index k = 0; k < s.columns; ++k) {
        const double pivot = s.values[k + k * s.rows];
        pivots_(s.first + k) = pivot;
      }
    });
    return pivots_.allFinite() && (pivots_.array() > 0.0).all();
  }

  [[nodiscard]] double log_determinant() const { return 2.0 * pivots_.array().log().sum(); }

  [[nodiscard]] double smallest_pivot() const {
    const int* order = static_cast<const int*>(factor_->Perm);
    double smallest = std::numeric_limits<double>::infinity();
    for (Index k = 0; k < pattern_.size; ++k)
      smallest = std::min(smallest, pivots_(k) * pivots_(k) / diagonal_(order[k]));
    return smallest;
  }

  /// A block of columns through the steps of a solve in turn.
  void solve(Eigen::Ref<Matrix> b, std::initializer_list<int> systems) {
    const std::scoped_lock one_at_a_time(mutex_);
    prepare_blas();
    const NoForeignThreads alone;
    for (Index begin = 0; begin < b.cols(); begin += solve_block) {
      const Index columns = std::min(solve_block, b.cols() - begin);
      Matrix block = b.middleCols(begin, columns);
      cholmod_dense in{};
      in.nrow = static_cast<std::size_t>(block.rows());
      in.ncol = static_cast<std::size_t>(columns);
      in.nzmax = in.nrow * in.ncol;
      in.d = in.nrow;
      in.x = block.data();
      in.xtype = CHOLMOD_REAL;
      in.dtype = CHOLMOD_DOUBLE;
      for (const int system : systems) {
        cholmod_dense* out = cholmod_solve(system, factor_, &in, common_.get());
        common_.check();
        std::copy_n(static_cast<const double*>(out->x), block.size(), block.data());
        cholmod_free_dense(&out, common_.get());
      }
      b.middleCols(begin, columns) = block;
    }
  }

  std::vector<double> selected_inverse() {
    const std::scoped_lock one_at_a_time(mutex_);
    prepare_blas();
    if (places_.empty()) find_places();
    // Z in the layout of L, from the last supernode to the first. With rows R below the diagonal block of a supernode
    // and Y = L_R L_11^-1:  Z_R = -Z_RR Y,  Z_11 = (L_11 L_11')^-1 - Y'Z_R; all of Z_RR is known by then.
    const std::size_t size = factor_->xsize;
    std::vector<double> z(size);
    std::vector<int> local(static_cast<std::size_t>(pattern_.size));
    Matrix below;
    Matrix y;
    for (Index number = supernodes() - 1; number >= 0; --number) {
      const Supernode s = supernode(number);
      double* const own = z.data() + (s.values - values());
      const Index rest = s.rows - s.columns;
      Eigen::Map<Matrix> block(own, s.rows, s.columns);
      block = Eigen::Map<const Matrix>(s.values, s.rows, s.columns);
      const auto columns = static_cast<int>(s.columns);
      const auto stride = static_cast<int>(s.rows);
      if (rest > 0) {
        gather(s, z, local, below);
        y = block.bottomRows(rest);
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, static_cast<int>(rest), columns,
                    1.0, s.values, stride, y.data(), static_cast<int>(rest));
        cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, static_cast<int>(rest), columns, -1.0, below.data(),
                    static_cast<int>(rest), y.data(), static_cast<int>(rest), 0.0, own + s.columns, stride);
      }
      LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', columns, own, stride);
      if (rest > 0)
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, columns, columns, static_cast<int>(rest), -1.0, y.data(),
                    static_cast<int>(rest), own + s.columns, stride, 1.0, own, stride);
    }
    std::vector<double> out(pattern_.row.size());
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = z[places_[k]];
    return out;
  }

 private:
  struct Supernode {
    Index first, columns, rows;
    const int* indices;  ///< Of its rows, ascending; the first are its columns.
    const double* values;
  };

  [[nodiscard]] const double* values() const { return static_cast<const double*>(factor_->x); }
  [[nodiscard]] Index supernodes() const { return static_cast<Index>(factor_->nsuper); }
  [[nodiscard]] Supernode supernode(Index number) const {
    const int* super = static_cast<const int*>(factor_->super);
    const int* begin = static_cast<const int*>(factor_->pi);
    const int* place = static_cast<const int*>(factor_->px);
    return {super[number], super[number + 1] - super[number], begin[number + 1] - begin[number],
            static_cast<const int*>(factor_->s) + begin[number], values() + place[number]};
  }
  template <class Body>
  void for_supernodes(const Body& body) const {
    for (Index number = 0; number < supernodes(); ++number) body(supernode(number));
  }

  /// The supernode of every column.
  const std::vector<int>& owners() {
    if (owner_.empty()) {
      owner_.resize(static_cast<std::size_t>(pattern_.size));
      for (Index number = 0; number < supernodes(); ++number) {
        const Supernode s = supernode(number);
        std::fill_n(owner_.begin() + s.first, s.columns, static_cast<int>(number));
      }
    }
    return owner_;
  }

  /// Z for all pairs of the rows below a supernode, lower triangle.
  void gather(const Supernode& s, const std::vector<double>& z, std::vector<int>& local, Matrix& below) {
    const std::vector<int>& owner = owners();
    const Index rest = s.rows - s.columns;
    const int* rows = s.indices + s.columns;
    below.resize(rest, rest);
    for (Index b = 0; b < rest;) {
      const int number = owner[static_cast<std::size_t>(rows[b])];
      const Supernode t = supernode(number);
      for (Index k = 0; k < t.rows; ++k) local[static_cast<std::size_t>(t.indices[k])] = static_cast<int>(k);
      const double* const values_of_t = z.data() + (t.values - values());
      for (; b < rest && owner[static_cast<std::size_t>(rows[b])] == number; ++b) {
        const double* const column = values_of_t + (rows[b] - t.first) * t.rows;
        for (Index a = b; a < rest; ++a) below(a, b) = column[local[static_cast<std::size_t>(rows[a])]];
      }
    }
  }

  /// Where in L's layout the entries of A are.
  void find_places() {
    const std::vector<int>& owner = owners();
    const int* order = static_cast<const int*>(factor_->Perm);
    std::vector<int> rank(static_cast<std::size_t>(pattern_.size));
    for (Index k = 0; k < pattern_.size; ++k) rank[static_cast<std::size_t>(order[k])] = static_cast<int>(k);
    places_.resize(pattern_.row.size());
    for (Index j = 0; j < pattern_.size; ++j)
      for (int k = pattern_.begin[static_cast<std::size_t>(j)]; k < pattern_.begin[static_cast<std::size_t>(j) + 1];
           ++k) {
        const int i = pattern_.row[static_cast<std::size_t>(k)];
        const auto [column, row] = std::minmax(rank[static_cast<std::size_t>(i)], rank[static_cast<std::size_t>(j)]);
        const Supernode s = supernode(owner[static_cast<std::size_t>(column)]);
        const int* at = std::lower_bound(s.indices, s.indices + s.rows, row);
        places_[static_cast<std::size_t>(k)] =
            static_cast<std::size_t>((s.values - values()) + (column - s.first) * s.rows + (at - s.indices));
      }
  }

  std::mutex mutex_;  // CHOLMOD's workspace is one.
  SymmetricPattern pattern_;
  CholmodCommon common_;
  cholmod_factor* factor_ = nullptr;
  Vector diagonal_, pivots_;
  std::vector<std::size_t> places_;
  std::vector<int> owner_;
  SparseCost cost_;
};

SparseCholesky::SparseCholesky(SymmetricPattern pattern) : state_(std::make_unique<State>(std::move(pattern))) {}
SparseCholesky::SparseCholesky(std::unique_ptr<State> state) : state_(std::move(state)) {}
SparseCholesky::~SparseCholesky() = default;

std::shared_ptr<SparseCholesky> SparseCholesky::clone() const {
  return std::shared_ptr<SparseCholesky>(new SparseCholesky(std::make_unique<State>(*state_)));
}

const SymmetricPattern& SparseCholesky::pattern() const { return state_->pattern(); }
bool SparseCholesky::factorise(const std::vector<double>& entries) { return state_->factorise(entries); }
SparseCost SparseCholesky::cost() const { return state_->cost(); }
double SparseCholesky::log_determinant() const { return state_->log_determinant(); }
double SparseCholesky::smallest_pivot() const { return state_->smallest_pivot(); }
void SparseCholesky::solve(Matrix& b) const { state_->solve(b, {CHOLMOD_A}); }
void SparseCholesky::solve(Vector& b) const { state_->solve(Eigen::Map<Matrix>(b.data(), b.size(), 1), {CHOLMOD_A}); }
Matrix SparseCholesky::half_solve(const Matrix& b) const {
  Matrix out = b;
  state_->solve(out, {CHOLMOD_P, CHOLMOD_L});
  return out;
}
Matrix SparseCholesky::root_times(const Matrix& z) const {
  Matrix out = z;
  state_->solve(out, {CHOLMOD_Lt, CHOLMOD_Pt});
  return out;
}
std::vector<double> SparseCholesky::selected_inverse() const { return state_->selected_inverse(); }

}  // namespace gaussmith
