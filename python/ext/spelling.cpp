#include "spelling.hpp"

#include "methods.hpp"

#include <algorithm>
#include <cctype>
#include <regex>

namespace gaussmith::python {

namespace {

/// What `rewrite` makes of every match; the rest stays.
template <class Rewrite>
std::string replaced(const std::string& text, const std::regex& pattern, Rewrite&& rewrite) {
  std::string out;
  auto last = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
    out.append(last, (*match)[0].first);
    out += rewrite(*match);
    last = (*match)[0].second;
  }
  return out.append(last, text.end());
}

/// gs.Kl(covariance="full") of "--method kl --set kl.covariance=full".
std::string method_call(const std::smatch& match) {
  static const std::regex option(R"( --set (?:[a-z]+\.)?([a-z_.]+)=([^\s;,]+))");
  static const std::regex number(R"([-+.\de]+)");
  std::string arguments;
  static_cast<void>(replaced(match[2], option, [&](const std::smatch& setting) {
    std::string value = setting[2];
    if (!std::regex_match(value, number)) value = '"' + value + '"';
    arguments += (arguments.empty() ? "" : ", ") + setting[1].str() + "=" + value;
    return std::string();
  }));
  return "gs." + class_name(match[1]) + "(" + arguments + ")";
}

}  // namespace

std::string in_python(const std::string& message) {
  static const std::regex method(R"(--method ([a-z]+)((?: --set [a-z]+\.[a-z_.]+=[^\s;,]+)*))");
  static const std::regex setting(R"(--set )");
  static const std::regex option(R"((^|[\s(])--([a-z][a-z-]*))");
  static const std::regex column(R"(argument_columns\.|\b(event|offset|weights)_column\b)");
  // Most messages have nothing of the kind.
  if (message.find("--") == std::string::npos && message.find("_column") == std::string::npos) return message;
  std::string out = replaced(message, method, method_call);
  out = std::regex_replace(out, setting, "");
  out = replaced(out, option, [](const std::smatch& match) {
    std::string name = match[2];
    std::replace(name.begin(), name.end(), '-', '_');
    return match[1].str() + name;
  });
  return std::regex_replace(out, column, "$1");
}

std::vector<std::string> in_python(std::vector<std::string> messages) {
  for (std::string& message : messages) message = in_python(message);
  return messages;
}

}  // namespace gaussmith::python
