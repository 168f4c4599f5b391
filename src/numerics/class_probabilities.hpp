#pragma once
#include "gaussmith/sites.hpp"
namespace gaussmith {
enum class ClassLink { logit, probit };
inline void find_class_probabilities(ClassLink, Index, ConstSpan, ConstSpan, ProbabilityRule, double, std::uint64_t, int, Span, Span) {}
}
