#include "gaussmith/files.hpp"

#include "arrays.hpp"
#include "bind.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/inducing.hpp"
#include "gaussmith/table_model.hpp"
#include "prediction.hpp"
#include "running.hpp"

#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

namespace gaussmith::python {

namespace {

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

std::string_view to_text(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

}  // namespace

void bind_files(nb::module_& m) {
  nb::class_<Problem>(m, "Problem")
      .def_prop_ro(
          "model",
          [](const Problem& problem) {
            if (problem.network) return nb::cast(*problem.network);
            if (!problem.selection) return nb::cast(problem.model);
            return nb::cast(unlocked([&] { return choose_inducing(problem.model, *problem.selection).model; }));
          },
          nb::sig("def model(self) -> typing.Any"))
      .def_prop_ro("predicts", [](const Problem& problem) { return problem.prediction.has_value(); })
      .def("predict",
           [](const Problem& problem, const Posterior& posterior) {
             if (!problem.prediction) throw InvalidModel("the problem has nothing to predict");
             return unlocked([&] { return posterior.predict(problem.prediction->points); });
           })
      .def("predict", [](const Problem& problem, const NetworkPosterior& posterior) {
        if (!problem.prediction) throw InvalidModel("the problem has nothing to predict");
        return unlocked([&] { return posterior.predict(problem.prediction->points); });
      });
  m.def("read_problem", [](const std::filesystem::path& path) { return unlocked([&] { return read_problem(path); }); });
  m.def("parse_problem", [](const std::string& text, const std::string& name) {
    return unlocked([&] { return parse_problem(text, name); });
  });

  nb::class_<SavedModel>(m, "SavedModel")
      .def_static("of", [](const Posterior& p,
                           const TableCoding& coding) { return unlocked([&] { return saved_model(p, coding); }); })
      .def_static("of", [](const Learned& l,
                           const TableCoding& coding) { return unlocked([&] { return saved_model(l, coding); }); })
      .def_static("of", [](const Learned& l, const Integrated& i,
                           const TableCoding& coding) { return unlocked([&] { return saved_model(l, i, coding); }); })
      .def_static("of", [](const NetworkPosterior& p,
                           const TableCoding& coding) { return unlocked([&] { return saved_model(p, coding); }); })
      .def_static("parse",
                  [](const nb::bytes& bytes, const std::string& name) {
                    return unlocked([&] { return parse_saved_model(to_text(bytes), name); });
                  })
      .def_static("load", [](const std::filesystem::path& path) { return unlocked([&] { return load_model(path); }); })
      .def("format",
           [](const SavedModel& saved) { return to_bytes(unlocked([&] { return format_saved_model(saved); })); })
      .def("save",
           [](const SavedModel& saved, const std::filesystem::path& path) {
             unlocked([&] {
               save_model(path, saved);
               return 0;
             });
           })
      .def_prop_ro("coding", [](const SavedModel& saved) { return saved.coding; })
      .def_ro("method", &SavedModel::method)
      .def_ro("converged", &SavedModel::converged)
      .def_ro("library_version", &SavedModel::library_version)
      .def_prop_ro("log_evidence", [](const SavedModel& saved) { return saved.log_evidence.value; })
      .def_prop_ro("evidence_kind",
                   [](const SavedModel& saved) { return std::string(to_string(saved.log_evidence.kind)); })
      .def_prop_ro("integrated", [](const SavedModel& saved) { return !saved.integration.empty(); })
      .def_prop_ro("likelihood",
                   [](const SavedModel& saved) {
                     return saved.network ? saved.network->likelihood : saved.fitted.sites.front();
                   })
      .def(
          "predict",
          [](const SavedModel& saved, nb::handle inputs, nb::handle design, nb::handle offset, nb::handle variance,
             int block, nb::handle arguments, int threads) {
            PredictionPoints points = to_points(inputs, design, offset, variance, block, arguments);
            return heard(nb::find(saved), [&saved, points = std::move(points), threads](const Run&) {
              if (saved.network) return NetworkPredictor(*saved.network).predict(points, threads);
              return saved.integration.empty() ? Predictor(saved.fitted, threads).predict(points, threads)
                                               : predict_mixture(saved.integration, points, threads);
            });
          },
          "inputs"_a.none(), "design"_a.none(), "offset"_a.none(), "variance"_a.none(), "block"_a, "arguments"_a,
          "threads"_a);

  m.def(
      "network_result_json",
      [](const NetworkPosterior& posterior, const Problem* problem, bool leave_one_out, std::optional<double> seconds) {
        ResultContent content;
        content.prediction = problem != nullptr && problem->prediction ? &*problem->prediction : nullptr;
        content.leave_one_out = leave_one_out;
        content.seconds = seconds;
        return unlocked([&] {
          content.coefficients = coefficients(posterior);
          return result_json(posterior, content);
        });
      },
      "posterior"_a, "problem"_a.none(), "leave_one_out"_a, "seconds"_a.none());
  m.def(
      "result_json",
      [](const Posterior& posterior, const Problem* problem, const Learned* learned, const Integrated* integrated,
         bool leave_one_out, bool covariances, std::optional<double> seconds, const std::string& rule, double tolerance,
         std::uint64_t seed, int threads) {
        ResultContent content;
        content.prediction = problem != nullptr && problem->prediction ? &*problem->prediction : nullptr;
        content.learning = learned != nullptr ? &learned->report : nullptr;
        content.integration = integrated;
        content.leave_one_out = leave_one_out;
        content.covariances = covariances;
        content.seconds = seconds;
        content.probability = to_goal(rule, tolerance, seed, threads);
        return unlocked([&] {
          std::optional<ChosenInducing> chosen;
          if (problem != nullptr && problem->selection) {
            // As when the model of the problem was made: the same choice.
            chosen = choose_inducing(problem->model, *problem->selection);
            content.inducing = &*chosen;
            content.notes = {chosen->how};
          }
          return result_json(posterior, content);
        });
      },
      "posterior"_a, "problem"_a.none(), "learned"_a.none(), "integrated"_a.none(), "leave_one_out"_a, "covariances"_a,
      "seconds"_a.none(), "rule"_a, "tolerance"_a, "seed"_a, "threads"_a);
}

}  // namespace gaussmith::python
