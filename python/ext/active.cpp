// Active learning from a pool of rows.

#include "gaussmith/active.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "methods.hpp"
#include "running.hpp"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

ActivePrior to_active_prior(const std::string& name, double size) {
  if (name == "gaussian") return GaussianWeights{size};
  if (name == "laplace") return LaplaceWeights{size};
  throw InvalidOption(fmt::format("prior: expected gaussian or laplace, found \"{}\"", name));
}

ActiveOptions to_active_options(const nb::dict& given) {
  ActiveOptions options;
  options.score = active_score(nb::cast<std::string>(given["score"]));
  options.initial = to_whole(given["initial"], "initial");
  options.block = to_whole(given["block"], "block");
  options.labels = to_whole(given["count"], "count");
  options.every = to_whole(given["every"], "every");
  options.lanczos = to_count(given["lanczos"], "lanczos", 0);
  options.prior = to_active_prior(nb::cast<std::string>(given["prior"]), to_number(given["prior_size"], "prior"));
  if (!given["method"].is_none()) options.method = nb::cast<const MethodHolder&>(given["method"]).method;
  return options;
}

/// Labels of all rows, or a function that is asked for those of the rows chosen.
std::function<double(Index)> to_labels(nb::handle labels, Index rows) {
  if (PyCallable_Check(labels.ptr()) != 0)
    return [f = Callable(nb::borrow(labels))](Index row) {
      const Locked lock;
      return to_number(f.get()(row), "labels");
    };
  Vector known = to_vector(labels, "labels");
  if (known.size() != rows)
    throw InvalidModel(fmt::format("labels: expected {} of them, one a row, found {}", rows, known.size()));
  return [known = std::move(known)](Index row) { return known(row); };
}

nb::dict state_fields(const ActiveState& state) {
  nb::dict out;
  out["selected"] = state.selected;
  out["labels"] = state.labels;
  nb::list curve;
  for (const ActivePoint& point : state.curve)
    curve.append(nb::make_tuple(point.labels, point.test_error, point.test_log_loss, point.seconds));
  out["curve"] = curve;
  out["unconverged"] = state.unconverged;
  return out;
}

}  // namespace

void bind_active(nb::module_& m) {
  nb::class_<ActiveState>(m, "ActiveState").def("fields", &state_fields);
  m.def(
      "learn_actively",
      [](nb::handle rows, nb::handle labels, nb::handle test_rows, nb::handle test_labels, const nb::dict& given,
         int threads, std::uint64_t seed, nb::object progress, const ActiveState* start) {
        ActivePool pool;
        pool.rows = to_design(rows, "rows");
        pool.label = to_labels(labels, pool.rows.rows());
        ActiveTest test;
        if (!test_rows.is_none())
          test = {.rows = to_design(test_rows, "test rows"), .labels = to_vector(test_labels, "test labels")};
        const Running running = to_running(threads, seed, "auto", true, std::move(progress));
        ActiveState state;
        if (start != nullptr) state = *start;
        return run_for<ActiveState>(
            [pool, test, options = to_active_options(given), state](const Run& asked) {
              // One step is a fit with its labels, not an iteration within it.
              Run quiet = asked;
              quiet.progress = {};
              const ActiveProgress told = [&asked](const ActiveState& now) {
                if (!asked.progress) return Next::proceed;
                const ActivePoint last = now.curve.empty() ? ActivePoint{} : now.curve.back();
                return asked.progress({.number = static_cast<int>(now.selected.size()),
                                       .objective = -last.test_log_loss,
                                       .residual = last.test_error,
                                       .step = "labels"});
              };
              return learn_actively(pool, test, options, quiet, state, told);
            },
            running);
      },
      "rows"_a, "labels"_a, "test_rows"_a.none(), "test_labels"_a.none(), "options"_a, "threads"_a, "seed"_a,
      "progress"_a.none(), "start"_a.none());
}

}  // namespace gaussmith::python
