#include "protocol/net/curl_client.hpp"

#include "protocol/net/curl_multi.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace chalk::curl {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t most_headers = 256;
constexpr std::size_t longest_header = 64U << 10U;
constexpr std::array<std::string_view, 3> loopback_hosts = {"127.0.0.1", "localhost", "[::1]"};

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_loopback(std::string_view url) {
    const auto scheme = url.find("://");
    const auto host = scheme == std::string_view::npos ? url : url.substr(scheme + 3);
    return std::any_of(loopback_hosts.begin(), loopback_hosts.end(), [host](std::string_view one) {
        return host.starts_with(one) &&
               (host.size() == one.size() || host[one.size()] == ':' || host[one.size()] == '/');
    });
}

/// One request: libcurl's handle and what its callbacks fill.
struct transfer {
    transfer(asio::io_context& io, const curl_library& lib) : curl(lib), idle(io) {}
    transfer(const transfer&) = delete;
    transfer& operator=(const transfer&) = delete;
    ~transfer() {
        curl.curl_slist_free_all(headers);
        curl.curl_easy_cleanup(easy);
    }

    const curl_library& curl;
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    http_request what;
    http_handlers on;
    http_head head;
    bool head_told = false;
    bool paused = false;
    bool ended = false; ///< cancelled or done: no handler runs any more
    asio::steady_timer idle;
    clock::time_point heard = clock::now();
    std::array<char, CURL_ERROR_SIZE> reason{};

    /// The end of a header block: an answer of its own, unless it is a 1xx.
    void end_head() {
        if (head.status >= 200 && !std::exchange(head_told, true) && on.on_head) {
            on.on_head(std::move(head));
        }
    }

    bool take_header(std::string_view line) {
        heard = clock::now();
        line = trim(line);
        if (line.starts_with("HTTP/")) {
            head = {};
            const auto space = line.find(' ');
            if (space != std::string_view::npos) {
                for (const char c : line.substr(space + 1, 3)) {
                    head.status = head.status * 10 + static_cast<unsigned>(c >= '0' && c <= '9' ? c - '0' : 0);
                }
            }
        } else if (line.empty()) {
            end_head();
        } else if (const auto colon = line.find(':'); colon != std::string_view::npos && !head_told) {
            if (head.headers.size() >= most_headers || line.size() > longest_header) {
                return false;
            }
            std::string name(line.substr(0, colon));
            std::transform(name.begin(), name.end(), name.begin(), lower);
            head.headers.emplace_back(std::move(name), trim(line.substr(colon + 1)));
        }
        return !ended;
    }
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* of) {
    const std::size_t n = size * count;
    return static_cast<transfer*>(of)->take_header({data, n}) ? n : 0;
}

std::size_t on_write(char* data, std::size_t size, std::size_t count, void* of) {
    auto& t = *static_cast<transfer*>(of);
    if (t.ended) {
        return 0;
    }
    if (t.paused) {
        return CURL_WRITEFUNC_PAUSE;
    }
    t.heard = clock::now();
    t.on.on_data({data, size * count});
    return t.ended ? 0 : size * count;
}

class client_impl;

class handle final : public http_transfer {
  public:
    handle(std::weak_ptr<client_impl> client, std::shared_ptr<transfer> of)
        : client_(std::move(client)), of_(std::move(of)) {}
    ~handle() override { cancel(); }

    void pause() override { of_->paused = true; }
    void resume() override;
    void cancel() override;

  private:
    std::weak_ptr<client_impl> client_;
    std::shared_ptr<transfer> of_;
};

class client_impl : public std::enable_shared_from_this<client_impl> {
  public:
    client_impl(asio::io_context& io, const curl_library& curl, http_client_options options)
        : io_(io), curl_(curl), options_(std::move(options)) {}

    void begin() {
        multi_ = std::make_shared<curl_multi>(io_, curl_, [this](CURL* easy, CURLcode how) { done(easy, how); });
        multi_->begin();
    }

    ~client_impl() {
        multi_->close();
        for (const auto& [easy, t] : transfers_) {
            t->ended = true;
            t->idle.cancel();
            multi_->remove(easy);
        }
    }

    std::unique_ptr<http_transfer> start(http_request what, http_handlers handlers) {
        auto t = std::make_shared<transfer>(io_, curl_);
        t->what = std::move(what);
        t->on = std::move(handlers);
        t->easy = curl_.curl_easy_init();
        set_up(*t);
        transfers_.emplace(t->easy, t);
        watch_idle(t);
        multi_->add(t->easy); // begins with its timer
        return std::make_unique<handle>(weak_from_this(), std::move(t));
    }

    [[nodiscard]] std::size_t active() const noexcept { return transfers_.size(); }

    /// Out of libcurl's own callbacks.
    void later_drop(const std::shared_ptr<transfer>& t) {
        asio::post(io_, [weak = weak_from_this(), t] {
            if (const auto self = weak.lock()) {
                self->drop(*t);
            }
            t->on = {}; // what they hold may hold the transfer
        });
    }

    void later_resume(const std::shared_ptr<transfer>& t) {
        asio::post(io_, [weak = weak_from_this(), t] {
            const auto self = weak.lock();
            if (self && !t->ended && !t->paused) {
                t->heard = clock::now();
                self->curl_.curl_easy_pause(t->easy, CURLPAUSE_CONT);
                self->multi_->act(CURL_SOCKET_TIMEOUT, 0);
            }
        });
    }

  private:
    template<class Value>
    void set(const transfer& t, CURLoption option, Value value) {
        curl_.curl_easy_setopt(t.easy, option, value);
    }

