#include "protocol/cluster/front.test.hpp"
#include "protocol/cluster/socket_bio.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/post.hpp>
#include <openssl/err.h>

#include <filesystem>
#include <future>
#include <thread>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

namespace chalk::cluster::test {

namespace {

void bound_waits(int fd) {
    const timeval limit{patience.count() / 1000, 0};
    REQUIRE(::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    REQUIRE(::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0);
}

tls_context_owner context_with(const tls_habits& habits) {
    tls_context_owner made(::SSL_CTX_new(::TLS_method()));
    ::SSL_CTX_set_min_proto_version(made.get(), habits.lowest_version);
    ::SSL_CTX_set_max_proto_version(made.get(), habits.highest_version);
    ::SSL_CTX_set_verify(made.get(), SSL_VERIFY_NONE, nullptr);
    if (!habits.shows.certificate.empty()) {
        const auto own = parse_certificate(habits.shows.certificate, "the peer's").value();
        const auto key = parse_key(habits.shows.key, *own, "the peer's key").value();
        REQUIRE(::SSL_CTX_use_certificate(made.get(), own.get()) == 1);
        REQUIRE(::SSL_CTX_use_PrivateKey(made.get(), key.get()) == 1);
    }
    return made;
}

int take_first_alpn(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* asked, unsigned,
                    void*) {
    *chosen = asked + 1;
    *size = asked[0];
    return SSL_TLSEXT_ERR_OK;
}

void ask_for_alpn(SSL* session, const std::string& name) {
    const std::string wire = static_cast<char>(name.size()) + name;
    ::SSL_set_alpn_protos(session, reinterpret_cast<const unsigned char*>(wire.data()),
                          static_cast<unsigned>(wire.size()));
}

} // namespace

bool eventually(const std::function<bool()>& holds, milliseconds within) {
    const auto end = std::chrono::steady_clock::now() + within;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(milliseconds(2));
    }
    return true;
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

tls_identity test_authority::identity(const char* called, unsigned number) const {
    auto own = issue(called, number);
    return {made_.pem().value().certificate, list_of(made_), std::move(own.certificate), std::move(own.key)};
}

allow_list only(std::initializer_list<const char*> names) {
    std::set<node_name> all;
    for (const char* one : names) {
        all.insert(name(one));
    }
    return allow_list::only(std::move(all));
}

watched_front::watched_front(const tls_identity& identity, allow_list allowed, front_settings settings) {
    front_events events;
    events.admitted = [this](peer_connection peer) {
        const std::lock_guard lock(mutex_);
        admitted_.push_back(std::move(peer));
        told_.notify_all();
    };
    events.refused = [this](const refusal& why) {
        const std::lock_guard lock(mutex_);
        refused_.push_back(why);
        told_.notify_all();
    };
    auto made = front::listen(io_.context(), identity, std::move(allowed), std::move(settings), std::move(events));
    REQUIRE(made);
    front_ = std::move(*made);
}

peer_connection watched_front::next_peer() {
    std::unique_lock lock(mutex_);
    REQUIRE(told_.wait_for(lock, patience, [&] { return !admitted_.empty(); }));
    auto first = std::move(admitted_.front());
    admitted_.pop_front();
    bound_waits(first.socket.get());
    return first;
}

refusal watched_front::next_refusal() {
    std::unique_lock lock(mutex_);
    REQUIRE(told_.wait_for(lock, patience, [&] { return !refused_.empty(); }));
    auto first = std::move(refused_.front());
    refused_.pop_front();
    return first;
}

bool watched_front::nobody_came_in() {
    const std::lock_guard lock(mutex_);
    return admitted_.empty();
}

void watched_front::settle() {
    std::promise<void> ran;
    boost::asio::post(io_.context(), [&] { ran.set_value(); });
    REQUIRE(ran.get_future().wait_for(patience) == std::future_status::ready);
}

dialed dial(dialer& by, dial_target target) {
    // Shared: a test that gives up leaves the dialer with its half.
    const auto outcome = std::make_shared<std::promise<dialed>>();
    auto ready = outcome->get_future();
    by.dial(std::move(target), [outcome](dialed done) { outcome->set_value(std::move(done)); });
    REQUIRE(ready.wait_for(patience + patience) == std::future_status::ready);
    auto got = ready.get();
    if (got) {
        bound_waits(got->socket.get());
    }
    return got;
}

unique_fd raw_connection(std::uint16_t port, const char* from, int receive_buffer) {
    unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(made);
    bound_waits(made.get());
    if (receive_buffer > 0) {
        ::setsockopt(made.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in here{};
    here.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &here.sin_addr);
    REQUIRE(::bind(made.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(made.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0);
    return made;
}

std::string read_up_to(int fd, std::size_t size) {
    std::string text(size, '\0');
    const auto got = ::recv(fd, text.data(), size, 0);
    REQUIRE((got >= 0 || errno == ECONNRESET));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

std::string read_to_end(int fd) {
    std::string all;
    for (auto more = read_up_to(fd, 65536); !more.empty(); more = read_up_to(fd, 65536)) {
        all += more;
    }
    return all;
}

void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const auto sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
        REQUIRE(sent > 0);
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

bool is_over(int fd) {
    char rest[4096];
    ssize_t got = 0;
    do {
        got = ::recv(fd, rest, sizeof rest, 0);
    } while (got > 0);
    return got == 0 || errno == ECONNRESET || errno == EPIPE;
}

raw_tls::raw_tls(unique_fd socket, const tls_habits& habits, tls_role ours)
    : socket_(std::move(socket)), context_(context_with(habits)) {
    bound_waits(socket_.get());
    if (ours == tls_role::accepts && !habits.alpn.empty()) {
        ::SSL_CTX_set_alpn_select_cb(context_.get(), take_first_alpn, nullptr);
    }
    session_.reset(::SSL_new(context_.get()));
    BIO* bio = new_socket_bio(socket_.get());
    ::SSL_set_bio(session_.get(), bio, bio);
    if (ours == tls_role::accepts) {
        ::SSL_set_accept_state(session_.get());
        return;
    }
    ::SSL_set_connect_state(session_.get());
    if (!habits.alpn.empty()) {
        ask_for_alpn(session_.get(), habits.alpn);
    }
}

bool raw_tls::handshake() {
    return waiting([&] { return ::SSL_do_handshake(session_.get()); });
}

void raw_tls::first_step() {
    // What it sends goes out; it reads from nowhere, so that an answer that is there already changes nothing.
    BIO* const input = ::SSL_get_rbio(session_.get());
    BIO* const nowhere = ::BIO_new(::BIO_s_mem());
    ::BIO_set_mem_eof_return(nowhere, -1);
    ::BIO_up_ref(input);
    ::SSL_set0_rbio(session_.get(), nowhere); // the session's
    ::ERR_clear_error();
    REQUIRE(::SSL_do_handshake(session_.get()) != 1);
    ::SSL_set0_rbio(session_.get(), input);
}

std::string raw_tls::read(std::size_t size) {
    std::string text(size, '\0');
    std::size_t got = 0;
    text.resize(waiting([&] { return ::SSL_read_ex(session_.get(), text.data(), size, &got); }) ? got : 0);
    return text;
}

bool raw_tls::write(std::string_view text) {
    std::size_t put = 0;
    return waiting([&] { return ::SSL_write_ex(session_.get(), text.data(), text.size(), &put); });
}

bool raw_tls::waiting(const std::function<int()>& step) {
    for (;;) {
        ::ERR_clear_error();
        const int returned = step();
        if (returned == 1) {
            return true;
        }
        const int error = ::SSL_get_error(session_.get(), returned);
        if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
            return false;
        }
        pollfd ready{socket_.get(), static_cast<short>(error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT), 0};
        if (::poll(&ready, 1, static_cast<int>(patience.count())) != 1) {
            return false;
        }
    }
}

std::string client_hello() {
    const auto context = context_with({});
    const tls_session_owner session(::SSL_new(context.get()));
    BIO* out = ::BIO_new(::BIO_s_mem());
    ::SSL_set_bio(session.get(), ::BIO_new(::BIO_s_mem()), out);
    ask_for_alpn(session.get(), "chalk-control/1");
    ::SSL_set_connect_state(session.get());
    ::SSL_do_handshake(session.get());
    return text_of(*out);
}

} // namespace chalk::cluster::test
