/// DIR/control.sock, by which `chalk sweep ctl` asks a sweep that runs. One request a connection, one JSON object a
/// line each way (docs/protocols/sweep-control.md). Only the sweep's own user and root are heard.
#pragma once

#include "actors/sweep/sweep_control.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace chalk::cli {

/// {"command":"requeue","runs":["a.0"]}
[[nodiscard]] std::string to_line(const actors::sweep_control& what);
/// error_class::config: what is wrong with the line.
[[nodiscard]] result<actors::sweep_control> parse_control(std::string_view line);

/// Of a connection. Past one of them it is hung up on, after an error where a request was understood.
struct control_deadlines {
    milliseconds transfer{10'000}; ///< for the request to come, and for the answer to be taken
    milliseconds answer{60'000};   ///< for the sweep to have one
};

/// Owner: the command, while its sweep runs. Its destructor removes the socket and ends what is connected; the handler
/// is not called after it. It must not run within the handler.
class control_socket {
  public:
    /// Called on the io thread; must not block. The answer may come later, from any thread, or never.
    using handler = std::function<void(actors::sweep_control, std::function<void(result<std::string>)>)>;

    /// error_class::sandbox names the socket and the system's reason.
    [[nodiscard]] static result<std::unique_ptr<control_socket>> open(boost::asio::io_context& io,
                                                                      const std::filesystem::path& folder,
                                                                      handler handle, control_deadlines deadlines = {});
    control_socket() = default;
    control_socket(const control_socket&) = delete;
    control_socket& operator=(const control_socket&) = delete;
    virtual ~control_socket() = default;
};

/// Asks the sweep that runs in `folder`; blocking, at most `patience`. error_class::config when none runs there or it
/// refuses.
[[nodiscard]] result<std::string> ask_sweep(const std::filesystem::path& folder, const actors::sweep_control& what,
                                            std::chrono::seconds patience);

} // namespace chalk::cli
