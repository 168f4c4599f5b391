#include "gaussmith/files.hpp"
#include "io/complaints.hpp"
#include "io/problem_file_parts.hpp"

#include <gtest/gtest.h>

#include <string>

namespace gaussmith {
namespace {

/// A process at three inputs; `inducing` is the text of its field.
std::string one_latent(const std::string& inducing) {
  return R"({"format": "gaussmith-problem/1", "prior": {"type": "gp", "inputs": [[0.1, 1], [0.7, 2], [1.9, 3]],
             "kernel": {"type": "se"}, "inducing": )" +
         inducing + R"(}, "sites": [{"type": "poisson", "y": [0, 2, 1]}]})";
}

std::string three_latents(const std::string& inducing) {
  return R"({"format": "gaussmith-problem/1", "prior": {"type": "gp", "inputs": [[0.1], [0.7]], "latents": 3,
             "kernel": {"type": "se"}, "inducing": )" +
         inducing + R"(}, "sites": [{"type": "multinomial-logit", "y": [0, 2]}]})";
}

Problem parsed(const std::string& text) { return parse_problem(text, "p.json"); }

const Inducing& inducing_in(const Problem& problem) { return *std::get<GaussianProcess>(problem.model.prior).inducing; }

TEST(ProblemFileInducing, InputsAndSites) {
  const Problem inputs = parsed(one_latent(R"({"inputs": [[0.5, 1], [1.5, 2]], "noise": 0.25})"));
  EXPECT_EQ(Matrix(inducing_in(inputs).inputs), Matrix({{0.5, 1.0}, {1.5, 2.0}}));
  EXPECT_EQ(inducing_in(inputs).noise, 0.25);
  EXPECT_TRUE(inducing_in(inputs).sites.empty());
  const Problem sites = parsed(three_latents(R"({"sites": [[1, 2], [0, 0]]})"));
  const std::vector<std::pair<Index, Index>> expected = {{1, 2}, {0, 0}};
  EXPECT_EQ(inducing_in(sites).sites, expected);
  EXPECT_EQ(inducing_in(sites).noise, 0.0);
  EXPECT_FALSE(sites.selection);
}

TEST(ProblemFileInducing, WhatIsWrittenIsReadAgain) {
  for (const std::string& text :
       {one_latent(R"({"inputs": [[0.5, 1]], "noise": 0.25})"), three_latents(R"({"sites": [[1, 2], [0, 0]]})")}) {
    const Problem problem = parsed(text);
    const nlohmann::json written = nlohmann::json::parse(prior_json(problem.model.prior, problem.model.latents).dump());
    const std::string name = "p.json";
    const Prior again = read_prior(JsonNode(written, name)).prior;
    const Inducing& inducing = *std::get<GaussianProcess>(again).inducing;
    EXPECT_EQ(Matrix(inducing.inputs), Matrix(inducing_in(problem).inputs));
    EXPECT_EQ(inducing.sites, inducing_in(problem).sites);
    EXPECT_EQ(inducing.noise, inducing_in(problem).noise);
  }
}

TEST(ProblemFileInducing, ACountIsASelectionToBeMade) {
  const Problem plain = parsed(three_latents(R"({"count": 5})"));
  EXPECT_FALSE(std::get<GaussianProcess>(plain.model.prior).inducing);
  EXPECT_EQ(plain.selection->count, 5);
  EXPECT_EQ(plain.selection->select, InducingChoice::active);
  EXPECT_EQ(plain.selection->block, 0);
  EXPECT_EQ(plain.selection->subset, 5);
  EXPECT_EQ(plain.selection->filter, 20);
  const Problem all =
      parsed(one_latent(R"({"count": 3, "select": "random", "block": 2, "subset": 7, "filter": 9, "noise": 1e-3})"));
  EXPECT_EQ(all.selection->select, InducingChoice::random);
  EXPECT_EQ(all.selection->block, 2);
  EXPECT_EQ(all.selection->subset, 7);
  EXPECT_EQ(all.selection->filter, 9);
  EXPECT_EQ(all.selection->noise, 1e-3);
}

TEST(ProblemFileInducing, RefusesWithFieldAndWhatIsAccepted) {
  expect_complaint(one_latent("3"), {"prior.inducing", "object"});
  expect_complaint(one_latent("{}"), {"prior.inducing", "\"inputs\"", "\"sites\"", "\"count\""});
  expect_complaint(one_latent(R"({"inputs": [[0.5, 1]], "count": 1})"), {"prior.inducing", "one of"});
  expect_complaint(one_latent(R"({"inputs": [[0.5, 1], [2]]})"), {"prior.inducing.inputs[1]", "expected 2", "found 1"});
  expect_complaint(one_latent(R"({"inputs": [[0.5]]})"), {"prior.inducing.inputs[0]", "expected 2", "found 1"});
  expect_complaint(one_latent(R"({"inputs": []})"), {"prior.inducing.inputs", "at least one row of 2"});
  expect_complaint(one_latent(R"({"inputs": [[0.5, null]]})"), {"prior.inducing.inputs[0][1]", "null"});
  expect_complaint(one_latent(R"({"inputs": [[0.5, 1]], "subset": 3})"), {"prior.inducing", "subset", "noise"});
  expect_complaint(one_latent(R"({"inputs": [[0.5, 1]], "noise": -1})"), {"prior.inducing.noise", "-1", "0 or more"});
  expect_complaint(one_latent(R"({"sites": [[3, 0]]})"), {"prior.inducing.sites[0][0]", "3", "2"});
  expect_complaint(one_latent(R"({"sites": [[2, 1]]})"), {"prior.inducing.sites[0][1]", "1", "0"});
  expect_complaint(three_latents(R"({"sites": [[1, 3]]})"), {"prior.inducing.sites[0][1]", "3", "2"});
  expect_complaint(three_latents(R"({"sites": [[1, -1]]})"), {"prior.inducing.sites[0][1]", "-1"});
  expect_complaint(three_latents(R"({"sites": [[1, 2], [0, 1], [1, 2]]})"),
                   {"prior.inducing.sites[2]", "row 1, latent 2", "sites[0]"});
  expect_complaint(three_latents(R"({"sites": [[1, 2, 0]]})"), {"prior.inducing.sites[0]", "[row, latent]"});
  expect_complaint(three_latents(R"({"sites": []})"), {"prior.inducing.sites", "[row, latent]"});
  expect_complaint(three_latents(R"({"count": 7})"), {"prior.inducing.count", "7", "6"});
  expect_complaint(three_latents(R"({"count": 0})"), {"prior.inducing.count", "0", "1"});
  expect_complaint(three_latents(R"({"count": 2, "select": "greedy"})"),
                   {"prior.inducing.select", "greedy", "active or random"});
  expect_complaint(three_latents(R"({"count": 2, "filter": 0})"), {"prior.inducing.filter", "0"});
  expect_complaint(R"({"format": "gaussmith-problem/1", "prior": {"type": "isotropic", "dim": 2, "variance": 1,
                       "inducing": {"count": 1}}, "sites": [{"type": "poisson", "y": [0, 2]}]})",
                   {"prior", "inducing", "unknown field"});
  expect_complaint(R"({"format": "gaussmith-problem/1", "prior": {"type": "gp", "inputs": [[0.1], [0.7]],
                       "kernel": {"type": "se"}, "inducing": {"inputs": [[1]]}},
                       "design": {"type": "dense", "rows": [[1, 2]]}, "sites": [{"type": "poisson", "y": [2]}]})",
                   {"prior.inducing", "design"});
}

}  // namespace
}  // namespace gaussmith
