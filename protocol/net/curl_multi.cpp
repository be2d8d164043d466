#include "protocol/net/curl_multi.hpp"

#include <utility>

namespace chalk::curl {

namespace asio = boost::asio;
using wait_type = asio::posix::descriptor_base::wait_type;

/// Idle connections that are kept for the next request.
constexpr long kept_connections = 64;

struct curl_multi::watch {
    watch(asio::io_context& io, curl_socket_t fd) : descriptor(io, fd) {}
    ~watch() {
        if (descriptor.is_open()) {
            descriptor.release(); // libcurl closes it
        }
    }

    asio::posix::stream_descriptor descriptor;
    int wanted = CURL_POLL_NONE;
    bool reading = false; ///< a wait for it is under way
    bool writing = false;
};

curl_multi::curl_multi(asio::io_context& io, const curl_library& curl, std::function<void(CURL*, CURLcode)> done)
    : io_(io), curl_(curl), done_(std::move(done)), multi_(curl.curl_multi_init()), timer_(io) {}

curl_multi::~curl_multi() {
    // Its last words still close sockets, of which the watches must hear.
    curl_.curl_multi_cleanup(multi_);
}

void curl_multi::begin() {
    curl_.curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &curl_multi::on_socket);
    curl_.curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl_.curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &curl_multi::on_timer);
    curl_.curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl_.curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kept_connections);
}

void curl_multi::add(CURL* easy) {
    curl_.curl_multi_add_handle(multi_, easy);
}

void curl_multi::remove(CURL* easy) {
    curl_.curl_multi_remove_handle(multi_, easy);
}

void curl_multi::close() {
    done_ = nullptr;
    timer_.cancel();
}

void curl_multi::act(curl_socket_t fd, int events) {
    int running = 0;
    curl_.curl_multi_socket_action(multi_, fd, events, &running);
    collect();
}

void curl_multi::collect() {
    int left = 0;
    while (const CURLMsg* message = curl_.curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE && done_) {
            done_(message->easy_handle, message->data.result); // the message is gone with the handle's removal
        }
    }
}

int curl_multi::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    static_cast<curl_multi*>(self)->want(fd, what);
    return 0;
}

int curl_multi::on_timer(CURLM*, long after_ms, void* self) {
    static_cast<curl_multi*>(self)->set_timer(after_ms);
    return 0;
}

void curl_multi::want(curl_socket_t fd, int what) {
    if (what == CURL_POLL_REMOVE) {
        if (const auto found = watches_.extract(fd)) {
            found.mapped()->wanted = CURL_POLL_NONE;
            found.mapped()->descriptor.release(); // ends the waits
        }
        return;
    }
    auto& on = watches_[fd];
    if (!on) {
        on = std::make_shared<watch>(io_, fd);
    }
    on->wanted = what;
    if ((what & CURL_POLL_IN) != 0) {
        wait(on, asio::posix::descriptor_base::wait_read);
    }
    if ((what & CURL_POLL_OUT) != 0) {
        wait(on, asio::posix::descriptor_base::wait_write);
    }
}

/// One wait a direction at most. One that fires for a direction that is no longer wanted (a paused transfer) is
/// dropped.
void curl_multi::wait(const std::shared_ptr<watch>& on, wait_type how) {
    const bool read = how == asio::posix::descriptor_base::wait_read;
    bool& waiting = read ? on->reading : on->writing;
    if (std::exchange(waiting, true)) {
        return;
    }
    on->descriptor.async_wait(how, [weak = weak_from_this(), on, how, read](const boost::system::error_code& failed) {
        (read ? on->reading : on->writing) = false;
        const int bit = read ? CURL_POLL_IN : CURL_POLL_OUT;
        const auto self = weak.lock();
        if (!self || failed == asio::error::operation_aborted || (on->wanted & bit) == 0) {
            return;
        }
        self->act(on->descriptor.native_handle(),
                  failed ? CURL_CSELECT_ERR : (read ? CURL_CSELECT_IN : CURL_CSELECT_OUT));
        if ((on->wanted & bit) != 0 && on->descriptor.is_open()) {
            self->wait(on, how);
        }
    });
}

void curl_multi::set_timer(long after_ms) {
    if (after_ms < 0) {
        timer_.cancel();
        return;
    }
    // Also for 0: libcurl must not be called from its own callback.
    timer_.expires_after(std::chrono::milliseconds(after_ms));
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
        const auto self = weak.lock();
        if (self && !stopped) {
            self->act(CURL_SOCKET_TIMEOUT, 0);
        }
    });
}

} // namespace chalk::curl
