#include "kernels/composite.hpp"

#include <utility>

namespace gaussmith {

namespace {

class Product final : public Composite {
 public:
  explicit Product(std::vector<KernelHandle> terms) : Composite(product_family(), std::move(terms)) {}

  void block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const override {
    parts().front()->block(x, z, out, threads);
    Matrix more;
    for (std::size_t t = 1; t < parts().size(); ++t) {
      parts()[t]->block(x, z, more, threads);
      out.array() *= more.array();
    }
  }

  void gram(const Matrix& x, Matrix& out, int threads) const override {
    parts().front()->gram(x, out, threads);
    Matrix more;
    for (std::size_t t = 1; t < parts().size(); ++t) {
      parts()[t]->gram(x, more, threads);
      out.array() *= more.array();
    }
  }

  void diagonal(const Matrix& x, Vector& out) const override {
    parts().front()->diagonal(x, out);
    Vector more;
    for (std::size_t t = 1; t < parts().size(); ++t) {
      parts()[t]->diagonal(x, more);
      out.array() *= more.array();
    }
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int threads) const override {
    Matrix others, factor;
    return joined([&](std::size_t t) {
      set_others(t, weights, others, [&](const Kernel& term) -> const Matrix& {
        term.gram(x, factor, threads);
        return factor;
      });
      return parts()[t]->contract(x, others, threads);
    });
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const override {
    Matrix others, factor;
    return joined([&](std::size_t t) {
      set_other_blocks(t, x, z, weights, threads, others, factor);
      return parts()[t]->contract(x, z, others, threads);
    });
  }

  [[nodiscard]] Matrix input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights,
                                      int threads) const override {
    Matrix others, factor;
    Matrix out = Matrix::Zero(z.rows(), z.cols());
    for (std::size_t t = 0; t < parts().size(); ++t) {
      set_other_blocks(t, x, z, weights, threads, others, factor);
      out += parts()[t]->input_gradient(x, z, others, threads);
    }
    return out;
  }

 private:
  [[nodiscard]] KernelHandle rebuild(std::vector<KernelHandle> terms) const override {
    return product(std::move(terms));
  }

  void set_other_blocks(std::size_t t, const Matrix& x, const Matrix& z, const Matrix& weights, int threads,
                        Matrix& others, Matrix& factor) const {
    set_others(t, weights, others, [&](const Kernel& term) -> const Matrix& {
      term.block(x, z, factor, threads);
      return factor;
    });
  }

  // Term t sees the weights times all other factors. Those are formed again for each t (two factors: once each), so
  // that memory is two arrays of the size of the weights however many terms there are.
  template <class Values>
  void set_others(std::size_t t, const Matrix& weights, Matrix& others, const Values& values) const {
    others = weights;
    for (std::size_t s = 0; s < parts().size(); ++s)
      if (s != t) others.array() *= values(*parts()[s]).array();
  }
};

}  // namespace

KernelHandle product(std::vector<KernelHandle> terms) { return std::make_shared<Product>(std::move(terms)); }

const Family& product_family() {
  static const Family family{
      {"product", "k_0 k_1 ...", "product of the kernels in terms: one function modulated by others", {}}, nullptr};
  return family;
}

}  // namespace gaussmith
