// Against stored high-precision values; see tests/data/README.md for where they come from.

#include "sites/helpers.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace gaussmith::testing {
namespace {

const std::string data_folder = GAUSSMITH_TEST_DATA;

TEST(SiteReference, TableOfExpectationsAndTiltedMoments) {
  std::ifstream file(data_folder + "/sites_reference.json");
  ASSERT_TRUE(file) << "tests/data/sites_reference.json is missing";
  const nlohmann::json table = nlohmann::json::parse(file);
  const std::map<std::string, std::string> renamed{{"sigma2", "variance"}, {"n", "trials"}, {"r", "shape"}};
  int checked = 0;
  for (const auto& row : table.at("rows")) {
    std::string name = row.at("site").at("type");
    if (name == "negbin") name = "negative_binomial";
    std::replace(name.begin(), name.end(), '_', '-');
    SiteArguments arguments;
    for (const auto& [key, value] : row.at("site").items()) {
      if (key == "type" || key == "y") continue;
      arguments[renamed.contains(key) ? renamed.at(key) : key] = one(value.get<double>());
    }
    const Sites sites = observe(name, one(row.at("site").at("y").get<double>()), arguments);
    const double m = row.at("m"), v = row.at("v");
    const auto check = [&](double found, const nlohmann::json& reference, const std::string& what) {
      const double value = reference.at("value"), accuracy = reference.at("acc");
      EXPECT_NEAR(found, value, 1e-9 * (1 + std::abs(value)) + 10 * accuracy)
          << what << ' ' << row.at("site").dump() << " m=" << m << " v=" << v;
      ++checked;
    };
    const Expectation e = expectation(*sites, 0, m, v);
    if (row.contains("E")) check(e.value, row.at("E"), "E");
    if (row.contains("dE_dm")) check(e.d_mean, row.at("dE_dm"), "dE_dm");
    if (row.contains("dE_dv")) check(e.d_variance, row.at("dE_dv"), "dE_dv");
    for (const double power : {1.0, 0.5}) {
      const std::string key = power == 1.0 ? "tilted_eta1" : "tilted_eta0.5";
      if (!row.contains(key)) continue;
      const Tilted t = tilted(*sites, 0, m, v, power);
      check(t.log_normaliser, row.at(key).at("logZ"), key + " logZ");
      check(t.mean, row.at(key).at("mean"), key + " mean");
      check(t.variance, row.at(key).at("var"), key + " var");
    }
  }
  EXPECT_GT(checked, 1500);
}

TEST(SiteReference, OracleOverAllMeansAndVariances) {
  std::ifstream file(data_folder + "/site_oracle.csv");
  ASSERT_TRUE(file) << "tests/data/site_oracle.csv is missing";
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(line, "likelihood,y,parameters,m,v,power,quantity,value");
  int checked = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cell;
    std::stringstream cells(line);
    for (std::string text; std::getline(cells, text, ',');) cell.push_back(text);
    ASSERT_EQ(cell.size(), 8u) << line;
    SiteArguments arguments;
    std::stringstream pairs(cell[2]);
    for (std::string pair; std::getline(pairs, pair, ';');) {
      const auto split = pair.find('=');
      arguments[pair.substr(0, split)] = one(std::stod(pair.substr(split + 1)));
    }
    const Sites sites = observe(cell[0], one(std::stod(cell[1])), arguments);
    const double m = std::stod(cell[3]), v = std::stod(cell[4]);
    const std::string& quantity = cell[6];
    double found = 0;
    if (cell[5].empty()) {
      const Expectation e = expectation(*sites, 0, m, v);
      found = quantity == "E" ? e.value : quantity == "dE_dm" ? e.d_mean : e.d_variance;
    } else {
      const Tilted t = tilted(*sites, 0, m, v, std::stod(cell[5]));
      found = quantity == "logZ" ? t.log_normaliser : quantity == "mean" ? t.mean : t.variance;
    }
    ++checked;
    if (cell[7] == "inf" || cell[7] == "-inf") {
      // Beyond 1e300 in truth: capped, with the sign.
      EXPECT_GT(cell[7] == "inf" ? found : -found, 1e300) << line;
      EXPECT_TRUE(std::isfinite(found)) << line;
      continue;
    }
    const double value = std::strtod(cell[7].c_str(), nullptr);
    EXPECT_NEAR(found, value, 1e-9 * (1 + std::abs(value))) << line;
  }
  EXPECT_GT(checked, 4000);
}

}  // namespace
}  // namespace gaussmith::testing
