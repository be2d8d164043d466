#include "protocol/store/bulk_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <utility>

#include <sys/socket.h>

namespace chalk::store {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Of its content; what is around it is small and bounded.
std::uint64_t weight_of(const bulk_message& message) noexcept {
    if (const auto* sent = std::get_if<chunk_sent>(&message); sent != nullptr) {
        return sent->data.size();
    }
    const auto* piece = std::get_if<manifest_piece>(&message);
    return piece != nullptr ? piece->data.size() : 0;
}

} // namespace

bulk_connection::bulk_connection(asio::io_context& io, std::shared_ptr<work_lane> lane,
                                 std::shared_ptr<const tree_shelf> shelf, std::shared_ptr<bulk_meter> meter,
                                 bulk_user user)
    : socket_(io), lane_(std::move(lane)), shelf_(std::move(shelf)), meter_(std::move(meter)), user_(std::move(user)),
      reader_(std::make_shared<shelf_reader>(shelf_)) {}

void bulk_connection::start(unique_fd fd) {
    error_code failed;
    socket_.assign(asio::local::stream_protocol(), fd.get(), failed);
    if (failed) {
        end(fmt::format("the bulk connection's socket cannot be used: {}", failed.message()));
        return;
    }
    (void)fd.release(); // the socket's now
    read();
    pump();
}

void bulk_connection::close() {
    if (std::exchange(ended_, true)) {
        return;
    }
    error_code ignored; // it ends either way
    socket_.close(ignored);
    meter_->let_go(in_hand_ + unsent_bytes_ + writing_.size() + (made_ ? made_->size() : 0));
    in_hand_ = 0;
    inbox_.clear();
    // Its folders are closed where one may block, after what is under way.
    lane_->run([reader = std::move(reader_)]() mutable { reader.reset(); }, [] {});
}

void bulk_connection::end(const std::string& why) {
    if (ended_) {
        return;
    }
    const auto self = shared_from_this(); // its user lets go of it
    close();
    user_.on_end(why);
}

