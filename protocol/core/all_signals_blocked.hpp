/// Blocks every signal of the calling thread while it lives. A thread inherits the mask of the one that starts it, so
/// whoever starts one under this keeps signals for the threads that want them.
#pragma once

#include <signal.h>

namespace chalk {

class all_signals_blocked {
  public:
    all_signals_blocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    all_signals_blocked(const all_signals_blocked&) = delete;
    all_signals_blocked& operator=(const all_signals_blocked&) = delete;
    ~all_signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_{};
};

} // namespace chalk
