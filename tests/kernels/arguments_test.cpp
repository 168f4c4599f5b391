// Names, the catalogue and what is refused, with the lines that users see.

#include "cases.hpp"
#include "gaussmith/errors.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace gaussmith {
namespace {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const InvalidModel& error) {
    return error.what();
  }
  return "nothing thrown";
}

std::vector<std::string> parameter_names(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const auto& parameter : kernel.parameters()) names.push_back(parameter.name);
  return names;
}

void collect_names(const Kernel& kernel, std::set<std::string_view>& names) {
  names.insert(kernel.name());
  for (const auto& term : kernel.terms()) collect_names(*term, names);
}

TEST(KernelCatalogue, EveryEntryHasATestCase) {
  std::set<std::string_view> tested;
  for (const auto& entry : test::kernel_cases()) collect_names(*entry.kernel, tested);
  for (const auto& info : kernel_catalogue()) EXPECT_TRUE(tested.contains(info.name)) << info.name;
  EXPECT_EQ(tested.size(), kernel_catalogue().size());
}

TEST(KernelCatalogue, ListsTheKernelsOfTheFormat) {
  std::set<std::string_view> names;
  for (const auto& info : kernel_catalogue()) names.insert(info.name);
  const std::set<std::string_view> expected{"se",     "matern12", "matern32", "matern52",       "rq",  "periodic",
                                            "linear", "constant", "white",    "neural-network", "sum", "product"};
  EXPECT_EQ(names, expected);
}

TEST(KernelCatalogue, DefaultsAreOneAndDescribed) {
  for (const auto& info : kernel_catalogue()) {
    EXPECT_FALSE(info.formula.empty()) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    for (const auto& argument : info.arguments) {
      EXPECT_EQ(argument.default_value, 1.0) << info.name;
      EXPECT_FALSE(argument.help.empty()) << info.name;
    }
    if (info.arguments.empty()) continue;
    const KernelHandle kernel = make_kernel(info.name);
    EXPECT_EQ(kernel->name(), info.name);
    ASSERT_EQ(kernel->parameters().size(), info.arguments.size());
    for (const auto& parameter : kernel->parameters()) EXPECT_EQ(parameter.value, 1.0);
  }
}

TEST(KernelParameters, NamesFollowTheFormat) {
  using Names = std::vector<std::string>;
  const KernelHandle ard = make_kernel("rq", {{"lengthscale", {1.0, 2.0}}});
  EXPECT_EQ(parameter_names(*ard), (Names{"signal_sd", "lengthscale[0]", "lengthscale[1]", "alpha"}));
  EXPECT_EQ(parameter_names(*make_kernel("periodic")), (Names{"signal_sd", "lengthscale", "period"}));
  EXPECT_EQ(parameter_names(*make_kernel("neural-network")), (Names{"signal_sd", "weight_sd", "bias_sd"}));
  const KernelHandle nested = sum({make_kernel("white"), product({make_kernel("linear"), ard})});
  EXPECT_EQ(parameter_names(*nested),
            (Names{"terms[0].signal_sd", "terms[1].terms[0].signal_sd", "terms[1].terms[1].signal_sd",
                   "terms[1].terms[1].lengthscale[0]", "terms[1].terms[1].lengthscale[1]", "terms[1].terms[1].alpha"}));
}

TEST(KernelParameters, WithParametersChangesValuesAndNothingElse) {
  for (const auto& [label, kernel] : test::kernel_cases()) {
    SCOPED_TRACE(label);
    std::vector<double> values;
    for (std::size_t p = 0; p < kernel->parameters().size(); ++p)
      values.push_back(0.5 + 0.125 * static_cast<double>(p));
    const KernelHandle changed = kernel->with_parameters(values);
    EXPECT_EQ(changed->name(), kernel->name());
    EXPECT_EQ(parameter_names(*changed), parameter_names(*kernel));
    for (std::size_t p = 0; p < values.size(); ++p) EXPECT_EQ(changed->parameters()[p].value, values[p]);
  }
}

TEST(KernelErrors, UnknownNamesListWhatIsAccepted) {
  EXPECT_EQ(
      message_of([] { (void)make_kernel("sqexp"); }),
      "unknown kernel \"sqexp\"; known are se, matern12, matern32, matern52, rq, periodic, linear, constant, white, "
      "neural-network, sum, product");
  EXPECT_EQ(message_of([] {
              (void)make_kernel("rq", {{"beta", {1.0}}});
            }),
            "kernel rq has no argument \"beta\"; it accepts signal_sd, lengthscale, alpha");
  EXPECT_EQ(message_of([] { (void)make_kernel("sum"); }),
            "kernel sum is made of terms, each a kernel, and takes no arguments");
}

