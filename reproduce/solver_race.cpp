// Figure 1 of M. E. Khan, Decoupled variational Gaussian inference, NIPS 2014: the bound of kl against seconds for
// every solver on binary classification of USPS threes and fives; docs/reproduce/solver_race.md discusses the result.
//   reproduce_solver_race --data usps_3v5.csv.gz [--rows N] [--log-s S] [--expectation quadrature|pieces]
//     [--solver NAME] [--changes C] [--most SECONDS] [--curves FILE]
// Lines of the curves are appended, those of a run when it ends, so that runs may be made one at a time.
#include "command_line.hpp"
#include "digits.hpp"

#include "gaussmith/gaussmith.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace gs = gaussmith;

constexpr int rows_of_table = 1540;
constexpr const char* pieces = "quadratic:20";

struct Solver {
  const char* name;
  gs::KlSolver solver;
  gs::Decoupled decoupled = {};
};

/// `decoupled-printed`: as published, c = 1 and duals by L-BFGS in (alpha, log lambda).
const std::vector<Solver> solvers = {
    {"sites", gs::KlSolver::sites},
    {"decoupled", gs::KlSolver::decoupled},
    {"decoupled-printed", gs::KlSolver::decoupled, {.penalty = gs::DecoupledPenalty::printed}},
    {"alpha-lambda", gs::KlSolver::alpha_lambda},
    {"cholesky", gs::KlSolver::cholesky},
};

struct Settings {
  std::string data;
  std::string curves;     ///< Where points are appended; empty: nowhere.
  double changes = 1e-4;  ///< A run ends when the bound rises by less in a step.
  double most = 60.0;     ///< Processor seconds of a run.
};

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Point {
  double seconds, bound, gap;
  int iterations;
};

/// The points that one solver passes on one thread, and how it ended.
struct Course {
  std::vector<Point> points;
  std::string end;
};

Course follow(const gs::Model& model, const Solver& solver, const Settings& settings) {
  Course course;
  const gs::Kl options{
      .covariance = "full", .tolerance = 1e-9, .starts = 1, .solver = solver.solver, .decoupled = solver.decoupled};
  const double start = processor_seconds();
  bool cut = false;
  const auto watch = [&](const gs::Iteration& step) {
    const double seconds = processor_seconds() - start;
    const double rise = course.points.empty() ? HUGE_VAL : step.objective - course.points.back().bound;
    course.points.push_back({seconds, step.objective, step.duality_gap.value_or(NAN), step.number});
    cut = seconds > settings.most;
    return cut || std::abs(rise) < settings.changes ? gs::Next::accept : gs::Next::proceed;
  };
  const gs::Posterior q = gs::infer(model, options, {.threads = 1, .progress = watch});
  // On the way gaps would cost more than steps; the end has one.
  course.points.back().gap = q.report().duality_gap.value_or(NAN);
  course.end = cut ? "cut off" : q.report().status == gs::Status::stopped ? "changes" : q.report().message;
  return course;
}

void race(const Settings& settings, const std::vector<std::string>& rows, const std::vector<std::string>& log_s,
          const std::vector<std::string>& expectations, const std::vector<std::string>& names) {
  const gs::Table table = gs::read_table(settings.data);
  if (table.rows() != rows_of_table) throw std::invalid_argument("--data: 1540 rows are expected");
  std::ofstream curves;
  if (!settings.curves.empty()) curves.open(settings.curves, std::ios::app);
  curves.precision(10);
  if (curves.is_open() && curves.tellp() == std::streampos(0))
    curves << "rows,log_s,expectations,solver,seconds,evaluations,negative_bound,gap\n";
  std::printf("| N | log s | expectations | solver | seconds | evaluations | bound | below the best | gap | end |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::string& s : log_s)
    for (const std::string& n : rows)
      for (const std::string& expectation : expectations) {
        gs::SiteArguments arguments;
        if (expectation == "pieces") arguments["bound"] = gs::one(gs::PiecewiseBound::parse(pieces).code());
        const gs::Model model = reproduce::digits(table, std::stol(n), std::stod(s), arguments);
        const double best = gs::infer(model, gs::Kl{.covariance = "full", .starts = 1}).log_evidence().value;
        for (const std::string& name : names) {
          const auto solver =
              std::find_if(solvers.begin(), solvers.end(), [&](const Solver& x) { return x.name == name; });
          const Course course = follow(model, *solver, settings);
          const Point& end = course.points.back();
          for (const Point& p : course.points)
            curves << n << ',' << s << ',' << expectation << ',' << name << ',' << p.seconds << ',' << p.iterations
                   << ',' << -p.bound << ',' << p.gap << '\n';
          curves.flush();
          std::printf("| %s | %s | %s | %s | %.2f | %d | %.6f | %.1e | %.1e | %s |\n", n.c_str(), s.c_str(),
                      expectation.c_str(), name.c_str(), end.seconds, end.iterations, end.bound, best - end.bound,
                      end.gap, course.end.c_str());
          std::fflush(stdout);
        }
      }
}

}  // namespace

int main(int argc, char** argv) {
  return reproduce::guarded("solver_race", [&] {
    const reproduce::CommandLine line(argc, argv,
                                      {"data", "rows", "log-s", "expectation", "solver", "changes", "most", "curves"});
    Settings settings{.data = line.text("data", ""), .curves = line.text("curves", "")};
    if (settings.data.empty()) throw std::invalid_argument("--data wants the table of USPS threes and fives");
    settings.changes = std::stod(line.text("changes", "1e-4"));
    settings.most = std::stod(line.text("most", "60"));
    std::vector<std::string> names;
    for (const Solver& solver : solvers) names.emplace_back(solver.name);
    race(settings, line.chosen("rows", {"200", "500", "1000", "1500"}), line.chosen("log-s", {"4", "-1"}),
         line.chosen("expectation", {"quadrature", "pieces"}), line.chosen("solver", names));
  });
}
