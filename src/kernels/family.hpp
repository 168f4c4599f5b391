#pragma once
// A catalogued kernel: what users read about it, and how values of its arguments become a kernel.

#include "gaussmith/kernels.hpp"

#include <vector>

namespace gaussmith {

/// Values of a kernel's arguments in the order of KernelInfo::arguments; each has size 1 or d.
using ArgumentValues = std::vector<std::vector<double>>;

/// One entry of the catalogue; lives as long as the program.
struct Family {
  KernelInfo info;
  /// Null for sum and product, which are made of terms.
  KernelHandle (*make)(const Family& family, ArgumentValues values);
};

const Family& squared_exponential_family();
const Family& matern12_family();
const Family& matern32_family();
const Family& matern52_family();
const Family& rational_quadratic_family();
const Family& periodic_family();
const Family& linear_family();
const Family& constant_family();
const Family& white_family();
const Family& neural_network_family();
const Family& sum_family();
const Family& product_family();

}  // namespace gaussmith
