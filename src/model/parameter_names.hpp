#pragma once

#include "gaussmith/model.hpp"

#include <string>
#include <string_view>
#include <unordered_set>

namespace gaussmith {

/// The names of a model's parameters, asked for once: a kernel may have one for each of thousands of features.
class ParameterNames {
 public:
  explicit ParameterNames(const Model& model);

  /// As Model::resolve_parameter.
  [[nodiscard]] std::string resolve(std::string_view name) const;

 private:
  bool one_block_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

}  // namespace gaussmith
