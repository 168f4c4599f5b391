// The page of a comparison: HTML with its pictures as SVG, nothing outside the file.

#include "comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace gaussmith::app {

namespace {

constexpr std::array<const char*, 10> colours = {"#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#d68910",
                                                 "#16a085", "#7f5539", "#555555", "#e377c2", "#17becf"};
constexpr int most_marginals = 6;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

const char* colour_of(std::size_t i) { return colours[i % colours.size()]; }

/// A scale from numbers to pixels.
struct Axis {
  double low, high, from, to;
  [[nodiscard]] double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

std::string ticks(const Axis& axis, double y) {
  std::string out =
      fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' class='axis'/>", axis.from, axis.to, y, y);
  for (int i = 0; i <= 4; ++i) {
    const double value = axis.low + (axis.high - axis.low) * i / 4.0;
    out += fmt::format(
        "<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}' class='axis'/>"
        "<text x='{0:.1f}' y='{3:.1f}' text-anchor='middle'>{4:.4g}</text>",
        axis.at(value), y, y + 4.0, y + 17.0, value);
  }
  return out;
}

/// Every evidence with its standard error; the truth as a band.
std::string evidence_picture(const Comparison& comparison) {
  double low = INFINITY;
  double high = -INFINITY;
  const auto widen = [&](double value, double error) {
    if (!std::isfinite(value)) {
      return;
    }
    low = std::min(low, value - error);
    high = std::max(high, value + error);
  };
  for (const ComparedMethod& line : comparison.methods) {
    widen(line.posterior.log_evidence().value, 2.0 * line.posterior.log_evidence().standard_error.value_or(0.0));
  }
  if (comparison.truth && std::isfinite(comparison.truth->standard_error)) {
    widen(comparison.truth->log_evidence, 3.0 * comparison.truth->standard_error);
  }
  for (const ComparedMethod& line : comparison.methods) {
    if (line.card && line.card->evidence_upper) {
      widen(*line.card->evidence_upper, 0.0);
    }
  }
  if (!(low <= high)) {
    return "<p>No method gives an evidence.</p>";
  }
  const double margin = std::max(1e-3, 0.08 * (high - low));
  const Axis axis{low - margin, high + margin, 90.0, 620.0};
  const double bottom = 20.0 + 24.0 * static_cast<double>(comparison.methods.size());
  std::string out = fmt::format("<svg viewBox='0 0 640 {:.0f}' role='img' aria-label='Log evidences'>", bottom + 24.0);
  if (comparison.truth && std::isfinite(comparison.truth->log_evidence) &&
      std::isfinite(comparison.truth->standard_error)) {
    const double half =
        std::max(0.75, 0.5 * (axis.at(comparison.truth->log_evidence + 3.0 * comparison.truth->standard_error) -
                              axis.at(comparison.truth->log_evidence - 3.0 * comparison.truth->standard_error)));
    out += fmt::format("<rect x='{:.2f}' y='4' width='{:.2f}' height='{:.1f}' class='truth'/>",
                       axis.at(comparison.truth->log_evidence) - half, 2.0 * half, bottom - 4.0);
  }
  for (std::size_t i = 0; i < comparison.methods.size(); ++i) {
    const ComparedMethod& line = comparison.methods[i];
    const double y = 20.0 + 24.0 * static_cast<double>(i);
    out += fmt::format("<text x='4' y='{:.1f}'>{}</text>", y + 4.0, line.name);
    const Evidence& evidence = line.posterior.log_evidence();
    if (!std::isfinite(evidence.value)) {
      continue;
    }
    if (line.card && (std::isfinite(line.card->evidence_lower) || line.card->evidence_upper)) {
      const double from = axis.at(std::max(axis.low, line.card->evidence_lower));
      const double to = axis.at(line.card->evidence_upper.value_or(axis.high));
      out += fmt::format("<rect x='{:.2f}' y='{:.1f}' width='{:.2f}' height='10' rx='2' fill='{}' opacity='0.25'/>",
                         from, y - 5.0, std::max(1.5, to - from), colour_of(i));
    }
    const double error = 2.0 * evidence.standard_error.value_or(0.0);
    out += fmt::format("<line x1='{:.2f}' x2='{:.2f}' y1='{:.1f}' y2='{:.1f}' stroke='{}' stroke-width='2'/>",
                       axis.at(evidence.value - error), axis.at(evidence.value + error), y, y, colour_of(i));
    // A bound has the truth to its right.
    if (evidence.kind == EvidenceKind::lower_bound) {
      const double x = axis.at(evidence.value);
      out += fmt::format("<path d='M {:.2f} {:.1f} l -8 -5 l 0 10 z' fill='{}'/>", x, y, colour_of(i));
    } else {
      out += fmt::format("<circle cx='{:.2f}' cy='{:.1f}' r='4' fill='{}'/>", axis.at(evidence.value), y, colour_of(i));
    }
  }
  return out + ticks(axis, bottom) + "</svg>";
}

/// The latents where some method is furthest from the truth.
std::vector<Index> worst_latents(const Comparison& comparison) {
  std::vector<std::pair<double, Index>> worst;
  const Truth& truth = *comparison.truth;
  for (Index i = 0; i < truth.latent.mean.size(); ++i) {
    const double sd = std::sqrt(truth.latent.variance(i));
    double most = 0.0;
    for (const ComparedMethod& line : comparison.methods) {
      if (line.error && sd > 0.0) {
        const Marginals& latent = line.posterior.latent();
        const double ratio = std::sqrt(std::max(0.0, latent.variance(i))) / sd;
        most = std::max(most, std::abs(latent.mean(i) - truth.latent.mean(i)) / sd + std::abs(std::log(ratio)));
      }
    }
    worst.emplace_back(-most, i);
  }
  std::sort(worst.begin(), worst.end());
  std::vector<Index> out;
  for (std::size_t k = 0; k < std::min<std::size_t>(most_marginals, worst.size()); ++k) {
    out.push_back(worst[k].second);
  }
  return out;
}

std::string marginal_picture(const Comparison& comparison, Index latent) {
  const Truth& truth = *comparison.truth;
  const double mean = truth.latent.mean(latent);
  const double sd = std::sqrt(truth.latent.variance(latent));
  const Axis x{mean - 4.0 * sd, mean + 4.0 * sd, 24.0, 296.0};
  double top = 0.45 / sd;
  std::vector<double> heights(40, 0.0);
  if (truth.method == "exact") {
    const double width = (x.high - x.low) / sd / static_cast<double>(heights.size());
    for (std::size_t b = 0; b < heights.size(); ++b) {
      const double at = (static_cast<double>(b) + 0.5) * width - 4.0;
      heights[b] = std::exp(-0.5 * at * at) / (sd * 2.5066282746310002);
    }
  } else if (truth.draws.size() > 0) {
    for (Index s = 0; s < truth.draws.cols(); ++s) {
      const double place = (truth.draws(latent, s) - x.low) / (x.high - x.low) * static_cast<double>(heights.size());
      if (place >= 0.0 && place < static_cast<double>(heights.size())) {
        heights[static_cast<std::size_t>(place)] +=
            static_cast<double>(heights.size()) / (x.high - x.low) / static_cast<double>(truth.draws.cols());
      }
    }
    top = std::max(top, 1.1 * *std::max_element(heights.begin(), heights.end()));
  }
  for (const ComparedMethod& line : comparison.methods) {
    if (line.error) {
      top = std::max(top, 0.42 / std::sqrt(std::max(1e-300, line.posterior.latent().variance(latent))));
    }
  }
  top = std::min(top, 2.0 / sd);
  const Axis y{0.0, top, 150.0, 10.0};
  const Index width = comparison.methods.front().posterior.model().latents.count;
  const std::string place =
      width == 1 ? fmt::format("row {}", latent) : fmt::format("row {}, latent {}", latent / width, latent % width);
  std::string out = fmt::format("<figure><svg viewBox='0 0 320 175' role='img' aria-label='Marginal of {}'>", place);
  for (std::size_t b = 0; b < heights.size(); ++b) {
    if (heights[b] > 0.0) {
      const double left = x.low + (x.high - x.low) * static_cast<double>(b) / static_cast<double>(heights.size());
      out += fmt::format("<rect x='{:.2f}' y='{:.2f}' width='6.6' height='{:.2f}' class='truth'/>", x.at(left),
                         y.at(heights[b]), 150.0 - y.at(heights[b]));
    }
  }
  for (std::size_t i = 0; i < comparison.methods.size(); ++i) {
    if (!comparison.methods[i].error) {
      continue;
    }
    const Marginals& found = comparison.methods[i].posterior.latent();
    const double m = found.mean(latent);
    const double s = std::sqrt(found.variance(latent));
    if (!std::isfinite(m) || !(s > 0.0)) {
      continue;
    }
    out += "<path d='";
    for (int p = 0; p <= 120; ++p) {
      const double at = x.low + (x.high - x.low) * p / 120.0;
      const double density = std::exp(-0.5 * (at - m) * (at - m) / (s * s)) / (s * 2.5066282746310002);
      out += fmt::format("{}{:.1f} {:.1f}", p == 0 ? "M" : "L", x.at(at), y.at(std::min(density, top)));
    }
    out += fmt::format("' fill='none' stroke='{}' stroke-width='1.5'/>", colour_of(i));
  }
  return out + ticks(x, 150.0) + fmt::format("</svg><figcaption>{}</figcaption></figure>", place);
}

/// How often responses lie below the q-quantile that leave-one-out prediction gives, for every q.
std::string calibration_picture(const Comparison& comparison) {
  std::string out = "<svg class='square' viewBox='0 0 320 335' role='img' aria-label='Calibration'>";
  const Axis x{0.0, 1.0, 20.0, 310.0};
  const Axis y{0.0, 1.0, 310.0, 20.0};
  out += fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' class='axis' stroke-dasharray='4 3'/>",
                     x.at(0), y.at(0), x.at(1), y.at(1));
  bool any = false;
  for (std::size_t i = 0; i < comparison.methods.size(); ++i) {
    std::vector<double> places;
    std::copy_if(comparison.methods[i].loo_pit.begin(), comparison.methods[i].loo_pit.end(), std::back_inserter(places),
                 [](double place) { return std::isfinite(place); });
    if (places.empty()) {
      continue;
    }
    any = true;
    std::sort(places.begin(), places.end());
    out += "<path d='M" + fmt::format("{:.1f} {:.1f}", x.at(0), y.at(0));
    for (std::size_t k = 0; k < places.size(); ++k) {
      out += fmt::format("L{:.1f} {:.1f}", x.at(places[k]),
                         y.at((static_cast<double>(k) + 0.5) / static_cast<double>(places.size())));
    }
    out += fmt::format("L{:.1f} {:.1f}' fill='none' stroke='{}' stroke-width='1.5'/>", x.at(1), y.at(1), colour_of(i));
  }
  return any ? out + ticks(x, 310.0) + "</svg>" : std::string();
}

std::string key(const Comparison& comparison) {
  std::string out = "<p class='key'>";
  for (std::size_t i = 0; i < comparison.methods.size(); ++i) {
    out += fmt::format("<span><i style='background:{}'></i>{}</span> ", colour_of(i), comparison.methods[i].name);
  }
  return out + "<span><i style='background:#cfd8dc'></i>truth</span></p>";
}

}  // namespace

