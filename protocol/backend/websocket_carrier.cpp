#include "protocol/backend/carrier.hpp"
#include "protocol/gateway/key_filter.hpp"
#include "protocol/net/proxy.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <type_traits>
#include <utility>

namespace chalk::backend {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;
using tcp = asio::ip::tcp;

using plain_layer = beast::tcp_stream;
using secure_layer = beast::ssl_stream<beast::tcp_stream>;

/// A websocket over `Layer`, plain or TLS. RFC 6455; a text message each way a request.
template<class Layer>
class websocket_carrier final : public carrier, public std::enable_shared_from_this<websocket_carrier<Layer>> {
  public:
    static constexpr bool secure = std::is_same_v<Layer, secure_layer>;

    websocket_carrier(asio::io_context& io, uri where, target to)
        : io_(io), where_(std::move(where)), to_(std::move(to)), deadline_(io) {}

    ~websocket_carrier() override { say_goodbye(std::exchange(link_, nullptr)); }

    void ask(carrier_request what, std::function<void(carrier_answer)> done) override {
        request_ = std::move(what.body);
        done_ = std::move(done);
        deadline_.expires_after(what.deadline);
        deadline_.async_wait([weak = this->weak_from_this(), number = ++number_](const beast::error_code& stopped) {
            const auto self = weak.lock();
            if (self && !stopped && self->number_ == number) {
                self->fail("no answer came in time");
            }
        });
        if (link_) {
            write();
        } else {
            connect();
        }
    }

    void cancel() override {
        ++number_;
        done_ = nullptr;
        deadline_.cancel();
        say_goodbye(std::exchange(link_, nullptr));
    }

  private:
    using socket = websocket::stream<Layer>;

    /// One connection. Handlers hold it, and do nothing once it is not the carrier's any more.
    struct connection {
        explicit connection(asio::io_context& io) requires(!secure) : stream(io), resolver(io) {}
        explicit connection(asio::io_context& io, asio::ssl::context& tls) requires(secure)
            : stream(io, tls), resolver(io) {}

        socket stream;
        tcp::resolver resolver;
        beast::flat_buffer buffer;
        websocket::response_type response;
        std::optional<net::http_proxy> proxy;
        std::optional<beast::http::response_parser<beast::http::empty_body>> proxy_answer;
        std::string out;
        bool open = false; ///< the handshake is done
        bool writing = false;
    };
    using link = std::shared_ptr<connection>;

    /// A handler for one connection: dropped when it is not the current one any more.
    template<class... More, class F>
    auto mine(F then) {
        return [weak = this->weak_from_this(), of = link_, then = std::move(then)](const beast::error_code& failed,
                                                                                   const More&... more) {
            const auto self = weak.lock();
            if (self && self->link_ == of) {
                then(*self, failed, more...);
            }
        };
    }

    void connect() {
        if constexpr (secure) {
            if (auto ready = set_up_tls(); !ready.empty()) {
                fail_later(std::move(ready));
                return;
            }
            link_ = std::make_shared<connection>(io_, *tls_);
        } else {
            link_ = std::make_shared<connection>(io_);
        }
        link_->stream.read_message_max(most_answer);
        auto proxy = net::find_proxy(where_.host, secure, [](const char* name) {
            const auto* value = std::getenv(name);
            return std::string(value == nullptr ? "" : value);
        });
        if (!proxy) {
            fail_later(proxy.error().message);
            return;
        }
        link_->proxy = std::move(*proxy);
        link_->resolver.async_resolve(
            link_->proxy ? link_->proxy->host : where_.host,
            std::to_string(link_->proxy ? link_->proxy->port : where_.port),
            mine<tcp::resolver::results_type>([](websocket_carrier& self, const beast::error_code& failed,
                                                 const tcp::resolver::results_type& found) {
                if (failed) {
                    self.fail(fmt::format("cannot find {}: {}", self.next_hop("its host"), failed.message()));
                    return;
                }
                auto& lowest = beast::get_lowest_layer(self.link_->stream);
                lowest.expires_after(connect_deadline);
                lowest.async_connect(found, self.mine<tcp::endpoint>([](websocket_carrier& again,
                                                                        const beast::error_code& refused,
                                                                        const tcp::endpoint&) {
                    if (refused) {
                        again.fail(fmt::format("cannot connect to {}: {}", again.next_hop("it"), refused.message()));
                    } else if (again.link_->proxy) {
                        again.ask_proxy();
                    } else {
                        again.connected();
                    }
                }));
            }));
    }