TEST(KernelErrors, ValuesMustBePositiveAndFinite) {
  EXPECT_EQ(message_of([] {
              (void)make_kernel("se", {{"lengthscale", {1.0, 0.0}}});
            }),
            "kernel.lengthscale[1] must be positive and finite, found 0");
  EXPECT_EQ(message_of([] {
              (void)make_kernel("se", {{"lengthscale", {-2.5}}});
            }),
            "kernel.lengthscale must be positive and finite, found -2.5");
  EXPECT_EQ(message_of([] {
              (void)make_kernel("white", {{"signal_sd", {std::numeric_limits<double>::quiet_NaN()}}});
            }),
            "kernel.signal_sd must be positive and finite, found nan");
  EXPECT_EQ(message_of([] {
              (void)make_kernel("rq", {{"alpha", {std::numeric_limits<double>::infinity()}}});
            }),
            "kernel.alpha must be positive and finite, found inf");
  EXPECT_EQ(message_of([] {
              (void)make_kernel("se", {{"signal_sd", {1e200}}});
            }),
            "kernel.signal_sd must lie between 1e-100 and 1e+100, found 1e+200");
}

TEST(KernelErrors, NumbersOfValues) {
  EXPECT_EQ(message_of([] {
              (void)make_kernel("se", {{"signal_sd", {1.0, 2.0}}});
            }),
            "kernel.signal_sd takes one value, found 2");
  EXPECT_EQ(message_of([] {
              (void)make_kernel("se", {{"lengthscale", {}}});
            }),
            "kernel.lengthscale has no value; it takes one, or one for each input column");
}

TEST(KernelErrors, WithParametersNamesTheParameter) {
  const KernelHandle kernel = sum({make_kernel("white"), make_kernel("se", {{"lengthscale", {1.0, 2.0}}})});
  EXPECT_EQ(message_of([&] {
              (void)kernel->with_parameters(std::vector<double>{1.0, 1.0, 1.0, 0.0});
            }),
            "kernel.terms[1].lengthscale[1] must be positive and finite, found 0");
  EXPECT_EQ(message_of([&] { (void)kernel->with_parameters(std::vector<double>{1.0}); }),
            "kernel sum has 4 parameters, found 1 values");
}

TEST(KernelErrors, WrongDimensions) {
  const KernelHandle ard = make_kernel("se", {{"lengthscale", {1.0, 2.0, 3.0}}});
  const Matrix x = Matrix::Zero(4, 2);
  Matrix out;
  Vector diagonal;
  const std::string expected = "kernel.lengthscale has 3 values but the inputs have 2 columns; give one value or 2";
  EXPECT_EQ(message_of([&] { ard->check_dimension(2); }), expected);
  EXPECT_EQ(message_of([&] { ard->gram(x, out); }), expected);
  EXPECT_EQ(message_of([&] { ard->block(x, x, out); }), expected);
  EXPECT_EQ(message_of([&] { ard->diagonal(x, diagonal); }), expected);
  EXPECT_EQ(message_of([&] { (void)ard->contract(x, Matrix::Zero(4, 4)); }), expected);
  EXPECT_EQ(message_of([&] { sum({make_kernel("white"), ard})->check_dimension(2); }), expected);
  EXPECT_EQ(message_of([&] { ard->check_dimension(1); }),
            "kernel.lengthscale has 3 values but the inputs have 1 column; give one value");
  EXPECT_NO_THROW(ard->check_dimension(3));
  EXPECT_NO_THROW(make_kernel("se")->check_dimension(17));
  EXPECT_EQ(message_of([] { make_kernel("se")->check_dimension(0); }),
            "a kernel needs inputs with at least one column, found none");
  EXPECT_EQ(message_of([&] { make_kernel("se")->block(x, Matrix::Zero(2, 3), out); }),
            "the two sets of kernel inputs must have the same columns, found 2 and 3");
  EXPECT_EQ(message_of([&] { (void)make_kernel("se")->contract(x, Matrix::Zero(3, 4)); }),
            "the weights of a contraction over 4 inputs must be 4 x 4, found 3 x 4");
}

TEST(KernelErrors, CompositesNeedTerms) {
  EXPECT_EQ(message_of([] { (void)sum({}); }), "kernel sum needs at least one term");
  EXPECT_EQ(message_of([] { (void)product({make_kernel("se"), nullptr}); }), "kernel.terms[1] is empty; give a kernel");
}

}  // namespace
}  // namespace gaussmith
