#pragma once
// The interpreter's lock on threads that may outlive the interpreter. Python ends a thread that asks for its lock too
// late by unwinding its stack, which C++ answers by ending the process; so here nobody asks too late.

#include <nanobind/nanobind.h>

namespace gaussmith::python {

namespace nb = nanobind;

/// Holds the interpreter's lock. Throws Interrupted on other threads than the interpreter's own once that has begun to
/// end.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Gives the interpreter's lock up, and takes it again; a thread that would take it too late sleeps here.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// What `function` answers without the lock.
template <class Function>
auto unlocked(Function&& function) {
  const Unlocked released;
  return function();
}

/// Counts a run beside the interpreter as long as it lives; the end of the interpreter waits for it, within reason.
class Beside {
 public:
  Beside();
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
};

/// Whether the interpreter has begun to end: nobody waits for results any more.
[[nodiscard]] bool is_ending();

/// Has the interpreter tell us when it ends.
void watch_the_end();

}  // namespace gaussmith::python
