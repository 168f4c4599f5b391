#include "robust_data.hpp"

#include "partitions.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

namespace reproduce {
namespace {

/// Rows to train and to validate; of a table all others are for testing.
struct Sizes {
  gs::Index train, validation;
};

constexpr Sizes hundred{100, 100};
constexpr Sizes concrete_sizes{50, 25};
constexpr gs::Index synthetic_test_rows = 100;

/// x ~ N(0, 1), f = 0.3 + 0.4 x + 0.5 sin(2.7 x) + 1.1 / (1 + x^2); noise of sd 0.1, of sd 1 with probability 0.05.
Part neal_part(gs::Index rows, gs::Random& random) {
  Part part{.x = gs::Matrix(rows, 1), .y = gs::Vector(rows), .f = gs::Vector(rows)};
  for (gs::Index n = 0; n < rows; ++n) {
    const double x = random.normal();
    part.x(n, 0) = x;
    part.f(n) = 0.3 + 0.4 * x + 0.5 * std::sin(2.7 * x) + 1.1 / (1.0 + x * x);
    const double noise_sd = random.uniform() < 0.05 ? 1.0 : 0.1;
    part.y(n) = part.f(n) + noise_sd * random.normal();
  }
  return part;
}

/// Ten uniform inputs of which five matter, unit noise.
Part friedman_part(gs::Index rows, gs::Random& random) {
  constexpr gs::Index columns = 10;
  Part part{.x = gs::Matrix(rows, columns), .y = gs::Vector(rows), .f = gs::Vector(rows)};
  for (gs::Index n = 0; n < rows; ++n) {
    for (gs::Index d = 0; d < columns; ++d) part.x(n, d) = random.uniform();
    const auto x = part.x.row(n);
    part.f(n) =
        10.0 * std::sin(std::numbers::pi * x(0) * x(1)) + 20.0 * (x(2) - 0.5) * (x(2) - 0.5) + 10.0 * x(3) + 5.0 * x(4);
    part.y(n) = part.f(n) + random.normal();
  }
  return part;
}

Split neal(gs::Random& random) {
  Split split;
  split.train = neal_part(hundred.train, random);
  split.validation = neal_part(hundred.validation, random);
  split.test = neal_part(synthetic_test_rows, random);
  return split;
}

/// Ten training responses are replaced by draws from N(15, 9); validation and test rows are clean.
Split friedman(gs::Random& random) {
  Split split;
  split.train = friedman_part(hundred.train, random);
  split.validation = friedman_part(hundred.validation, random);
  split.test = friedman_part(synthetic_test_rows, random);
  const std::vector<gs::Index> order = shuffled(hundred.train, random);
  for (std::size_t n = 0; n < 10; ++n) split.train.y(order[n]) = 15.0 + 3.0 * random.normal();
  return split;
}

/// A table, one column of it the response, `left_out` neither response nor input.
DataSet from_table(const std::string& name, const std::filesystem::path& file, const std::string& response,
                   const std::vector<std::string>& left_out, Sizes sizes) {
  const gs::Table table = gs::read_table(file);
  gs::FeatureOptions features;
  features.reserved = left_out;
  features.reserved.push_back(response);
  const gs::Matrix x = gs::make_feature_coding(table, features).encode_dense(table);
  const gs::Vector y = table.column(response).numbers;
  return {name, [x, y, sizes](gs::Random& random) {
            const std::vector<gs::Index> order = shuffled(x.rows(), random);
            const auto cut = [&](gs::Index from, gs::Index to) {
              const std::vector<gs::Index> rows(order.begin() + from, order.begin() + to);
              return Part{.x = x(rows, Eigen::all), .y = y(rows)};
            };
            Split split;
            split.train = cut(0, sizes.train);
            split.validation = cut(sizes.train, sizes.train + sizes.validation);
            split.test = cut(sizes.train + sizes.validation, x.rows());
            return split;
          }};
}

void normalise(Split& split) {
  const gs::Index columns = split.train.x.cols();
  for (gs::Index d = 0; d <= columns; ++d) {
    const Unit unit = unit_of(d < columns ? gs::Vector(split.train.x.col(d)) : split.train.y);
    if (d == columns) split.response_sd = unit.sd;
    for (Part* part : {&split.train, &split.validation, &split.test}) {
      if (d < columns) {
        part->x.col(d) = in_units(part->x.col(d), unit);
      } else {
        part->y = in_units(part->y, unit);
        part->f = in_units(part->f, unit);
      }
    }
  }
}

}  // namespace

DataSet make_data_set(const std::string& name, const std::filesystem::path& folder) {
  if (name == "Neal") return {name, neal};
  if (name == "Friedman") return {name, friedman};
  if (name == "Boston") return from_table(name, folder / "boston_housing.csv", "medv", {}, hundred);
  const std::filesystem::path concrete = folder / "concrete_slump.csv";
  if (name == "Concrete") return from_table(name, concrete, "strength_mpa", {}, concrete_sizes);
  if (name == "Concrete-slump") return from_table(name, concrete, "slump_cm", {}, concrete_sizes);
  if (name == "Concrete-flow") return from_table(name, concrete, "flow_cm", {}, concrete_sizes);
  if (name == "Concrete-7") return from_table(name, concrete, "strength_mpa", {"slump_cm", "flow_cm"}, concrete_sizes);
  throw std::invalid_argument("no data set " + name);
}

Split draw_split(const DataSet& data, std::uint64_t seed, int set) {
  gs::Random random(1000 * seed + static_cast<std::uint64_t>(set));
  Split split = data.draw(random);
  normalise(split);
  return split;
}

}  // namespace reproduce
