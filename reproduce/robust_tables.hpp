#pragma once
// Means over partitions, how they are printed, and the published ones.

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

struct Figure {
  double mean = NAN;
  double standard_error = NAN;
};

[[nodiscard]] Figure average(const std::vector<double>& values);

template <class Outcome, class Field>
Figure average(const std::vector<Outcome>& outcomes, Field field) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) values.push_back(field(outcome));
  return average(values);
}

/// "mean ± standard error", or a dash.
[[nodiscard]] std::string print(const Figure& figure, int digits);

/// One column of Table 1 of Challis and Barber (2013) for one data set: test log density (TLP), squared error (MSE) and
/// log evidence (LML). Dashes where there is none.
struct Published {
  Figure log_density, squared_error, log_evidence;
};

/// `noise` is gaussian, student-t or laplace, `method` exact, kl, laplace or ep.
[[nodiscard]] Published published(std::string_view data, std::string_view noise, std::string_view method);

}  // namespace reproduce