    [[nodiscard]] std::string next_hop(std::string_view otherwise) const {
        return link_->proxy ? "the proxy " + link_->proxy->name() : std::string(otherwise);
    }

    /// For a tunnel: plain websockets too go through one (RFC 6455, section 4.1).
    void ask_proxy() {
        link_->out = link_->proxy->connect_request(where_.host, where_.port);
        asio::async_write(beast::get_lowest_layer(link_->stream), asio::buffer(link_->out),
                          mine<std::size_t>([](websocket_carrier& self, const beast::error_code& failed, std::size_t) {
                              if (failed) {
                                  self.fail(fmt::format("{} broke off: {}", self.next_hop(""), failed.message()));
                              } else {
                                  self.hear_proxy();
                              }
                          }));
    }

    void hear_proxy() {
        auto& parser = link_->proxy_answer.emplace();
        parser.skip(true); // a tunnel has no body
        beast::http::async_read_header(
            beast::get_lowest_layer(link_->stream), link_->buffer, parser,
            mine<std::size_t>([](websocket_carrier& self, const beast::error_code& failed, std::size_t) {
                if (failed) {
                    self.fail(fmt::format("{} broke off: {}", self.next_hop(""), failed.message()));
                } else if (const auto& answer = self.link_->proxy_answer->get();
                           beast::http::to_status_class(answer.result()) != beast::http::status_class::successful) {
                    self.declined(answer, "from " + self.next_hop(""));
                } else if (self.link_->buffer.size() > 0) {
                    self.fail(self.next_hop("") + " says more than it was asked");
                } else {
                    self.connected();
                }
            }));
    }

    void connected() {
        if constexpr (secure) {
            auto& tls = link_->stream.next_layer();
            tls.set_verify_callback(asio::ssl::host_name_verification(where_.host));
            if (SSL_set_tlsext_host_name(tls.native_handle(), where_.host.c_str()) != 1) {
                fail("cannot name its host to it");
                return;
            }
            tls.async_handshake(asio::ssl::stream_base::client,
                                mine([](websocket_carrier& self, const beast::error_code& failed) {
                                    if (failed) {
                                        self.fail("no trusted TLS: " + failed.message());
                                    } else {
                                        self.shake_hands();
                                    }
                                }));
        } else {
            shake_hands();
        }
    }

    void shake_hands() {
        beast::get_lowest_layer(link_->stream).expires_never(); // from here on the websocket's own
        link_->stream.set_option(websocket::stream_base::timeout{connect_deadline, silence_deadline, true});
        link_->stream.set_option(websocket::stream_base::decorator([token = to_.token](websocket::request_type& r) {
            if (!token.empty()) {
                r.set(beast::http::field::authorization, "Bearer " + token);
            }
        }));
        link_->stream.async_handshake(link_->response, where_.authority(), where_.target,
                                      mine([](websocket_carrier& self, const beast::error_code& failed) {
                                          if (!failed) {
                                              self.link_->open = true;
                                              self.read();
                                              self.write();
                                          } else if (failed == websocket::error::upgrade_declined) {
                                              self.declined(self.link_->response, "instead of a websocket");
                                          } else {
                                              self.fail("no websocket: " + failed.message());
                                          }
                                      }));
    }

