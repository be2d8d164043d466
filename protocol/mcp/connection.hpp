/// One client's connection: reads requests one after the other, answers each, keeps the deadlines.
///
/// Lives on the io thread; keeps itself alive while something is pending. When it ends, the exchange that it carries is
/// told, and its session's stream is gone; the session stays.
#pragma once

#include "protocol/mcp/exchange.hpp"
#include "protocol/mcp/http_rules.hpp"
#include "protocol/mcp/json_rpc.hpp"
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

class connection final : public carrier, public std::enable_shared_from_this<connection> {
  public:
    connection(boost::asio::io_context& io, boost::asio::ip::tcp::socket socket, std::shared_ptr<tool_host> host,
               std::shared_ptr<const access_rules> rules, std::function<void(const connection*)> ended);
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() override;

    void start();
    /// Any state; what is under way is dropped.
    void close();
    /// Between two requests: may be closed without harm to anyone.
    [[nodiscard]] bool idle() const noexcept { return idle_; }

  private:
    using request_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

    void wait_for_request();
    void read_header();
    void on_header();
    void read_body();
    void on_request();
    void on_get(const std::shared_ptr<session>& of);
    void on_post();
    void on_session_post(const message_body& body);
    void on_stateless_post(const message_body& body);
    void initialize(const json& id, const json& params);
    void carry(const std::shared_ptr<session>& from, const message_body& body);
    void watch_client();
    void end_stream_with_client();

    void send_whole(std::optional<json> body) override;
    void begin_events() override;
    void send_event(const std::string& text) override;
    void end_events() override;

    void open_session_stream(const std::shared_ptr<session>& of);
    void begin_event_stream(const std::string& session_id);
    void write_events();
    void respond(boost::beast::http::status status, std::string body, const std::string& session_id = {},
                 bool last = false);
    void reject(const rejection& why, bool last = false);
    void reject_rpc(const json& id, const rpc_failure& why);
    /// Of a request to a session: is MCP-Protocol-Version absent or one of those with sessions? Else it is rejected.
    bool version_is_fine();
    /// The session that the request names; else it is rejected.
    std::shared_ptr<session> session_of_request();

    boost::asio::io_context& io_;
    boost::beast::tcp_stream stream_;
    std::shared_ptr<tool_host> host_;
    std::shared_ptr<const access_rules> rules_;
    std::function<void(const connection*)> ended_;
    boost::beast::flat_buffer buffer_;
    std::optional<request_parser> parser_;
    std::shared_ptr<exchange> current_;        ///< that this connection carries
    std::shared_ptr<session> current_session_; ///< its
    std::shared_ptr<session> streamed_;        ///< whose messages this connection carries after a GET
    std::deque<std::string> outgoing_;         ///< of a stream of events
    std::size_t outgoing_bytes_ = 0;
    bool chunked_ = false; ///< the stream of events; else its end is that of the connection
    bool writing_ = false;
    bool ending_ = false; ///< when all of it is written
    bool idle_ = true;
};

} // namespace chalk::mcp
