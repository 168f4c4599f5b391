#include "class_data.hpp"

#include <cmath>
#include <stdexcept>

namespace reproduce {
namespace {

struct Shape {
  const char* name;
  const char* file;
  gs::Index classes;
  double first_label;
};

constexpr Shape shapes[] = {
    {"iris", "iris", 3, 0.0},   {"thyroid", "new_thyroid", 3, 1.0}, {"wine", "wine", 3, 1.0},
    {"glass", "glass", 7, 1.0}, {"vehicle", "vehicle", 4, 0.0},
};

const Shape& shape_of(const std::string& name) {
  for (const Shape& shape : shapes)
    if (name == shape.name) return shape;
  throw std::invalid_argument("no data set " + name + "; there are iris, thyroid, wine, glass, vehicle");
}

std::filesystem::path find_table(const std::filesystem::path& folder, const std::string& file) {
  const std::filesystem::path own_folder = folder / file / (file + ".csv");
  return std::filesystem::exists(own_folder) ? own_folder : folder / (file + ".csv");
}

}  // namespace

const std::vector<std::string>& class_data_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Shape& shape : shapes) all.emplace_back(shape.name);
    return all;
  }();
  return names;
}

ClassData read_class_data(const std::string& name, const std::filesystem::path& folder) {
  const Shape& shape = shape_of(name);
  const gs::Table table = gs::read_table(find_table(folder, shape.file));
  const auto inputs = static_cast<gs::Index>(table.columns.size()) - 1;
  ClassData data{.name = name, .classes = shape.classes, .rows = {.x = gs::Matrix(table.rows(), inputs), .y = {}}};
  for (gs::Index d = 0; d < inputs; ++d) data.rows.x.col(d) = table.columns[static_cast<std::size_t>(d)].numbers;
  data.rows.y = (table.columns.back().numbers.array() - shape.first_label).matrix();
  return data;
}

ClassSplit draw_class_split(const ClassData& data, std::uint64_t seed, int set) {
  gs::Random random(1000 * seed + static_cast<std::uint64_t>(set));
  const std::vector<gs::Index> order = shuffled(data.rows.x.rows(), random);
  const auto first_test = order.begin() + data.rows.x.rows() * 6 / 10;
  const auto cut = [&](auto from, auto to) {
    const std::vector<gs::Index> rows(from, to);
    return ClassPart{.x = data.rows.x(rows, Eigen::all), .y = data.rows.y(rows)};
  };
  ClassSplit split{.train = cut(order.begin(), first_test), .test = cut(first_test, order.end())};
  for (gs::Index d = 0; d < data.rows.x.cols(); ++d) {
    const Unit unit = unit_of(split.train.x.col(d));
    for (ClassPart* part : {&split.train, &split.test}) part->x.col(d) = in_units(part->x.col(d), unit);
  }
  return split;
}

gs::Model class_model(const std::string& likelihood, const ClassPart& part, gs::Index classes,
                      const gs::KernelHandle& kernel) {
  gs::Model model;
  model.prior = gs::GaussianProcess{.inputs = part.x, .kernel = kernel};
  model.sites = {gs::observe(likelihood, part.y, {{"classes", gs::Vector::Constant(1, static_cast<double>(classes))}})};
  model.latents.count = classes;
  return model;
}

gs::KernelHandle unit_ard_kernel(const gs::Vector& lengthscale) {
  return gs::make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {lengthscale.begin(), lengthscale.end()}}});
}

gs::KernelHandle isotropic_kernel(double signal_sd, double lengthscale) {
  return gs::make_kernel("se", {{"signal_sd", {signal_sd}}, {"lengthscale", {lengthscale}}});
}

double parameter_of(const gs::Model& model, const std::string& name) {
  for (const gs::Parameter& candidate : model.parameters())
    if (candidate.name == name) return candidate.value;
  return NAN;
}

ClassScore score_classes(const gs::Matrix& probability, const gs::Vector& labels) {
  ClassScore result;
  for (gs::Index n = 0; n < labels.size(); ++n) {
    const auto label = static_cast<gs::Index>(labels(n));
    gs::Index likeliest = 0;
    probability.row(n).maxCoeff(&likeliest);
    result.errors += likeliest != label ? 1 : 0;
    result.log_density += std::log(probability(n, label));
  }
  return result;
}

}  // namespace reproduce
