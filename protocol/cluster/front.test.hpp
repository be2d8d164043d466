/// For tests of the cluster's connections: what a node needs, and peers that misbehave. Everything has a deadline of
/// ten seconds.
#pragma once

#include "protocol/cluster/certificates.test.hpp"
#include "protocol/cluster/dialer.hpp"
#include "protocol/cluster/front.hpp"
#include "protocol/cluster/peer_check.hpp"
#include "protocol/net/io_thread.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace chalk::cluster::test {

inline constexpr milliseconds patience{10'000};

/// Does `holds` come true in time? Looks again every few milliseconds.
[[nodiscard]] bool eventually(const std::function<bool()>& holds, milliseconds within = patience);
[[nodiscard]] std::size_t open_descriptors();

/// An authority and a node's papers by it, under numbers that the test knows.
class test_authority {
  public:
    [[nodiscard]] certified_key issue(const char* called, unsigned number = 1,
                                      const validity& valid = days(-1, 10)) const {
        return made_.issue(name(called), serial(number), valid).value();
    }
    [[nodiscard]] std::string revoking(unsigned number) const { return list_of(made_, {{serial(number), now()}}); }
    [[nodiscard]] const authority& operator*() const noexcept { return made_; }
    /// A good identity of one name, with nobody revoked.
    [[nodiscard]] tls_identity identity(const char* called, unsigned number = 1) const;

  private:
    authority made_ = new_authority();
};

/// `only` of names that are good.
[[nodiscard]] allow_list only(std::initializer_list<const char*> names);

/// A front and what it told.
class watched_front {
  public:
    watched_front(const tls_identity& identity, allow_list allowed, front_settings settings = {});

    [[nodiscard]] front& operator*() const { return *front_; }
    [[nodiscard]] front* operator->() const { return front_.get(); }
    [[nodiscard]] io_thread& io() { return io_; }
    /// The next one that was let in; fails the test when none comes.
    [[nodiscard]] peer_connection next_peer();
    /// The next one that was not.
    [[nodiscard]] refusal next_refusal();
    [[nodiscard]] bool nobody_came_in();
    /// What was posted to the io thread before has run.
    void settle();
    void close() { front_.reset(); }

  private:
    std::mutex mutex_;
    std::condition_variable told_;
    std::deque<peer_connection> admitted_;
    std::deque<refusal> refused_;
    io_thread io_;
    std::shared_ptr<front> front_;
};

/// Dials and waits.
[[nodiscard]] dialed dial(dialer& by, dial_target target);

/// A TCP connection to or from 127.0.0.1 whose reads and writes end after `patience`.
[[nodiscard]] unique_fd raw_connection(std::uint16_t port, const char* from = "127.0.0.1", int receive_buffer = 0);
/// "": the other side has ended; never more than `size`.
[[nodiscard]] std::string read_up_to(int fd, std::size_t size);
[[nodiscard]] std::string read_to_end(int fd);
void write_all(int fd, std::string_view text);
/// The peer ended or reset it, in time.
[[nodiscard]] bool is_over(int fd);

/// What a peer of our own making says of itself.
struct tls_habits {
    certified_key shows; ///< empty: no certificate
    int lowest_version = TLS1_3_VERSION;
    int highest_version = TLS1_3_VERSION;
    std::string alpn = "chalk-control/1"; ///< empty: none
};

/// TLS by hand; believes anybody.
class raw_tls {
  public:
    raw_tls(unique_fd socket, const tls_habits& habits, tls_role ours);
    bool handshake();
    /// One step of it, without waiting for the answer.
    void first_step();
    [[nodiscard]] std::string read(std::size_t size);
    /// False: broken.
    bool write(std::string_view text);
    [[nodiscard]] int fd() const noexcept { return socket_.get(); }

  private:
    bool waiting(const std::function<int()>& step);

    unique_fd socket_;
    tls_context_owner context_;
    tls_session_owner session_;
};

/// The bytes of a good ClientHello.
[[nodiscard]] std::string client_hello();

} // namespace chalk::cluster::test
