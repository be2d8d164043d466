#include "cli/run/ports.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace chalk::cli {

result<void> check_ports(std::uint16_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t port = first + i;
        if (port > 65'535 || first == 0) {
            return config_failure(
                fmt::format("websocket_port: {} runs from port {} on leave the range 1 to 65535", count, first));
        }
        const unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int on = 1;
        ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
            ::listen(fd.get(), 1) != 0) {
            return config_failure(
                fmt::format("websocket_port: port {} (run {} of {}) cannot be used: {}; another chalk "
                            "may have it: choose others with --websocket-port",
                            port, i, count, std::generic_category().message(errno)));
        }
    }
    return {};
}

} // namespace chalk::cli
