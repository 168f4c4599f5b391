#include "gaussmith/errors.hpp"
#include "kernels/arguments.hpp"

#include <fmt/format.h>

#include <string>

namespace gaussmith {

namespace {

std::vector<const Family*> families() {
  return {&squared_exponential_family(),
          &matern12_family(),
          &matern32_family(),
          &matern52_family(),
          &rational_quadratic_family(),
          &periodic_family(),
          &linear_family(),
          &constant_family(),
          &white_family(),
          &neural_network_family(),
          &sum_family(),
          &product_family()};
}

}  // namespace

const std::vector<KernelInfo>& kernel_catalogue() {
  static const std::vector<KernelInfo> catalogue = [] {
    std::vector<KernelInfo> all;
    for (const Family* family : families()) all.push_back(family->info);
    return all;
  }();
  return catalogue;
}

KernelHandle make_kernel(std::string_view name, const KernelArguments& arguments) {
  std::vector<std::string_view> known;
  for (const Family* family : families()) {
    if (family->info.name != name) {
      known.push_back(family->info.name);
      continue;
    }
    if (family->make == nullptr) {
      throw InvalidModel(fmt::format("kernel {} is made of terms, each a kernel, and takes no arguments", name));
    }
    return family->make(*family, resolve_arguments(family->info, arguments));
  }
  throw InvalidModel(fmt::format("unknown kernel \"{}\"; known are {}", name, comma_separated(known)));
}

}  // namespace gaussmith
