/// A server with an owner as a test plays it, and a client that blocks, with a deadline on every read.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/mcp/server.hpp"
#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include <signal.h>
#include <sys/socket.h>

namespace chalk::mcp::test {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

/// The owner of a server, as a test plays it: "echo" is answered at once, "slow" when the test says so.
class owner {
  public:
    explicit owner(mcp::server_options options = {}) {
        mcp::server_handlers handlers;
        handlers.on_call = [this](mcp::call_request call, std::function<void(mcp::tool_output)> reply) {
            if (call.name == "echo") {
                reply(mcp::tool_output::text(call.arguments.value("text", "nothing")));
                return;
            }
            const std::lock_guard lock(mutex_);
            waiting_.emplace(call.number, std::move(reply));
            reporters_.emplace(call.number, std::move(call.reporter));
            changed_.notify_all();
        };
        handlers.on_cancel = [this](std::uint64_t number) {
            const std::lock_guard lock(mutex_);
            cancelled_.push_back(number);
            changed_.notify_all();
        };
        server = mcp::server::listen(io.context(), std::move(options), std::move(handlers)).value();
        server->set_tools({echo(), {"slow", "waits", {{"type", "object"}}}});
    }
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;
    ~owner() { server->close(); }

    static mcp::tool_spec echo() {
        return {
            "echo",
            "says it again",
            {{"type", "object"}, {"properties", {{"text", {{"type", "string"}}}}}, {"additionalProperties", false}}};
    }

    /// The number of the one call that waits.
    std::uint64_t wait_for_call() {
        std::unique_lock lock(mutex_);
        REQUIRE(changed_.wait_for(lock, seconds(10), [this] { return !waiting_.empty(); }));
        return waiting_.begin()->first;
    }
    std::shared_ptr<mcp::call_reporter> reporter(std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        return reporters_.at(number);
    }
    void reply(std::uint64_t number, mcp::tool_output output) {
        std::function<void(mcp::tool_output)> call;
        {
            const std::lock_guard lock(mutex_);
            call = waiting_.at(number);
            waiting_.erase(number);
        }
        call(std::move(output));
    }
    std::vector<std::uint64_t> wait_for_cancel() {
        std::unique_lock lock(mutex_);
        REQUIRE(changed_.wait_for(lock, seconds(10), [this] { return !cancelled_.empty(); }));
        return cancelled_;
    }

    io_thread io;
    std::shared_ptr<mcp::server> server;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, std::function<void(mcp::tool_output)>> waiting_;
    std::map<std::uint64_t, std::shared_ptr<mcp::call_reporter>> reporters_; ///< for good: a late one does no harm
    std::vector<std::uint64_t> cancelled_;
};

struct answer {
    unsigned status = 0;
    json body;
    std::string session;
};

/// One connection, blocking, with a deadline on every read.
class client {
  public:
    explicit client(std::uint16_t port) : port_(port) {
        // A read with a deadline is interrupted by a signal; children are the io thread's business.
        sigset_t children;
        ::sigemptyset(&children);
        ::sigaddset(&children, SIGCHLD);
        ::pthread_sigmask(SIG_BLOCK, &children, nullptr);
        socket_.connect({asio::ip::make_address("127.0.0.1"), port});
        const timeval limit{20, 0};
        ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    }

    http::request<http::string_body> post(const std::string& body) const {
        http::request<http::string_body> request(http::verb::post, "/mcp", 11);
        request.set(http::field::host, fmt::format("127.0.0.1:{}", port_));
        request.set(http::field::accept, "application/json, text/event-stream");
        request.set(http::field::content_type, "application/json");
        if (!session.empty()) {
            request.set("Mcp-Session-Id", session);
        }
        request.body() = body;
        request.prepare_payload();
        return request;
    }
    http::request<http::string_body> plain(http::verb verb) const {
        auto request = post("");
        request.method(verb);
        request.erase(http::field::content_type);
        request.set(http::field::accept, "text/event-stream");
        request.prepare_payload();
        return request;
    }

    void send(const http::request<http::string_body>& request) { http::write(socket_, request); }
    answer receive() {
        http::response_parser<http::string_body> parser;
        parser.body_limit(64U << 20U);
        http::read(socket_, buffer_, parser);
        const auto& response = parser.get();
        answer out{response.result_int(), {}, std::string(response["Mcp-Session-Id"])};
        if (!response.body().empty()) {
            out.body = json::parse(response.body());
        }
        return out;
    }
    answer ask(const http::request<http::string_body>& request) {
        send(request);
        return receive();
    }
    answer ask(const json& message) { return ask(post(message.dump())); }
    answer ask(const char* method, const json& params = json::object()) { return ask(make(++last_id, method, params)); }

    static json make(const json& id, const char* method, const json& params = json::object()) {
        return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}};
    }
    static json call(const json& id, const char* tool, const json& arguments = json::object()) {
        return make(id, "tools/call", {{"name", tool}, {"arguments", arguments}});
    }

    json initialize(const std::string& version = "2025-06-18") {
        const auto out = ask(make(0, "initialize", {{"protocolVersion", version}, {"capabilities", json::object()}}));
        REQUIRE(out.status == 200);
        REQUIRE_FALSE(out.session.empty());
        session = out.session;
        return out.body["result"];
    }

    /// After `send`: what comes until `end` has come, the head of the answer included.
    std::string receive_until(const std::string& end) {
        asio::read_until(socket_, text_, end);
        return {asio::buffers_begin(text_.data()), asio::buffers_end(text_.data())};
    }

    tcp::socket& socket() { return socket_; }
    std::string session;
    int last_id = 0;

  private:
    std::uint16_t port_;
    asio::io_context io_;
    tcp::socket socket_{io_};
    boost::beast::flat_buffer buffer_;
    asio::streambuf text_;
};

inline int error_code(const answer& a) {
    return a.body["error"].value("code", 0);
}

} // namespace chalk::mcp::test
