// What a fit takes beyond the numbers it is given: the peak of its memory beside the bytes of a large sparse design.
//   gaussmith_sparse_memory [gigabytes]
// Each method runs in a process of its own, because a peak cannot be taken back.

#include "gaussmith/gaussmith.hpp"
#include "peak_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace gs = gaussmith;

namespace {

constexpr int columns = 400;
constexpr int entries_a_row = 40;

gs::SparseMatrix sparse_rows(gs::Index rows) {
  gs::SparseMatrix h(rows, columns);
  h.reserve(Eigen::VectorXi::Constant(static_cast<int>(rows), entries_a_row));
  gs::Random random(1);
  for (gs::Index n = 0; n < rows; ++n)
    for (int k = 0; k < entries_a_row; ++k) h.insert(n, k * (columns / entries_a_row) + n % 7) = random.normal();
  h.makeCompressed();
  return h;
}

void measure(const char* name, const gs::Method& method, double gigabytes) {
  const auto rows = static_cast<gs::Index>(gigabytes * 1e9 / (12.0 * entries_a_row));
  gs::Random random(2);
  gs::Vector y(rows);
  for (double& value : y) value = random.uniform() < 0.5 ? -1.0 : 1.0;
  const gs::Model model{.prior = gs::Isotropic{gs::Vector::Zero(columns), 1.0},
                        .design = sparse_rows(rows),
                        .offset = {},
                        .sites = {gs::observe("bernoulli-logit", y)}};
  std::optional<gs::Posterior> q;
  const double own = gs::bench::own_peak([&] { q = gs::infer(model, method); });
  std::printf("%-24s design %.3f GB, N = %ld; the fit's own peak %.3f GB: %.2f copies, %.1f s, %s\n", name,
              model.design.bytes() / 1e9, static_cast<long>(rows), own / 1e9, own / model.design.bytes(),
              q->report().seconds, q->report().converged() ? "converged" : "not converged");
}

}  // namespace

int main(int count, char** arguments) {
  const double gigabytes = count > 1 ? std::atof(arguments[1]) : 0.6;
  const std::pair<const char*, gs::Method> methods[] = {{"laplace", gs::Laplace{}},
                                                        {"ep", gs::Ep{}},
                                                        {"kl full", gs::Kl{.covariance = "full"}},
                                                        {"kl diagonal", gs::Kl{.covariance = "diagonal"}},
                                                        {"kl chevron:10", gs::Kl{.covariance = "chevron:10"}}};
  for (const auto& [name, method] : methods)
    gs::bench::in_a_child([&, label = name, &own = method] { measure(label, own, gigabytes); });
}
