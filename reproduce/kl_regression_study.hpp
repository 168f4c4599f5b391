#pragma once
// The columns of Table 1 of Challis and Barber (2013) on all partitions of a data set.

#include "robust_data.hpp"
#include "robust_options.hpp"
#include "robust_protocol.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace reproduce {

/// A column of the table.
struct Column {
  std::string noise_name;
  std::string method_name;
  Noise noise;
  gs::Method method;
};

[[nodiscard]] const std::vector<Column>& columns();

/// One column on one partition.
struct Outcome {
  double log_evidence = NAN;
  double without_constants = NAN;  ///< The same without the normalising constants of the likelihood.
  double ep_evidence = NAN;        ///< What EP gives at the same parameters.
  double scale = NAN;
  double white_sd = NAN;
  double response_sd = 1.0;
  Score responses;  ///< Of the test responses.
  Score function;   ///< With the function without noise in their place; NaN if it is not known.
};

/// All columns on all partitions of one data set.
struct Study {
  std::string name;
  std::vector<std::vector<Outcome>> outcomes;               ///< By column, then by partition.
  std::vector<std::vector<std::vector<Outcome>>> by_scale;  ///< By column, then by scale, then by partition.
  std::vector<std::vector<Conduct>> conducts;
  std::vector<Outcome> gaussian_by_evidence;
};

/// Threads share out the partitions; the figures do not depend on their number.
[[nodiscard]] Study run_study(const std::string& name, const Options& options);

}  // namespace reproduce
