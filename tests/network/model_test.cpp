#include "gaussmith/errors.hpp"
#include "gaussmith/network.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace gaussmith {

namespace {

NetworkModel small_model() {
  Matrix inputs(4, 2);
  inputs << 1.0, 2.0, 2.0, 0.5, 3.0, 4.0, -1.0, 1.0;
  Vector responses(4);
  responses << 1.0, 2.0, 0.0, 4.0;
  NetworkModel model;
  model.inputs = inputs;
  model.sites = observe("gaussian", responses, {{"variance", one(1.0)}});
  return model;
}

void expect_refused(const std::function<void(NetworkModel&)>& change, const std::string& words) {
  NetworkModel model = small_model();
  change(model);
  try {
    model.validate();
    ADD_FAILURE() << "accepted: " << words;
  } catch (const InvalidModel& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

}  // namespace

TEST(NetworkModel, RefusesWhatDoesNotFit) {
  small_model().validate();
  expect_refused([](NetworkModel& m) { m.prior.units = -1; }, "prior.units is -1");
  expect_refused([](NetworkModel& m) { m.prior.groups = {{"a", {0, 1}}, {"b", {1}}}; }, "x2 is in a and in b");
  expect_refused([](NetworkModel& m) { m.prior.groups = {{"a", {2}}}; }, "input 2; there are 0 to 1");
  expect_refused(
      [](NetworkModel& m) {
        m.prior.groups = {{"a", {0}}};
        m.prior.weights = WeightPrior::laplace;
      },
      "go with weights ard");
  expect_refused(
      [](NetworkModel& m) {
        Matrix inputs = m.inputs;
        inputs(2, 1) = std::numeric_limits<double>::infinity();
        m.inputs = inputs;
      },
      "inputs(2, 1) of column x2");
  expect_refused([](NetworkModel& m) { m.inputs = Matrix::Ones(4, 2); }, "constant");
  expect_refused(
      [](NetworkModel& m) {
        m.sites = observe("gaussian", Vector::Ones(4), {{"variance", one(1.0)}});
      },
      "all responses are 1");
  expect_refused(
      [](NetworkModel& m) {
        m.sites = observe("student-t", m.sites->responses(), {{"nu", one(4.0)}, {"scale", one(1.0)}});
      },
      "free parameter");
  expect_refused([](NetworkModel& m) { m.prior.scale_prior.sd = -1.0; }, "prior.scale_prior is -2,-1");
  expect_refused([](NetworkModel& m) { m.offset = Vector::Zero(3); }, "offset has 3");
  expect_refused(
      [](NetworkModel& m) {
        m.prior.units = 0;
        m.prior.linear = false;
      },
      "nothing sees the inputs");
}

TEST(NetworkOptions, AreReadAndWrittenUnderTheirNames) {
  const NetworkEp method = make_network_ep({{"network.power", "0.5"}, {"network.start", "zero"}});
  EXPECT_EQ(method.power, 0.5);
  EXPECT_EQ(method.start, NetworkStart::zero);
  const auto changed = options_of(method, true);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0], (std::pair<std::string, std::string>("network.power", "0.5")));
  EXPECT_EQ(changed[1], (std::pair<std::string, std::string>("network.start", "zero")));
  EXPECT_EQ(options_of(method).size(), network_options().size());
  EXPECT_THROW((void)make_network_ep({{"network.powr", "0.5"}}), InvalidOption);
  EXPECT_THROW((void)make_network_ep({{"network.damping", "0"}}), InvalidOption);
  EXPECT_EQ(parse_weight_prior("laplace-ard"), WeightPrior::laplace_ard);
  EXPECT_THROW((void)parse_weight_prior("lasso"), InvalidOption);
}

}  // namespace gaussmith
