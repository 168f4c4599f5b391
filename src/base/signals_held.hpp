#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace gaussmith {

/// No signal that can wait interrupts this thread while one of these lives; threads made meanwhile inherit that.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    // Faults of this thread cannot wait, and profilers count by theirs.
    for (const int urgent : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPROF}) sigdelset(&all, urgent);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_ = {};
};

}  // namespace gaussmith
