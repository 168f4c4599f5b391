#pragma once
// The data sets of the multi-class experiments and their random partitions, 60 % to train and 40 % to test.

#include "partitions.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace reproduce {

/// Inputs and labels 0 .. classes - 1.
struct ClassPart {
  gs::Matrix x;
  gs::Vector y;
};

struct ClassSplit {
  ClassPart train, test;
};

struct ClassData {
  std::string name;
  gs::Index classes = 0;  ///< Of the problem; a class need not occur.
  ClassPart rows;
};

/// iris, thyroid, wine, glass and vehicle.
[[nodiscard]] const std::vector<std::string>& class_data_names();

/// Reads FOLDER/NAME/NAME.csv or FOLDER/NAME.csv, thyroid also as new_thyroid: columns of numbers under a header, the
/// label last and coded as in the UCI repository (iris and vehicle from 0, the others from 1). Glass has seven classes,
/// of which the fourth never occurs. Throws std::invalid_argument for another name and gs::InvalidFile.
[[nodiscard]] ClassData read_class_data(const std::string& name, const std::filesystem::path& folder);

/// Partition `set`: the first 60 % of a random order, rounded down, are to train. Inputs have mean 0 and standard
/// deviation 1 there. Drawn from the seed 1000 seed + set, so that more sets leave the earlier ones as they are.
[[nodiscard]] ClassSplit draw_class_split(const ClassData& data, std::uint64_t seed, int set);

/// C functions with one kernel between them and labels under `likelihood`, multinomial-logit or multinomial-probit.
[[nodiscard]] gs::Model class_model(const std::string& likelihood, const ClassPart& part, gs::Index classes,
                                    const gs::KernelHandle& kernel);

/// exp(-½ Σ_d (x_d - x'_d)² / ℓ_d²), a length-scale for every input.
[[nodiscard]] gs::KernelHandle unit_ard_kernel(const gs::Vector& lengthscale);

/// σ² exp(-½ |x - x'|² / ℓ²).
[[nodiscard]] gs::KernelHandle isotropic_kernel(double signal_sd, double lengthscale);

/// The value of a parameter by its full name; NaN where the model has none of that name.
[[nodiscard]] double parameter_of(const gs::Model& model, const std::string& name);

/// How well test labels are predicted.
struct ClassScore {
  int errors = 0;            ///< Labels that are not the likeliest class.
  double log_density = 0.0;  ///< Sum of the log probabilities of the labels.
};

/// Of class probabilities, one row a point.
[[nodiscard]] ClassScore score_classes(const gs::Matrix& probability, const gs::Vector& labels);

}  // namespace reproduce
