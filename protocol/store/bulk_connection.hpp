/// One connection for bulk data (docs/protocols/cluster-bulk.md): takes frames apart, answers what the other side wants
/// out of the shelf, and hands everything else to its user.
///
/// Owner: a bulk_peer; lost with it is only what was under way. It reads a message when the one before is dealt with,
/// and makes a chunk when the one before is written, so that a slow disk or a slow peer stops the other side and costs
/// no memory. On the io thread.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/store/bulk_messages.hpp"
#include "protocol/store/bulk_meter.hpp"
#include "protocol/store/chunk_outbox.hpp"
#include "protocol/store/manifest_outbox.hpp"
#include "protocol/store/shelf_reader.hpp"
#include "protocol/store/work_lane.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace chalk::store {

/// What a connection calls, on the io thread. None may be empty.
struct bulk_user {
    /// What is not for the shelf. The next message comes after `go_on` is called, once, now or later.
    std::function<void(bulk_message&& message, std::function<void()> go_on)> on_message;
    /// What may be sent when nothing more urgent is to be. nullopt: nothing, until wake() is called.
    std::function<std::optional<bulk_message>()> next_offer;
    /// The other side closed, broke a rule (which it is told), or the socket failed. Once, and last of all calls; not
    /// after close().
    std::function<void(const std::string& why)> on_end;
};

class bulk_connection : public std::enable_shared_from_this<bulk_connection> {
  public:
    /// `lane` is one work wide.
    bulk_connection(boost::asio::io_context& io, std::shared_ptr<work_lane> lane,
                    std::shared_ptr<const tree_shelf> shelf, std::shared_ptr<bulk_meter> meter, bulk_user user);

    /// Once. `fd` is a connected local stream socket.
    void start(unique_fd fd);

    /// Sent before offers, manifests and chunks, in order.
    void send(const bulk_message& message);
    /// next_offer() has something.
    void wake() { pump(); }

    /// Without a call to on_end.
    void close();
    /// The peer broke a rule: it is told, as far as it reads, and on_end is called.
    void refuse(const std::string& why);
    /// With on_end, and without a word to the peer.
    void end(const std::string& why);

    /// How long the frame that is being written has been.
    [[nodiscard]] std::chrono::steady_clock::duration writing_for(std::chrono::steady_clock::time_point now) const;

  private:
    /// Above it nothing is read until the peer has read some. A peer that keeps the rules never makes us owe so much.
    static constexpr std::size_t most_unsent = 256 * 1024;

    void read();
    void take(std::string_view data);
    void act();
    [[nodiscard]] result<void> act_on(bulk_message&& message);
    void pump();
    [[nodiscard]] std::optional<std::string> next_frame();
    void read_chunk(const chunk_outbox::item& item);
    void write(std::string frame);
    [[nodiscard]] std::string frame_of(const bulk_message& message);

    boost::asio::local::stream_protocol::socket socket_;
    std::shared_ptr<work_lane> lane_;
    std::shared_ptr<const tree_shelf> shelf_;
    std::shared_ptr<bulk_meter> meter_;
    bulk_user user_;

    bulk_decoder decoder_;
    std::array<char, 128 * 1024> buffer_{};
    std::deque<bulk_message> inbox_; ///< of one read
    std::uint64_t in_hand_ = 0;      ///< bytes of inbox_ and of what the user works on
    bool reading_ = false;
    bool acting_ = false;    ///< in act()
    bool user_busy_ = false; ///< until it calls go_on

    std::shared_ptr<shelf_reader> reader_; ///< used in the lane alone
    manifest_outbox manifests_;
    chunk_outbox chunks_;
    std::deque<std::string> unsent_; ///< send()'s
    std::size_t unsent_bytes_ = 0;
    std::optional<std::string> made_; ///< a chunk's frame
    bool making_ = false;
    std::string writing_; ///< empty: nothing
    std::chrono::steady_clock::time_point write_began_;
    bool ended_ = false;
};

} // namespace chalk::store
