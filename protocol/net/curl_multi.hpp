/// The loop between libcurl and Asio: which sockets it waits for, its one timer, and whom to tell of a transfer's end.
/// Owner: the http client. Belongs to the io thread.
#pragma once

#include "protocol/net/curl_library.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <memory>
#include <unordered_map>

namespace chalk::curl {

class curl_multi : public std::enable_shared_from_this<curl_multi> {
  public:
    /// `done` hears of each transfer that libcurl has finished.
    curl_multi(boost::asio::io_context& io, const curl_library& curl, std::function<void(CURL*, CURLcode)> done);
    curl_multi(const curl_multi&) = delete;
    curl_multi& operator=(const curl_multi&) = delete;
    ~curl_multi();

    /// After construction: the callbacks need a shared owner.
    void begin();
    void add(CURL* easy);
    /// Not from within one of libcurl's callbacks.
    void remove(CURL* easy);
    /// libcurl does what is due. `fd` may be CURL_SOCKET_TIMEOUT.
    void act(curl_socket_t fd, int events);
    /// No callback reaches its owner any more.
    void close();

  private:
    struct watch;

    static int on_socket(CURL* easy, curl_socket_t fd, int what, void* self, void* of);
    static int on_timer(CURLM* multi, long after_ms, void* self);
    void want(curl_socket_t fd, int what);
    void wait(const std::shared_ptr<watch>& on, boost::asio::posix::descriptor_base::wait_type how);
    void set_timer(long after_ms);
    void collect();

    boost::asio::io_context& io_;
    const curl_library& curl_;
    std::function<void(CURL*, CURLcode)> done_;
    CURLM* multi_;
    boost::asio::steady_timer timer_;
    std::unordered_map<curl_socket_t, std::shared_ptr<watch>> watches_;
};

} // namespace chalk::curl
