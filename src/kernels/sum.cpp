#include "kernels/composite.hpp"

#include <utility>

namespace gaussmith {

namespace {

class Sum final : public Composite {
 public:
  explicit Sum(std::vector<KernelHandle> terms) : Composite(sum_family(), std::move(terms)) {}

  void block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const override {
    parts().front()->block(x, z, out, threads);
    Matrix more;
    for (std::size_t t = 1; t < parts().size(); ++t) {
      parts()[t]->block(x, z, more, threads);
      out += more;
    }
  }

  void gram(const Matrix& x, Matrix& out, int threads) const override {
    parts().front()->gram(x, out, threads);
    Matrix more;
    for (std::size_t t = 1; t < parts().size(); ++t) {
      parts()[t]->gram(x, more, threads);
      out += more;
    }
  }

  void diagonal(const Matrix& x, Vector& out) const override {
    parts().front()->diagonal(x, out);
    Vector more;
    for (std::size_t t = 1; t < parts().size(); ++t) {
      parts()[t]->diagonal(x, more);
      out += more;
    }
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int threads) const override {
    return joined([&](std::size_t t) { return parts()[t]->contract(x, weights, threads); });
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights, int threads) const override {
    return joined([&](std::size_t t) { return parts()[t]->contract(x, z, weights, threads); });
  }

  [[nodiscard]] Matrix input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights,
                                      int threads) const override {
    Matrix out = parts().front()->input_gradient(x, z, weights, threads);
    for (std::size_t t = 1; t < parts().size(); ++t) out += parts()[t]->input_gradient(x, z, weights, threads);
    return out;
  }

 private:
  [[nodiscard]] KernelHandle rebuild(std::vector<KernelHandle> terms) const override { return sum(std::move(terms)); }
};

}  // namespace

KernelHandle sum(std::vector<KernelHandle> terms) { return std::make_shared<Sum>(std::move(terms)); }

const Family& sum_family() {
  static const Family family{{"sum", "k_0 + k_1 + ...", "sum of the kernels in terms: independent functions added", {}},
                             nullptr};
  return family;
}

}  // namespace gaussmith
