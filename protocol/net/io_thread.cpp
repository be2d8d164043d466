#include "protocol/net/io_thread.hpp"

#include <csignal>

namespace chalk {

io_thread::io_thread() : work_(boost::asio::make_work_guard(context_)) {
    // Signals belong to the main thread; a handler that ran here would find sockets half-way through.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { context_.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

io_thread::~io_thread() {
    work_.reset();
    context_.stop();
    thread_.join();
}

} // namespace chalk
