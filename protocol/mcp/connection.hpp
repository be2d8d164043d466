/// One client's connection: reads requests one after the other, answers each, keeps the deadlines.
///
/// Lives on the io thread; keeps itself alive while something is pending. When it ends, the call that it waits for is
/// cancelled and its session's stream is gone; the session stays.
#pragma once

#include "protocol/mcp/http_rules.hpp"
#include "protocol/mcp/tool_host.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk::mcp {

class connection : public std::enable_shared_from_this<connection> {
  public:
    connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<tool_host> host,
               std::shared_ptr<const access_rules> rules, std::function<void(const connection*)> ended);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection();

    void start();
    /// Any state; what is under way is dropped.
    void close();
    /// Between two requests: may be closed without harm to anyone.
    [[nodiscard]] bool idle() const noexcept { return idle_; }

  private:
    using request_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
    struct exchange; ///< one POST: its messages' answers

    void wait_for_request();
    void read_header();
    void on_header();
    void read_body();
    void on_request();
    void on_post();
    void initialize(const json& id, const json& params);
    void dispatch(const std::shared_ptr<session>& from, std::vector<json> messages, bool batch);
    void open_stream(const std::shared_ptr<session>& of);
    void write_stream();

    void answer(const std::shared_ptr<exchange>& of, std::optional<json> response);
    void watch_client();
    void respond(boost::beast::http::status status, std::string body, const std::string& session_id = {},
                 bool last = false);
    void reject(const rejection& why, bool last = false);
    void reject_rpc(boost::beast::http::status status, rpc_error code, std::string_view message);

    boost::beast::tcp_stream stream_;
    std::shared_ptr<tool_host> host_;
    std::shared_ptr<const access_rules> rules_;
    std::function<void(const connection*)> ended_;
    boost::beast::flat_buffer buffer_;
    std::optional<request_parser> parser_;
    std::shared_ptr<exchange> current_; ///< set while calls of a POST are under way
    std::shared_ptr<session> streamed_; ///< whose messages this connection carries after a GET
    std::deque<std::string> outgoing_;
    std::size_t outgoing_bytes_ = 0;
    bool writing_ = false;
    bool idle_ = true;
};

} // namespace chalk::mcp
