#pragma once
// Conjugates of all sites of a model as one column of rows.

#include "model/site_rows.hpp"
#include "sites/conjugate.hpp"

namespace gaussmith {

/// f*(slope, growth) of some rows, f(m, s) = -w E_{N(m, s^2)}[log t], with the mean and the deviation where it is
/// attained. Other rows keep what `out` has.
struct Conjugates {
  Vector value, mean, deviation;
};

/// `rows` says which by entries other than 0. `out` has the means and deviations to start from; `leftover` is a part of
/// every row's variance that the deviation does not have (empty: none).
void find_conjugates(const SiteRows& sites, const std::vector<char>& rows, const Vector& slope, const Vector& growth,
                     const Vector& leftover, Conjugates& out);

/// The same for all rows with terms added to f (their weights and leftovers are filled in), always by Newton's method.
void find_conjugates(const SiteRows& sites, const Vector& slope, const Vector& growth, const Vector& leftover,
                     std::vector<ConjugateTerms>& terms, Conjugates& out);

/// The largest growth at which a row's f* is finite, negative where no growth is.
[[nodiscard]] Vector conjugate_limits(const SiteRows& sites, const Vector& slope);

}  // namespace gaussmith
