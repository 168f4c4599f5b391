#pragma once
// The process of section 6 of M. E. Khan, Decoupled variational Gaussian inference, NIPS 2014: threes against fives of
// USPS.

#include "gaussmith/infer.hpp"
#include "gaussmith/tables.hpp"

#include <cmath>
#include <utility>

namespace reproduce {

constexpr double log_signal_sd = 4.0;

/// Every floor(k M / N)th of the table's M rows, 256 pixels and the label, under the kernel
/// sigma^2 exp(-|x - x'|^2 / (2 s)). `arguments` are those of bernoulli-logit.
inline gaussmith::Model digits(const gaussmith::Table& table, gaussmith::Index rows, double log_s,
                               const gaussmith::SiteArguments& arguments = {}) {
  const auto columns = static_cast<gaussmith::Index>(table.columns.size()) - 1;
  gaussmith::Matrix x(rows, columns);
  gaussmith::Vector y(rows);
  for (gaussmith::Index k = 0; k < rows; ++k) {
    const gaussmith::Index from = k * table.rows() / rows;
    for (gaussmith::Index j = 0; j < columns; ++j) x(k, j) = table.columns[static_cast<std::size_t>(j)].numbers(from);
    y(k) = table.columns.back().numbers(from);
  }
  return {.prior = gaussmith::GaussianProcess{.inputs = std::move(x),
                                              .kernel = gaussmith::make_kernel(
                                                  "se", {{"signal_sd", {std::exp(log_signal_sd)}},
                                                         {"lengthscale", {std::exp(0.5 * log_s)}}})},
          .sites = {gaussmith::observe("bernoulli-logit", y, arguments)}};
}

}  // namespace reproduce
