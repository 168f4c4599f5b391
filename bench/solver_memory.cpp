// The peak of memory of kl's solvers beside that of the site form.
//   GAUSSMITH_DIGITS=usps_3v5.csv.gz gaussmith_solver_memory [rows]

#include "digits.hpp"
#include "peak_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace gs = gaussmith;

int main(int count, char** arguments) {
  if (gs::bench::digits_path() == nullptr) {
    std::fprintf(stderr, "solver_memory: GAUSSMITH_DIGITS names no table\n");
    return 1;
  }
  const gs::Model model = gs::bench::digits(count > 1 ? std::atol(arguments[1]) : 1500, 4.0);
  const std::pair<const char*, gs::KlSolver> solvers[] = {{"sites", gs::KlSolver::sites},
                                                          {"decoupled", gs::KlSolver::decoupled},
                                                          {"alpha-lambda", gs::KlSolver::alpha_lambda}};
  for (const auto& each : solvers)
    gs::bench::in_a_child([&] {
      const gs::Kl options{.covariance = "full", .starts = 1, .solver = each.second, .stop = gs::KlStop::gap};
      bool converged = false;
      const double bytes = gs::bench::own_peak([&] { converged = gs::infer(model, options).report().converged(); });
      std::printf("%-14s N = %ld: %.1f MB, %s\n", each.first, static_cast<long>(model.rows()), bytes / 1e6,
                  converged ? "converged" : "not converged");
    });
}
