/// The harness's end of the environment protocol (docs/protocols/environment.md): JSON-RPC 2.0, one message a line,
/// over the standard streams of an environment host. Knows nothing of how the host was started.
///
/// Owner: the harness's environment actor. One call's answer comes exactly once: its result, the environment's error,
/// its deadline, or the end of the stream. When the host dies, every open call ends with `closed`.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"
#include "protocol/event/event.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace chalk::environment {

/// Version of the protocol that this build speaks; `initialize` refuses any other.
inline constexpr int protocol_version = 1;

/// JSON-RPC error codes: what we look for of the specification's, and our own (its server range).
enum class rpc_code : int {
    method_not_found = -32601, ///< JSON-RPC 2.0, 5.1
    environment_exception = -32000,
    student_misbehavior = -32001,
    cancelled = -32002,
};

enum class call_error_kind {
    remote,   ///< the environment answered with an error: `code`, `message`, `details` (its traceback) are its own
    timeout,  ///< the deadline passed; a `cancel` was sent
    closed,   ///< the host closed its streams or died
    protocol, ///< the host sent what the protocol does not allow; the client closed
};

/// `message` does not name the method: who called knows it.
struct call_error {
    call_error_kind kind = call_error_kind::closed;
    int code = 0;
    std::string message;
    std::string details;
};

[[noreturn]] void throw_exception_from_error(const call_error& why, const boost::source_location&);

using call_result = boost::system::result<json, call_error>;

/// How far a tool is: `done` of `total`, in whatever unit it likes.
struct tool_progress {
    double done = 0;
    std::optional<double> total;
    std::string message;
};

/// What a tool says while it runs. Its log lines go to on_log too.
using call_report = std::variant<tool_progress, log_line>;
using report_handler = std::function<void(const call_report&)>;

/// All callbacks run on the io context's thread.
struct client_handlers {
    /// What the environment's code printed or logged, a running call's lines too.
    std::function<void(log_line)> on_log;
    /// Once, when the stream ended for whatever reason. No callback follows.
    std::function<void(const call_error&)> on_closed;
};

class client {
  public:
    /// Takes over the ends of the host's streams. A line longer than 64 MiB is a protocol error; lines on
    /// `error_stream` become log lines of level warning, cut at 8 KiB each and 1,000 lines a second.
    [[nodiscard]] static std::shared_ptr<client> open(boost::asio::io_context& io, unique_fd input, unique_fd output,
                                                      unique_fd error_stream, client_handlers handlers);
    client() = default;
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    virtual ~client() = default;

    /// Any thread. `done` runs on the io thread, exactly once; `report` before it, as often as the call has something
    /// to say.
    virtual void call(std::string method, json params, milliseconds deadline, std::function<void(call_result)> done,
                      report_handler report) = 0;
    void call(std::string method, json params, milliseconds deadline, std::function<void(call_result)> done) {
        call(std::move(method), std::move(params), deadline, std::move(done), nullptr);
    }

    /// Any thread. Closes the streams: a well-behaved host ends. Open calls end with `closed`.
    virtual void close() = 0;
};

} // namespace chalk::environment
