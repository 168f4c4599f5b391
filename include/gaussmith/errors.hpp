#pragma once
// User mistakes are exceptions thrown before any work; numerical outcomes are data (see report.hpp).

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

/// How messages call what a user can give: as fields of an options struct ("kernel", "kernel.lengthscale"), or as the
/// command line writes it ("--kernel", "--set kernel.lengthscale").
enum class Spelling { fields, command_line };

/// A mistake in what the caller handed over: one line that says what, where and what would be accepted.
class InvalidInput : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A model that does not fit together: shapes, values outside a domain, an unknown likelihood or kernel.
class InvalidModel : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// An option outside its range, or a method that the model's sites do not allow.
class InvalidOption : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// Text that cannot be read, and the place in it where reading stopped.
class InvalidFormula : public InvalidOption {
 public:
  InvalidFormula(const std::string& message, std::string text, std::size_t place)
      : InvalidOption(message), text_(std::move(text)), place_(place) {}
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t place() const { return place_; }  ///< From 0; the length of the text for its end.

 private:
  std::string text_;
  std::size_t place_;
};

/// A table, problem file or saved model that cannot be read as what it claims to be.
class InvalidFile : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// The machine failed: a file that cannot be written, a disk that is full.
class MachineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// " (did you mean matern32?)" with the known name nearest to what was typed, for messages; empty if none is near: more
/// than a third of its letters would have to be added, removed, replaced or swapped with the next.
[[nodiscard]] std::string suggestion(std::string_view typed, const std::vector<std::string>& known);

}  // namespace gaussmith
