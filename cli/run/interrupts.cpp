#include "cli/run/interrupts.hpp"

#include "cli/commands.hpp"

#include <boost/asio/post.hpp>

#include <csignal>
#include <cstdlib>
#include <future>
#include <utility>

namespace chalk::cli {

namespace {

std::string name_of(int signal) {
    switch (signal) {
    case SIGINT:
        return "interrupted (Ctrl-C)";
    case SIGTERM:
        return "interrupted (SIGTERM)";
    default:
        return "interrupted (the terminal went away)";
    }
}

} // namespace

interrupts::interrupts(boost::asio::io_context& io, std::function<void(const std::string&)> first,
                       std::function<void(const std::string&)> second, std::function<void()> hangup)
    : first_(std::move(first)), second_(std::move(second)), hangup_(std::move(hangup)),
      signals_(io, SIGINT, SIGTERM, SIGHUP) {
    wait();
}

interrupts::~interrupts() {
    std::promise<void> done;
    boost::asio::post(signals_.get_executor(), [this, &done] {
        boost::system::error_code ignored; // nothing to do about a signal set that does not cancel
        signals_.cancel(ignored);
        // A signal that came just before has its handler in the queue already: let that run first.
        boost::asio::post(signals_.get_executor(), [&done] { done.set_value(); });
    });
    done.get_future().wait();
}

void interrupts::wait() {
    signals_.async_wait([this](boost::system::error_code ec, int signal) {
        if (ec) {
            return;
        }
        if (signal == SIGHUP && hangup_) {
            hangup_();
            wait();
            return;
        }
        switch (++count_) {
        case 1:
            first_(name_of(signal));
            break;
        case 2:
            second_(name_of(signal) + " twice");
            break;
        default:
            std::_Exit(static_cast<int>(exit_code::interrupted));
        }
        wait();
    });
}

} // namespace chalk::cli
