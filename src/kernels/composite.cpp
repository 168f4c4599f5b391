#include "kernels/composite.hpp"

#include "gaussmith/errors.hpp"
#include "kernels/arguments.hpp"

#include <fmt/format.h>

#include <utility>

namespace gaussmith {

Composite::Composite(const Family& family, std::vector<KernelHandle> terms)
    : family_(&family), terms_(std::move(terms)) {
  if (terms_.empty()) throw InvalidModel(fmt::format("kernel {} needs at least one term", family.info.name));
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (!terms_[t]) throw InvalidModel(fmt::format("kernel.terms[{}] is empty; give a kernel", t));
    parameter_count_ += static_cast<Index>(terms_[t]->parameters().size());
  }
}

void Composite::check_dimension(Index input_dimension) const {
  for (const auto& term : terms_) term->check_dimension(input_dimension);
}

std::vector<KernelParameter> Composite::parameters() const {
  std::vector<KernelParameter> all;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    for (const auto& parameter : terms_[t]->parameters()) {
      all.push_back({fmt::format("terms[{}].{}", t, parameter.name), parameter.value});
    }
  }
  return all;
}

KernelHandle Composite::with_parameters(ConstSpan values) const {
  check_parameters(name(), parameters(), values);
  std::vector<KernelHandle> changed;
  std::size_t next = 0;
  for (const auto& term : terms_) {
    const std::size_t count = term->parameters().size();
    changed.push_back(term->with_parameters(values.subspan(next, count)));
    next += count;
  }
  return rebuild(std::move(changed));
}

std::string_view Composite::without_input_gradient() const {
  for (const auto& term : terms_)
    if (const std::string_view rough = term->without_input_gradient(); !rough.empty()) return rough;
  return {};
}

Vector Composite::joined(const std::function<Vector(std::size_t)>& gradient) const {
  Vector all(parameter_count_);
  Index next = 0;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Vector part = gradient(t);
    all.segment(next, part.size()) = part;
    next += part.size();
  }
  return all;
}

}  // namespace gaussmith