    void set_up(transfer& t) {
        set(t, CURLOPT_URL, t.what.url.c_str());
        set(t, CURLOPT_PROTOCOLS_STR, "http,https");
        set(t, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
        set(t, CURLOPT_NOSIGNAL, 1L);
        set(t, CURLOPT_QUICK_EXIT, 1L); // a cancelled look-up of a name is not waited for
        if (options_.straight || is_loopback(t.what.url)) {
            set(t, CURLOPT_PROXY, ""); // http_proxy of the environment is for what is elsewhere
        }
        set(t, CURLOPT_CUSTOMREQUEST, t.what.method.c_str());
        if (t.what.body) {
            set(t, CURLOPT_POST, 1L);
            set(t, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(t.what.body->size()));
            set(t, CURLOPT_POSTFIELDS, t.what.body->data());
        }
        for (const auto& [name, value] : t.what.headers) {
            t.headers = curl_.curl_slist_append(t.headers, fmt::format("{}: {}", name, value).c_str());
        }
        t.headers = curl_.curl_slist_append(t.headers, "Expect:"); // a round trip for nothing
        set(t, CURLOPT_HTTPHEADER, t.headers);
        if (!options_.ca_file.empty()) {
            set(t, CURLOPT_CAINFO, options_.ca_file.c_str());
        }
        set(t, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(t.what.connect_deadline.count()));
        set(t, CURLOPT_TIMEOUT_MS, static_cast<long>(t.what.deadline.count()));
        set(t, CURLOPT_ERRORBUFFER, t.reason.data());
        set(t, CURLOPT_HEADERFUNCTION, &on_header);
        set(t, CURLOPT_HEADERDATA, &t);
        set(t, CURLOPT_WRITEFUNCTION, &on_write);
        set(t, CURLOPT_WRITEDATA, &t);
    }

    /// One timer that looks when it is due, rather than one that is moved with every byte.
    void watch_idle(const std::shared_ptr<transfer>& t) {
        t->idle.expires_at(t->heard + t->what.idle_deadline);
        t->idle.async_wait([weak = weak_from_this(), t](const boost::system::error_code& stopped) {
            const auto self = weak.lock();
            if (!self || stopped || t->ended) {
                return;
            }
            if (t->paused) {
                t->heard = clock::now();
            }
            if (clock::now() < t->heard + t->what.idle_deadline) {
                self->watch_idle(t);
                return;
            }
            self->finish(t, timeout_failure(
                                fmt::format("the server was silent for {} s", t->what.idle_deadline.count() / 1000)));
        });
    }

    void done(CURL* easy, CURLcode how) {
        const auto found = transfers_.find(easy);
        if (found == transfers_.end()) {
            return;
        }
        const auto t = found->second;
        if (how == CURLE_OK) {
            finish(t, {});
        } else if (how == CURLE_OPERATION_TIMEDOUT) {
            finish(t, timeout_failure(words(*t, how)));
        } else {
            finish(t, model_failure(words(*t, how)));
        }
    }

    [[nodiscard]] std::string words(const transfer& t, CURLcode how) const {
        return t.reason[0] != '\0' ? std::string(t.reason.data()) : std::string(curl_.curl_easy_strerror(how));
    }

    void finish(const std::shared_ptr<transfer>& t, result<void> how) {
        const bool told = std::exchange(t->ended, true);
        drop(*t);
        if (!told) {
            const auto on = std::exchange(t->on, {});
            on.on_end(std::move(how));
        }
    }

    void drop(transfer& t) {
        t.idle.cancel();
        if (const auto found = transfers_.extract(t.easy)) {
            multi_->remove(t.easy);
        }
    }

    asio::io_context& io_;
    const curl_library& curl_;
    http_client_options options_;
    std::shared_ptr<curl_multi> multi_;
    std::unordered_map<CURL*, std::shared_ptr<transfer>> transfers_;
};

void handle::resume() {
    of_->paused = false;
    if (const auto client = client_.lock()) {
        client->later_resume(of_);
    }
}

void handle::cancel() {
    if (std::exchange(of_->ended, true)) {
        return;
    }
    if (const auto client = client_.lock()) {
        client->later_drop(of_);
    }
}

class owned_client final : public http_client {
  public:
    explicit owned_client(std::shared_ptr<client_impl> impl) : impl_(std::move(impl)) {}
    [[nodiscard]] std::unique_ptr<http_transfer> start(http_request what, http_handlers handlers) override {
        return impl_->start(std::move(what), std::move(handlers));
    }
    [[nodiscard]] std::size_t active() const noexcept override { return impl_->active(); }

  private:
    std::shared_ptr<client_impl> impl_;
};

} // namespace

std::string_view find_header(const http_headers& headers, std::string_view name) noexcept {
    const auto same = [name](const auto& one) {
        return std::equal(one.first.begin(), one.first.end(), name.begin(), name.end(),
                          [](char a, char b) { return lower(a) == lower(b); });
    };
    const auto found = std::find_if(headers.begin(), headers.end(), same);
    return found == headers.end() ? std::string_view{} : std::string_view(found->second);
}

result<std::unique_ptr<http_client>> http_client::make(asio::io_context& io, const http_client_options& options) {
    auto curl = load_curl_library();
    if (!curl) {
        return curl.error();
    }
    auto impl = std::make_shared<client_impl>(io, **curl, options);
    impl->begin();
    return std::unique_ptr<http_client>(std::make_unique<owned_client>(std::move(impl)));
}

} // namespace chalk::curl
