#include "network/options.hpp"

namespace gaussmith {

void check_options(const NetworkEp& method) {
  NetworkEp copy = method;
  fields(copy,
         [](const char* name, auto& member, const auto& domain, const char* /*help*/) { check(member, domain, name); });
}

const std::vector<MethodOptionInfo>& network_options() {
  static const std::vector<MethodOptionInfo> all = [] {
    std::vector<MethodOptionInfo> out;
    NetworkEp prototype;
    fields(prototype, [&](const char* name, auto& member, const auto& domain, const char* help) {
      out.push_back({name, written(member, domain), describe(domain), help});
    });
    return out;
  }();
  return all;
}

NetworkEp make_network_ep(const std::map<std::string, std::string, std::less<>>& options) {
  NetworkEp method;
  auto left = options;
  std::vector<std::string> known;
  fields(method, [&](const char* name, auto& member, const auto& domain, const char* /*help*/) {
    known.emplace_back(name);
    const auto it = left.find(name);
    if (it == left.end()) return;
    assign(member, domain, name, it->second);
    left.erase(it);
  });
  if (!left.empty())
    throw InvalidOption(fmt::format("there is no option {}{}; there are {}", left.begin()->first,
                                    suggestion(left.begin()->first, known), fmt::join(known, ", ")));
  return method;
}

std::vector<std::pair<std::string, std::string>> options_of(const NetworkEp& method, bool only_changed) {
  NetworkEp copy = method;
  std::vector<std::pair<std::string, std::string>> all;
  fields(copy, [&](const char* name, auto& member, const auto& domain, const char* /*help*/) {
    all.emplace_back(name, written(member, domain));
  });
  if (!only_changed) return all;
  std::vector<std::pair<std::string, std::string>> changed;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].second != network_options()[i].default_value) changed.push_back(all[i]);
  return changed;
}

}  // namespace gaussmith
