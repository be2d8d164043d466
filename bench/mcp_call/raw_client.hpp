/// A client of the tool server that writes bytes to a socket and reads the answer's, so that nothing but the server is
/// measured. Blocks; ends the program when anything is amiss.
#pragma once

#include "protocol/event/event.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace chalk::bench {

[[noreturn]] inline void die(const std::string& what) {
    fmt::print(stderr, "bench: {}\n", what);
    std::exit(1);
}

/// One connection; blocks.
class raw_client {
  public:
    explicit raw_client(std::uint16_t port, std::string token)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), token_(std::move(token)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
            die("connect failed");
        }
        const int on = 1;
        const timeval limit{20, 0};
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        const auto head =
            ask(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
                R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})");
        constexpr std::string_view name = "Mcp-Session-Id: ";
        const auto at = head.find(name);
        if (at == std::string::npos) {
            die("no session: " + head);
        }
        session_ = head.substr(at, head.find("\r\n", at) + 2 - at);
    }
    raw_client(const raw_client&) = delete;
    raw_client& operator=(const raw_client&) = delete;
    ~raw_client() { ::close(fd_); }

    /// The whole answer, head and body.
    std::string ask(const std::string& body) {
        const auto request = fmt::format("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                         "Accept: application/json, text/event-stream\r\nAuthorization: Bearer {}\r\n"
                                         "{}Content-Length: {}\r\n\r\n{}",
                                         token_, session_, body.size(), body);
        if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
            die("send failed");
        }
        std::string got;
        std::size_t whole = std::string::npos;
        while (got.size() < whole) {
            char bytes[16384];
            const auto n = ::recv(fd_, bytes, sizeof bytes, 0);
            if (n <= 0) {
                die("the server is gone; it said: " + got);
            }
            got.append(bytes, static_cast<std::size_t>(n));
            const auto end = got.find("\r\n\r\n");
            if (whole == std::string::npos && end != std::string::npos) {
                constexpr std::string_view name = "Content-Length: ";
                const auto at = got.find(name);
                whole =
                    end + 4 + (at < end ? std::strtoul(got.c_str() + at + name.size(), nullptr, 10) : std::size_t(0));
            }
        }
        return got;
    }

  private:
    int fd_;
    std::string token_;
    std::string session_;
};

/// Calls the tool "nothing" `count` times, one after the other, on one connection.
inline json measure(std::uint16_t port, const std::string& token, int count) {
    raw_client client(port, token);
    std::vector<double> took;
    for (int i = -count / 10; i < count; ++i) { // a tenth more, to warm up
        const auto body = fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"nothing","arguments":{{}}}}}})",
            i + count);
        const auto began = std::chrono::steady_clock::now();
        const auto answer = client.ask(body);
        const std::chrono::duration<double, std::micro> one = std::chrono::steady_clock::now() - began;
        if (answer.find(R"("isError":false)") == std::string::npos) {
            die("the call failed: " + answer);
        }
        if (i >= 0) {
            took.push_back(one.count());
        }
    }
    std::sort(took.begin(), took.end());
    double sum = 0;
    for (const auto one : took) {
        sum += one;
    }
    const auto at = [&](double part) {
        return took[static_cast<std::size_t>(part * static_cast<double>(took.size() - 1))];
    };
    return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}, {"mean_us", sum / static_cast<double>(took.size())}};
}

/// The one argument of both programs.
inline int count_of(int argc, char** argv) {
    const int count = argc > 1 ? std::atoi(argv[1]) : 10'000;
    if (count < 10) {
        die("the only argument is a count of at least 10");
    }
    return count;
}

} // namespace chalk::bench
