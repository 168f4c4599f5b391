#pragma once

#include "gaussmith/model.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace gaussmith {

/// The names of a model's parameters, asked for once: a kernel may have one for each of thousands of features.
class ParameterNames {
 public:
  explicit ParameterNames(const Model& model);

  /// The full name of a parameter by its full or short name; none where there is no such parameter.
  [[nodiscard]] std::optional<std::string> find(std::string_view name) const;
  /// As Model::resolve_parameter.
  [[nodiscard]] std::string resolve(std::string_view name) const;

 private:
  bool one_block_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

}  // namespace gaussmith