    /// The server answered with a status of HTTP, which says whether it is worth another try.
    template<class Response>
    void declined(const Response& answer, std::string_view what) {
        curl::http_headers headers;
        for (const auto* name : {"retry-after", "retry-after-ms", "x-should-retry"}) {
            if (const auto found = answer.find(name); found != answer.end()) {
                headers.emplace_back(name, std::string(found->value()));
            }
        }
        const auto status = answer.result_int();
        fail({{status, std::move(headers)}, fmt::format("HTTP {} {}", status, what)});
    }

    void write() {
        // An answer may overtake the end of the write that it answers.
        if (!link_->open || link_->writing || !done_ || request_.empty()) {
            return;
        }
        link_->out = std::exchange(request_, {});
        link_->writing = true;
        link_->stream.text(true);
        link_->stream.async_write(
            asio::buffer(link_->out),
            mine<std::size_t>([](websocket_carrier& self, const beast::error_code& failed, std::size_t) {
                self.link_->writing = false;
                if (failed) {
                    self.broken(failed);
                } else {
                    self.write();
                }
            }));
    }

    /// Always under way, or nobody would answer pings and see the end.
    void read() {
        link_->stream.async_read(
            link_->buffer, mine<std::size_t>([](websocket_carrier& self, const beast::error_code& failed, std::size_t) {
                if (failed) {
                    self.broken(failed);
                    return;
                }
                // It goes on to the run's log and to its agent.
                auto text =
                    gateway::key_filter(self.to_.token).clean(beast::buffers_to_string(self.link_->buffer.data()));
                self.link_->buffer.clear();
                self.read();
                self.end(std::move(text));
            }));
    }

    void broken(const beast::error_code& why) {
        fail(why == websocket::error::closed ? "it closed the connection" : "the connection broke: " + why.message());
    }

    void fail(std::string why) { fail(trouble{{}, std::move(why)}); }

    void fail(trouble why) {
        link_ = nullptr; // its handlers let go of it
        end(std::move(why));
    }

    void fail_later(std::string why) {
        asio::post(io_, [weak = this->weak_from_this(), why = std::move(why), number = number_] {
            if (const auto self = weak.lock(); self && self->number_ == number) {
                self->fail(why);
            }
        });
    }

    void end(carrier_answer answer) {
        if (const auto done = std::exchange(done_, nullptr)) {
            ++number_;
            deadline_.cancel();
            done(std::move(answer));
        }
    }

    /// Closes in order where that can be; the stream's own deadline bounds it.
    static void say_goodbye(const link& of) {
        if (of && of->open && !of->writing) {
            of->stream.async_close(websocket::close_code::normal, [of](const beast::error_code&) {});
        } else if (of) {
            of->resolver.cancel();
            beast::get_lowest_layer(of->stream).cancel();
        }
    }

    /// Empty, or what is wrong.
    std::string set_up_tls() {
        if (tls_) {
            return {};
        }
        beast::error_code failed;
        auto made = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
        made->set_verify_mode(asio::ssl::verify_peer, failed);
        if (!failed && to_.ca_file.empty()) {
            made->set_default_verify_paths(failed);
        } else if (!failed) {
            made->load_verify_file(to_.ca_file, failed);
        }
        if (failed) {
            return fmt::format("cannot read the certificates of authorities {}: {}", to_.ca_file, failed.message());
        }
        tls_ = std::move(made);
        return {};
    }

    asio::io_context& io_;
    uri where_;
    target to_;
    asio::steady_timer deadline_;
    std::unique_ptr<asio::ssl::context> tls_; ///< outlives its connections: they hold what they need of it
    link link_;                               ///< null: not connected
    std::string request_;                     ///< until it is written
    std::function<void(carrier_answer)> done_;
    std::uint64_t number_ = 0; ///< of the open request
};

} // namespace

std::shared_ptr<carrier> make_websocket_carrier(asio::io_context& io, const uri& where, const target& to) {
    if (where.secure) {
        return std::make_shared<websocket_carrier<secure_layer>>(io, where, to);
    }
    return std::make_shared<websocket_carrier<plain_layer>>(io, where, to);
}

} // namespace chalk::backend
