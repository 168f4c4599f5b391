#include "robust_options.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>

namespace reproduce {

Options parse_options(int argc, char** argv, const Options& defaults, const std::vector<std::string>& data_sets) {
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
    } else if (name == "--data") {
      options.data = value;
    } else {
      throw std::invalid_argument("unknown option " + name +
                                  "; there are --sets --seed --restarts --start --scale --threads --only --data");
    }
  }
  if (!options.only.empty() && std::find(data_sets.begin(), data_sets.end(), options.only) == data_sets.end()) {
    std::string known;
    for (const std::string& name : data_sets) known += (known.empty() ? "" : ", ") + name;
    throw std::invalid_argument("--only takes one of " + known + ", not " + options.only);
  }
  return options;
}

int run_program(const char* name, int argc, char** argv, const Options& defaults,
                const std::vector<std::string>& data_sets, const std::function<void(const Options&)>& run) {
  try {
    const auto start = std::chrono::steady_clock::now();
    run(parse_options(argc, argv, defaults, data_sets));
    std::printf("\n%.0f seconds in all\n",
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace reproduce