void bulk_connection::refuse(const std::string& why) {
    if (ended_) {
        return;
    }
    if (writing_.empty()) { // else the peer would take it for content
        const auto frame = frame_of(bulk_error{bulk_fault::broken_rule, {}, why});
        // A courtesy: what does not fit into the socket is not waited for.
        (void)::send(socket_.native_handle(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    end(fmt::format("the peer broke a rule of the bulk connection: {}", why));
}

void bulk_connection::read() {
    if (ended_ || reading_ || user_busy_ || !inbox_.empty() || unsent_bytes_ > most_unsent) {
        return;
    }
    reading_ = true;
    socket_.async_read_some(
        asio::buffer(buffer_), [self = shared_from_this()](const error_code& failed, std::size_t size) {
            self->reading_ = false;
            if (self->ended_) {
                return;
            }
            if (failed) {
                self->end(failed == asio::error::eof ? std::string("the peer closed the bulk connection")
                                                     : fmt::format("the bulk connection failed: {}", failed.message()));
                return;
            }
            self->take({self->buffer_.data(), size});
        });
}

void bulk_connection::take(std::string_view data) {
    meter_->received += data.size();
    const auto fed = decoder_.feed(data, [&](bulk_message&& message) -> result<void> {
        const auto weight = weight_of(message);
        in_hand_ += weight;
        meter_->hold(weight);
        inbox_.push_back(std::move(message));
        return {};
    });
    act(); // also on what came before the fault
    if (!fed) {
        refuse(fed.error().message);
    }
}

void bulk_connection::act() {
    if (std::exchange(acting_, true)) {
        return; // the user went on at once: the loop below does
    }
    while (!ended_ && !user_busy_ && !inbox_.empty()) {
        auto message = std::move(inbox_.front());
        inbox_.pop_front();
        if (const auto done = act_on(std::move(message)); !done) {
            refuse(done.error().message);
        }
    }
    acting_ = false;
    read();
    pump();
}

result<void> bulk_connection::act_on(bulk_message&& message) {
    if (const auto* tree = std::get_if<want_tree>(&message); tree != nullptr) {
        return manifests_.want(*tree);
    }
    if (const auto* chunks = std::get_if<want_chunks>(&message); chunks != nullptr) {
        return chunks_.want(*chunks);
    }
    if (const auto* error = std::get_if<bulk_error>(&message);
        error != nullptr && error->code == bulk_fault::broken_rule) {
        end(fmt::format("the peer says that a rule of the bulk connection was broken: {}", error->message));
        return {};
    }
    user_busy_ = true;
    const auto weight = weight_of(message);
    user_.on_message(std::move(message), [self = shared_from_this(), weight] {
        if (self->ended_) {
            return; // close() let go of it
        }
        self->in_hand_ -= weight;
        self->meter_->let_go(weight);
        self->user_busy_ = false;
        self->act();
    });
    return {};
}

std::string bulk_connection::frame_of(const bulk_message& message) {
    // What is sent is made here or was read from the shelf, within the bounds.
    return to_frame(message).value();
}

void bulk_connection::send(const bulk_message& message) {
    if (ended_) {
        return;
    }
    unsent_.push_back(frame_of(message));
    unsent_bytes_ += unsent_.back().size();
    meter_->hold(unsent_.back().size());
    pump();
}

void bulk_connection::pump() {
    if (ended_ || !writing_.empty()) {
        return;
    }
    if (auto frame = next_frame()) {
        write(std::move(*frame));
    }
}

std::optional<std::string> bulk_connection::next_frame() {
    if (!unsent_.empty()) {
        auto frame = std::move(unsent_.front());
        unsent_.pop_front();
        unsent_bytes_ -= frame.size();
        return frame;
    }
    const auto counted = [&](const bulk_message& message) {
        auto frame = frame_of(message);
        meter_->hold(frame.size());
        return frame;
    };
    if (const auto offered = user_.next_offer()) {
        return counted(*offered);
    }
    if (made_) {
        return std::exchange(made_, std::nullopt);
    }
    if (const auto tree = manifests_.next_tree()) {
        const auto shelved = shelf_->find(*tree);
        if (!shelved) {
            manifests_.refuse();
            return counted(bulk_error{bulk_fault::unknown_tree, *tree, "it is not here (any more)"});
        }
        manifests_.begin(shelved->text);
    }
    if (const auto piece = manifests_.next_piece()) {
        return counted(*piece);
    }
    if (!making_) {
        if (const auto item = chunks_.next()) {
            read_chunk(*item);
        }
    }
    return std::nullopt;
}

void bulk_connection::read_chunk(const chunk_outbox::item& item) {
    making_ = true;
    lane_->run_for<std::string>(
        [reader = reader_, item] {
            auto data = reader->read(item.tree, item.chunk);
            // Within the bounds: a chunk of the shelf's, or a text that is cut.
            return data ? to_frame(chunk_sent{item.chunk, std::move(*data)}).value()
                        : to_frame(bulk_error{bulk_fault::unknown_chunk, item.chunk, data.error().message}).value();
        },
        [self = shared_from_this()](std::string&& frame) {
            self->making_ = false;
            if (self->ended_) {
                return;
            }
            self->meter_->hold(frame.size());
            self->made_ = std::move(frame);
            self->pump();
        });
}

void bulk_connection::write(std::string frame) {
    writing_ = std::move(frame);
    write_began_ = std::chrono::steady_clock::now();
    asio::async_write(socket_, asio::buffer(writing_),
                      [self = shared_from_this()](const error_code& failed, std::size_t size) {
                          self->meter_->sent += size;
                          if (self->ended_) {
                              return;
                          }
                          if (failed) {
                              self->end(fmt::format("the bulk connection failed: {}", failed.message()));
                              return;
                          }
                          self->meter_->let_go(self->writing_.size());
                          self->writing_ = {};
                          self->pump();
                          self->read(); // where it waited for the peer to read
                      });
}

std::chrono::steady_clock::duration bulk_connection::writing_for(std::chrono::steady_clock::time_point now) const {
    return writing_.empty() ? std::chrono::steady_clock::duration::zero() : now - write_began_;
}

} // namespace chalk::store
