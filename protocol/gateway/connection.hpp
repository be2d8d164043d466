/// One client's connection to its run's socket: HTTP/1.1, one request after the other. Reads a request whole, passes
/// the answer through piece by piece, and holds the provider back when the client does not read.
///
/// Owner: the run's listener. Belongs to the io thread.
#pragma once

#include "protocol/gateway/exchange.hpp"
#include "protocol/gateway/message_source.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <deque>

namespace chalk::gateway {

class connection : public std::enable_shared_from_this<connection> {
  public:
    using socket = boost::asio::local::stream_protocol::socket;

    /// `messages` is null for a run whose agent is no external one.
    connection(socket from, std::shared_ptr<upstream> up, std::shared_ptr<account> payer,
               std::shared_ptr<message_source> messages, std::function<void(const connection*)> ended);

    void start() { wait_for_request(); }
    void close();
    [[nodiscard]] bool idle() const noexcept { return idle_; }

  private:
    void wait_for_request();
    void read_header();
    void on_header();
    void read_body();
    void on_request();
    void ask_for_message(std::string body);
    void watch_client();

    void refuse(const refusal& why, bool last = false);
    void tell_spending();
    void answer_whole(unsigned status, const std::string& body, std::string_view more_headers);
    void begin_answer(const curl::http_head& head);
    void add_data(std::string_view bytes);
    void end_answer(bool whole);
    void queue(std::string text);
    void write();
    void answered();

    boost::beast::basic_stream<boost::asio::local::stream_protocol> stream_;
    boost::beast::flat_buffer buffer_;
    std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
    std::shared_ptr<upstream> up_;
    std::shared_ptr<account> payer_;
    std::shared_ptr<message_source> messages_;
    std::function<void(const connection*)> ended_;

    api which_ = api::chat_completions;
    bool wants_message_ = false;           ///< the request is for the external agent's next message
    std::shared_ptr<exchange> current_;    ///< at most one of these two
    std::optional<std::uint64_t> awaited_; ///< the message's number
    bool idle_ = true;
    bool closed_ = false;
    bool keep_alive_ = false;
    bool chunked_ = true;
    bool complete_ = false; ///< all of the answer is queued
    bool broken_ = false;   ///< and then the connection must break
    bool paused_ = false;
    bool writing_ = false;
    std::deque<std::string> outgoing_;
    std::size_t outgoing_bytes_ = 0;
};

} // namespace chalk::gateway