std::string comparison_page(const ReportedComparison& report) {
  const Comparison& comparison = *report.comparison;
  std::string out =
      "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width, initial-scale=1'><title>Comparison of methods</title><style>"
      "body{font:16px/1.5 system-ui,sans-serif;max-width:76rem;margin:0 auto;padding:1rem;color:#222;background:#fff}"
      "table{border-collapse:collapse;font-size:.8rem}td,th{padding:.2rem .45rem;text-align:right;"
      "border-bottom:1px solid #ddd}td{white-space:nowrap}th{vertical-align:bottom}"
      "td:first-child,th:first-child{text-align:left;font-weight:600}"
      ".wide{overflow-x:auto}svg{width:100%;max-width:40rem;font-size:12px}svg.square{max-width:24rem}.axis{stroke:#"
      "888;stroke-width:1}"
      ".truth{fill:#cfd8dc}figure{margin:0;flex:1 1 "
      "17rem;max-width:20rem}figcaption{text-align:center;font-size:.85rem}"
      ".figures{display:flex;flex-wrap:wrap;gap:1rem}.key span{margin-right:1rem;white-space:nowrap}.key "
      "i{display:inline-block;width:.8rem;height:.8rem;margin-right:.3rem}</style></head><body>"
      "<h1>Comparison of methods</h1>";
  out += fmt::format("<p>{}<br>{}</p>", escaped(report.data_line), escaped(report.model_line));
  out += "<div class='wide'><table>";
  const auto rows = comparison_table(report);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "<tr>";
    for (const std::string& cell : rows[r]) {
      out += fmt::format("<{0}>{1}</{0}>", r == 0 ? "th" : "td", escaped(cell));
    }
    out += "</tr>";
  }
  out += "</table></div>" + key(comparison) + "<h2>Evidence</h2>" + evidence_picture(comparison);
  out +=
      "<p>Triangles are lower bounds: the truth lies to their right. Lines: two standard errors. Pale bars: the "
      "interval "
      "of the card, to the edge where it is open. Grey: the truth, three of its errors to each side.</p>";
  if (comparison.truth) {
    out += fmt::format("<h2>Marginals</h2><p>The latents where some method is furthest from the truth ({}).</p>",
                       escaped(comparison.truth->method));
    out += "<div class='figures'>";
    for (const Index latent : worst_latents(comparison)) {
      out += marginal_picture(comparison, latent);
    }
    out += "</div>";
  }
  if (const std::string picture = calibration_picture(comparison); !picture.empty()) {
    out +=
        "<h2>Calibration</h2><p>Where responses lie in their leave-one-out predictive distributions: the share of rows "
        "below a level, against the level. Right predictions follow the diagonal.</p>" +
        picture;
  }
  out += "<h2>Notes</h2><ul>";
  if (comparison.truth) {
    for (const std::string& note : comparison.truth->notes) {
      out += "<li>" + escaped(note) + "</li>";
    }
  }
  for (const std::string& note : comparison.notes) {
    out += "<li>" + escaped(note) + "</li>";
  }
  for (const ComparedMethod& line : comparison.methods) {
    out += fmt::format("<li>{}: {}</li>", line.name, escaped(line.posterior.report().message));
  }
  return out + "</ul></body></html>\n";
}

}  // namespace gaussmith::app
