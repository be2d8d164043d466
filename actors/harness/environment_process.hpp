/// An environment host as a child process with its protocol client: started, spoken to, and gone for certain. No
/// actors.
///
/// Owner: the environment actor. Letting go of it kills the host and its process group; it is reaped on the io thread.
#pragma once

#include "protocol/environment/client.hpp"
#include "runtimes/process/spawn.hpp"

#include <functional>
#include <memory>

namespace chalk::actors {

/// Both run on the io thread.
struct environment_process_handlers {
    std::function<void(log_line)> on_log;
    /// Once, when the host is gone or could not be started. error_class::task, with its end and its last words;
    /// error_class::harness when it could not be started. Comes also after `stop`.
    std::function<void(failure)> on_ended;
};

class environment_process {
  public:
    /// Returns at once; the io thread starts the process. `what.descriptors` must leave 0 to 2 to the protocol.
    [[nodiscard]] static std::shared_ptr<environment_process> start(boost::asio::io_context& io, process::command what,
                                                                    environment_process_handlers handlers);
    environment_process() = default;
    environment_process(const environment_process&) = delete;
    environment_process& operator=(const environment_process&) = delete;
    virtual ~environment_process() = default;

    /// Any thread; also before the host is up. `done` and, before it, `report` run on the io thread (see
    /// environment::client).
    virtual void call(std::string method, json params, milliseconds deadline,
                      std::function<void(environment::call_result)> done, environment::report_handler report) = 0;
    /// Any thread. `orderly`: asks the host to shut down and gives it config::defaults::environment_shutdown; otherwise
    /// kills it. `on_ended` follows within environment_shutdown + environment_reap.
    virtual void stop(bool orderly) = 0;
};

} // namespace chalk::actors
