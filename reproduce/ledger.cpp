#include "ledger.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace reproduce {

Ledger::Ledger(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream in(file_);
  std::string line;
  // A line that a killed run left without its end would be a wrong figure.
  while (std::getline(in, line) && !in.eof()) {
    std::istringstream words(line);
    std::string study, figure;
    int set = 0;
    words >> study >> set;
    Row& row = rows_[{study, set}];
    while (words >> figure) {
      const std::size_t equals = figure.find('=');
      if (equals == std::string::npos) throw std::invalid_argument(file_.string() + ": no figure: " + figure);
      row[figure.substr(0, equals)] = std::stod(figure.substr(equals + 1));
    }
  }
  if (!line.empty() && in.eof()) std::ofstream(file_, std::ios::app) << '\n';
}

bool Ledger::has(const std::string& study, int set) const { return rows_.contains({study, set}); }

void Ledger::add(const std::string& study, int set, const Figures& figures) {
  std::string line = study + " " + std::to_string(set);
  Row row;
  for (const auto& [name, value] : figures) {
    char text[40];
    std::snprintf(text, sizeof text, "%.12g", value);
    line += " " + name + "=" + text;
    row[name] = value;
  }
  rows_[{study, set}] = std::move(row);
  if (file_.empty()) return;
  std::ofstream out(file_, std::ios::app);
  out << line + "\n" << std::flush;
  if (!out) throw std::runtime_error("cannot write to " + file_.string());
}

double Ledger::value(const std::string& study, int set, const std::string& name) const {
  const auto row = rows_.find({study, set});
  if (row == rows_.end()) return NAN;
  const auto figure = row->second.find(name);
  return figure == row->second.end() ? NAN : figure->second;
}

std::vector<double> Ledger::column(const std::string& study, const std::string& name, int sets) const {
  std::vector<double> values;
  for (int set = 0; set < sets; ++set) {
    const double found = value(study, set, name);
    if (!std::isnan(found)) values.push_back(found);
  }
  return values;
}

Spread spread(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  double mean = 0.0, squares = 0.0;
  for (const double value : values) mean += value / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .sd = count > 1.0 ? std::sqrt(squares / (count - 1.0)) : NAN, .count = values.size()};
}

std::string print(const Spread& spread, int digits) {
  if (spread.count == 0) return "–";
  char text[80];
  std::snprintf(text, sizeof text, "%.*f ± %.*f", digits, spread.mean, digits, spread.sd);
  return text;
}

}  // namespace reproduce
