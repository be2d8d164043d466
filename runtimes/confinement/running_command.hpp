/// One command of the student, from its start to its result: reads what it prints, keeps its deadline, kills it.
///
/// Lives on the io thread; keeps itself alive until its result is delivered and its output's pipe has ended.
#pragma once

#include "runtimes/confinement/call_scope.hpp"
#include "runtimes/confinement/captured_output.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>

namespace chalk::confinement {

class running_command : public std::enable_shared_from_this<running_command> {
  public:
    using completion = std::function<void(result<command_result>)>;

    running_command(boost::asio::io_context& io, std::shared_ptr<call_scope> scope, completion done);

    /// Once. `done` may run before it returns, when the command cannot be started.
    void start(const student_settings& settings, student_command what);
    /// Kills the command and all that it started; `done` still comes.
    void cancel();
    /// Lets go of the pipe that background processes may still hold.
    void close_output();
    /// True until `done` ran.
    [[nodiscard]] bool running() const noexcept { return done_ != nullptr; }
    /// True while background processes still hold the pipe.
    [[nodiscard]] bool has_output() const noexcept { return output_.is_open(); }

  private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] result<process::child> spawn(const student_settings& settings, const student_command& what);
    void read_output();
    bool read_some(std::size_t most);
    void on_timeout();
    void on_exit(process::exit_status status);
    void kill_all_of_it();
    void finish();
    void finish(result<command_result> outcome);

    boost::asio::io_context& io_;
    std::shared_ptr<call_scope> scope_;
    completion done_;
    boost::asio::posix::stream_descriptor output_;
    boost::asio::steady_timer deadline_;
    boost::asio::steady_timer killing_;
    captured_output captured_;
    std::function<void(std::string_view)> on_output_;
    command_result result_;
    milliseconds grace_{0};
    clock::time_point started_;
    clock::time_point give_up_;
    pid_t leader_ = -1;
    bool exited_ = false;
    bool kill_started_ = false;
};

} // namespace chalk::confinement
