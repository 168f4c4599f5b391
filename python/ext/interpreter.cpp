#include "interpreter.hpp"

#include "gaussmith/report.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace gaussmith::python {

namespace {

using namespace std::chrono_literals;

/// What the end of the interpreter waits for at most: a step of a run, or a function of the caller that does not
/// return.
constexpr auto patience = 2s;

std::atomic<bool> ending = false;
std::atomic<std::thread::id> ender;  ///< The thread that ends the interpreter, which may have its lock until the end.
std::atomic<int> asking = 0;         ///< Threads that ask for the lock, or run Python inside C++.
std::atomic<int> beside = 0;

/// Who has entered is waited for by end(); only its own thread enters after it.
bool enter() {
  ++asking;
  if (!ending || ender.load() == std::this_thread::get_id()) return true;
  --asking;
  return false;
}

void leave() { --asking; }

/// At the beginning of the end, on the thread that ends it.
void end() {
  ender = std::this_thread::get_id();
  ending = true;
  const Unlocked released;
  const auto last = std::chrono::steady_clock::now() + patience;
  while ((asking > 0 || beside > 0) && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(1ms);
}

}  // namespace

Locked::Locked() {
  if (!enter()) throw Interrupted();
  state_ = PyGILState_Ensure();
}

Locked::~Locked() {
  PyGILState_Release(state_);
  leave();
}

Unlocked::Unlocked() : state_(PyEval_SaveThread()) {}

Unlocked::~Unlocked() {
  while (!enter()) std::this_thread::sleep_for(1h);
  PyEval_RestoreThread(state_);
  leave();
}

Beside::Beside() { ++beside; }
Beside::~Beside() { --beside; }

bool is_ending() { return ending; }

void watch_the_end() {
  // A child of fork() has none of the other threads.
  pthread_atfork(nullptr, nullptr, [] {
    asking = 0;
    beside = 0;
  });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] { end(); }));
}

}  // namespace gaussmith::python
