#include "robust_options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace reproduce {
namespace {

void check_choice(const std::string& option, const std::string& value, const std::vector<std::string>& choices) {
  if (value.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  std::string known;
  for (const std::string& name : choices) known += (known.empty() ? "" : ", ") + name;
  throw std::invalid_argument(option + " takes one of " + known + ", not " + value);
}

}  // namespace

Options parse_options(int argc, char** argv, const Options& defaults, const Choices& choices) {
  Options options = defaults;
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(name + " wants a value");
    const std::string value = argv[i + 1];
    if (name == "--sets") {
      options.sets = std::stoi(value);
      if (options.sets < 2) throw std::invalid_argument("--sets wants at least 2, for standard errors");
    } else if (name == "--seed") {
      options.protocol.seed = std::stoull(value);
    } else if (name == "--restarts") {
      options.protocol.restarts = std::stoi(value);
    } else if (name == "--start") {
      options.protocol.start = std::stod(value);
    } else if (name == "--scale") {
      options.protocol.scales = {std::stod(value)};
    } else if (name == "--threads") {
      options.threads = std::max(1, std::stoi(value));
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--method" && !choices.methods.empty()) {
      options.method = value;
    } else if (name == "--data") {
      options.data = value;
    } else {
      throw std::invalid_argument("unknown option " + name +
                                  "; there are --sets --seed --restarts --start --scale --threads --only --data" +
                                  (choices.methods.empty() ? "" : " --method"));
    }
  }
  check_choice("--only", options.only, choices.data_sets);
  check_choice("--method", options.method, choices.methods);
  return options;
}

int run_program(const char* name, int argc, char** argv, const Options& defaults, const Choices& choices,
                const std::function<void(const Options&)>& run) {
  try {
    const auto start = std::chrono::steady_clock::now();
    run(parse_options(argc, argv, defaults, choices));
    std::printf("\n%.0f seconds in all\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace reproduce
