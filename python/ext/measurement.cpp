#include "gaussmith/measurement.hpp"

#include "arrays.hpp"
#include "gaussmith/files.hpp"
#include "gaussmith/pictures.hpp"
#include "measurement.hpp"
#include "methods.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

namespace gaussmith::python {

namespace {

/// A session of one caller at a time: its work is done without the interpreter's lock.
class SessionHolder {
 public:
  SessionHolder(Model model, Method method, DesignOptions options, Run run, const std::string& state)
      : identity_(measurement_identity(model, method, options, run.seed)),
        session_(std::move(model), std::move(method), std::move(options), run,
                 state.empty() ? MeasurementState{} : load_measurement_state(state, identity_)) {}

  template <class Work>
  auto with(const Work& work) {
    return unlocked([&] {
      const std::lock_guard<std::mutex> one_at_a_time(mutex_);
      return work(session_);
    });
  }

  void save(const std::string& path) {
    with([&](DesignSession& session) {
      save_measurement_state(path, session.state(), identity_);
      return 0;
    });
  }

 private:
  MeasurementIdentity identity_;
  DesignSession session_;
  std::mutex mutex_;
};

DesignOptions to_design_options(double noise_variance, const std::string& rule, nb::handle candidates,
                                std::vector<std::vector<Index>> groups, bool repeats, Index refit) {
  DesignOptions out{noise_variance, design_rule(rule), {}, refit};
  if (!candidates.is_none())
    out.candidates = CandidateRows{to_design(candidates, "candidates"), std::move(groups), repeats};
  return out;
}

nb::dict proposal_fields(const MeasurementProposal& proposal) {
  nb::dict out;
  out["rows"] = to_array(proposal.rows);
  out["chosen"] = proposal.chosen;
  out["gain"] = proposal.gain;
  return out;
}

nb::dict belief_fields(const DesignBelief& belief) {
  nb::dict out;
  out["mean"] = to_array(belief.mean);
  out["variance"] = to_array(belief.variance);
  out["log_evidence"] = belief.log_evidence.value;
  out["converged"] = belief.converged;
  return out;
}

}  // namespace

void bind_measurement(nb::module_& m) {
  nb::class_<SessionHolder>(m, "DesignSession")
      .def(
          "__init__",
          [](SessionHolder* self, const Model& model, const MethodHolder& method, double noise_variance,
             const std::string& rule, nb::handle candidates, std::vector<std::vector<Index>> groups, bool repeats,
             Index refit, int threads, std::uint64_t seed, const std::string& state) {
            Run run;
            run.threads = threads;
            run.seed = seed;
            new (self) SessionHolder(
                model, method.method,
                to_design_options(noise_variance, rule, candidates, std::move(groups), repeats, refit), run, state);
          },
          "model"_a, "method"_a, "noise_variance"_a, "rule"_a, "candidates"_a.none(), "groups"_a, "repeats"_a,
          "refit"_a, "threads"_a, "seed"_a, "state"_a)
      .def(
          "propose",
          [](SessionHolder& self, Index count, bool at_random) {
            return proposal_fields(self.with([&](DesignSession& session) {
              return at_random ? session.propose_at_random(count) : session.propose(count);
            }));
          },
          "count"_a, "at_random"_a)
      .def(
          "observe",
          [](SessionHolder& self, nb::handle values, nb::handle rows) {
            const Vector y = to_vector(values, "values");
            const std::optional<Matrix> x =
                rows.is_none() ? std::nullopt : std::optional<Matrix>(to_matrix(rows, "rows"));
            self.with([&](DesignSession& session) {
              if (x)
                session.observe(*x, y);
              else
                session.observe(y);
              return 0;
            });
          },
          "values"_a, "rows"_a.none())
      .def("belief",
           [](SessionHolder& self) {
             return belief_fields(self.with([](DesignSession& session) { return session.belief(); }));
           })
      .def(
          "gain",
          [](SessionHolder& self, nb::handle rows) {
            const Matrix x = to_matrix(rows, "rows");
            return self.with([&](DesignSession& session) { return session.gain(x); });
          },
          "rows"_a)
      .def(
          "covariance_times",
          [](SessionHolder& self, nb::handle x) {
            const Matrix block = to_matrix(x, "x");
            return to_array(self.with([&](DesignSession& session) { return session.covariance_times(block); }));
          },
          "x"_a)
      .def("posterior",
           [](SessionHolder& self) { return self.with([](DesignSession& session) { return session.posterior(); }); })
      .def("state",
           [](SessionHolder& self) {
             const MeasurementState state = self.with([](DesignSession& session) { return session.state(); });
             nb::dict out;
             out["rows"] = to_array(Matrix(state.rows.transpose()));
             out["values"] = to_array(state.values);
             out["taken"] = state.taken;
             out["fitted"] = state.fitted;
             out["iterations"] = state.iterations;
             out["unconverged"] = state.unconverged;
             return out;
           })
      .def("save", &SessionHolder::save, "path"_a);
  m.def(
      "random_rows",
      [](Index count, Index dimension, std::uint64_t seed, Index measurements) {
        return to_array(random_rows(count, dimension, seed, measurements));
      },
      "count"_a, "dimension"_a, "seed"_a, "measurements"_a);
  m.def(
      "read_pgm", [](const std::string& path) { return to_array(read_pgm(path)); }, "path"_a);
  m.def(
      "write_png",
      [](const std::string& path, nb::handle grey) { write_file(path, format_png(to_matrix(grey, "grey"))); }, "path"_a,
      "grey"_a);
}

}  // namespace gaussmith::python
