#include "cli/sweep/control_socket.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/overloaded.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/journal/trouble.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <istream>
#include <mutex>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace chalk::cli {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using unix_stream = asio::local::stream_protocol;

namespace {

constexpr std::string_view socket_name = "control.sock";
constexpr std::size_t longest_line = std::size_t{4} << 20U;
constexpr std::size_t shown_answer = 200;
constexpr std::size_t most_connections = 64;
constexpr milliseconds accept_pause{1'000};

/// A socket's address has at most 107 bytes, a sweep's folder may be longer: it is named by a descriptor.
struct short_address {
    unique_fd folder;
    std::string path;
};

result<short_address> address_in(const fs::path& folder) {
    short_address out{unique_fd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), {}};
    if (!out.folder) {
        return config_failure(fmt::format("cannot open {}: {}", folder.string(), std::strerror(errno)));
    }
    out.path = fmt::format("/proc/self/fd/{}/{}", out.folder.get(), socket_name);
    return out;
}

json answer_json(const result<std::string>& what) {
    return what ? json{{"ok", true}, {"text", *what}} : json{{"ok", false}, {"error", what.error().message}};
}

class control_session;

/// What the socket's owner and its connections share. All but take() belongs to the io thread.
struct socket_share {
    socket_share(asio::io_context& io, control_socket::handler h, control_deadlines d)
        : acceptor(io), again(io), deadlines(d), handle_(std::move(h)) {}

    /// False: the owner is gone.
    bool take(actors::sweep_control what, std::function<void(result<std::string>)> answer) {
        const std::lock_guard lock(mutex_);
        if (handle_) {
            handle_(std::move(what), std::move(answer));
        }
        return handle_ != nullptr;
    }
    /// Any thread. When it returns, the handler neither runs nor will.
    void forget_handler() {
        const std::lock_guard lock(mutex_);
        handle_ = nullptr;
    }

    unix_stream::acceptor acceptor;
    asio::steady_timer again; ///< before the next connection is accepted, where that failed
    control_deadlines deadlines;
    std::vector<std::weak_ptr<control_session>> open;

  private:
    std::mutex mutex_;
    control_socket::handler handle_;
};

/// One connection; it lives as long as something is to be read, answered or written, each of which has a deadline.
class control_session : public std::enable_shared_from_this<control_session> {
  public:
    control_session(unix_stream::socket socket, std::shared_ptr<socket_share> desk)
        : socket_(std::move(socket)), deadline_(socket_.get_executor()), desk_(std::move(desk)) {}

    void begin() {
        within(desk_->deadlines.transfer, [](control_session& self) { self.close(); });
        asio::async_read_until(socket_, buffer_, '\n', [self = shared_from_this()](const auto& error, std::size_t) {
            if (!self->socket_.is_open()) {
                return;
            }
            if (error) {
                self->close();
            } else {
                self->on_line();
            }
        });
    }

    void close() {
        ++stage_;
        deadline_.cancel();
        boost::system::error_code ignored; // whoever asked is gone, or has its answer
        socket_.close(ignored);
    }

  private:
    /// Ends the stage before it.
    void within(milliseconds time, void (*late)(control_session&)) {
        deadline_.expires_after(time);
        deadline_.async_wait([self = shared_from_this(), stage = ++stage_, late](const boost::system::error_code&) {
            if (self->stage_ == stage) {
                late(*self);
            }
        });
    }

    void on_line() {
        std::istream in(&buffer_);
        std::string line;
        std::getline(in, line);
        auto what = parse_control(line);
        if (!what) {
            answer(what.error());
            return;
        }
        within(desk_->deadlines.answer, [](control_session& self) {
            self.answer(timeout_failure(
                fmt::format("the sweep did not answer within {} ms", self.desk_->deadlines.answer.count())));
        });
        const bool taken =
            desk_->take(std::move(*what), [weak = weak_from_this(), stage = stage_,
                                           executor = socket_.get_executor()](const result<std::string>& said) {
                asio::post(executor, [weak, stage, said] {
                    if (const auto self = weak.lock(); self && self->stage_ == stage) {
                        self->answer(said);
                    }
                });
            });
        if (!taken) {
            close();
        }
    }

    void answer(const result<std::string>& said) {
        text_ = dump_json(answer_json(said)) + "\n";
        within(desk_->deadlines.transfer, [](control_session& self) { self.close(); });
        asio::async_write(socket_, asio::buffer(text_),
                          [self = shared_from_this()](const auto&, std::size_t) { self->close(); });
    }

    unix_stream::socket socket_;
    asio::steady_timer deadline_;
    std::shared_ptr<socket_share> desk_;
    asio::streambuf buffer_{longest_line};
    std::string text_;
    unsigned stage_ = 0; ///< what the deadline is for
};

bool may_ask(unix_stream::socket& peer) {
    ucred who{};
    socklen_t size = sizeof who;
    return ::getsockopt(peer.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == ::geteuid() || who.uid == 0);
}

class control_socket_impl final : public control_socket {
  public:
    control_socket_impl(asio::io_context& io, short_address where, handler handle, control_deadlines deadlines)
        : where_(std::move(where)), desk_(std::make_shared<socket_share>(io, std::move(handle), deadlines)) {}

    result<void> listen() {
        ::unlink(where_.path.c_str()); // of a sweep that was killed: we hold the folder's lock
        boost::system::error_code error;
        auto& acceptor = desk_->acceptor;
        acceptor.open(unix_stream(), error);
        if (!error) {
            acceptor.bind(unix_stream::endpoint(where_.path), error);
        }
        if (!error && ::chmod(where_.path.c_str(), 0600) != 0) {
            error.assign(errno, boost::system::system_category());
        }
        if (!error) {
            acceptor.listen(16, error);
        }
        if (error) {
            return sandbox_failure(
                fmt::format("cannot listen on {} in the sweep's folder: {}", socket_name, error.message()));
        }
        accept(desk_);
        return {};
    }

    ~control_socket_impl() override {
        ::unlink(where_.path.c_str());
        desk_->forget_handler();
        asio::post(desk_->acceptor.get_executor(), [desk = desk_] {
            boost::system::error_code ignored; // it goes with its descriptor
            desk->acceptor.close(ignored);
            desk->again.cancel();
            for (const auto& weak : std::exchange(desk->open, {})) {
                if (const auto session = weak.lock()) {
                    session->close();
                }
            }
        });
    }

  private:
    static void accept(const std::shared_ptr<socket_share>& desk) {
        desk->acceptor.async_accept([desk](const auto& error, unix_stream::socket peer) {
            if (error == asio::error::operation_aborted || !desk->acceptor.is_open()) {
                return;
            }
            if (error) { // descriptors run short: at once it would fail again
                accept_later(desk);
                return;
            }
            std::erase_if(desk->open, [](const auto& session) { return session.expired(); });
            if (desk->open.size() < most_connections && may_ask(peer)) {
                auto session = std::make_shared<control_session>(std::move(peer), desk);
                desk->open.push_back(session);
                session->begin();
            }
            accept(desk);
        });
    }

    static void accept_later(const std::shared_ptr<socket_share>& desk) {
        desk->again.expires_after(accept_pause);
        desk->again.async_wait([desk](const boost::system::error_code& stopped) {
            if (!stopped && desk->acceptor.is_open()) {
                accept(desk);
            }
        });
    }

    short_address where_;
    std::shared_ptr<socket_share> desk_;
};

result<std::string> read_answer(int fd, std::chrono::seconds patience) {
    std::string text;
    const auto until = std::chrono::steady_clock::now() + patience;
    while (text.find('\n') == std::string::npos) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        pollfd wait{fd, POLLIN, 0};
        if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) {
            return timeout_failure(fmt::format("the sweep did not answer within {} s", patience.count()));
        }
        char part[4096];
        const auto got = ::read(fd, part, sizeof part);
        if (got <= 0) {
            return harness_failure("the sweep ended before it answered");
        }
        text.append(part, static_cast<std::size_t>(got));
        if (text.size() > longest_line) {
            return harness_failure(fmt::format("the sweep's answer has more than {} bytes", longest_line));
        }
    }
    const auto parsed = parse_json(text);
    const json said = parsed && parsed->is_object() ? *parsed : json::object();
    const auto ok = said.value("ok", json());
    const auto words = said.value(ok == true ? "text" : "error", json(""));
    if (!ok.is_boolean() || !words.is_string()) {
        return harness_failure("the sweep's answer makes no sense: " + to_valid_utf8(text.substr(0, shown_answer)));
    }
    if (ok != true) {
        return config_failure(words == "" ? std::string("refused") : words.get<std::string>());
    }
    return words.get<std::string>();
}

} // namespace

result<std::unique_ptr<control_socket>> control_socket::open(asio::io_context& io, const fs::path& folder,
                                                             handler handle, control_deadlines deadlines) {
    auto where = address_in(folder);
    if (!where) {
        return where.error();
    }
    auto made = std::make_unique<control_socket_impl>(io, std::move(*where), std::move(handle), deadlines);
    if (auto listening = made->listen(); !listening) {
        return listening.error();
    }
    return made;
}

result<std::string> ask_sweep(const fs::path& folder, const actors::sweep_control& what,
                              std::chrono::seconds patience) {
    auto where = address_in(folder);
    if (!where) {
        return where.error();
    }
    const unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    where->path.copy(address.sun_path, sizeof address.sun_path - 1);
    const timeval limit{patience.count(), 0}; // for connecting too, where others wait to be accepted
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) != 0 ||
        ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        const int why = errno;
        if (why == EAGAIN) {
            return harness_failure(
                fmt::format("the sweep in {} is asked by too many at once: try again", folder.string()));
        }
        if (auto found = journal::look_for_journal(folder); !found) {
            return found.error();
        }
        return config_failure(
            fmt::format("no sweep is running in {} ({}); `chalk sweep status {}` shows how it stands, "
                        "`chalk sweep resume {}` goes on with it",
                        folder.string(), std::strerror(why), folder.string(), folder.string()));
    }
    const std::string line = to_line(what) + "\n";
    if (::send(fd.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size())) {
        return harness_failure(fmt::format("cannot ask the sweep: {}", std::strerror(errno)));
    }
    return read_answer(fd.get(), patience);
}

std::string to_line(const actors::sweep_control& what) {
    namespace control = actors::control;
    const json object =
        std::visit(overloaded{
                       [](const control::pause&) {
                           return json{{"command", "pause"}};
                       },
                       [](const control::resume&) {
                           return json{{"command", "resume"}};
                       },
                       [](const control::cancel& c) {
                           return json{{"command", "cancel"}, {"reason", c.reason}};
                       },
                       [](const control::concurrency& c) {
                           return json{{"command", "concurrency"}, {"runs", c.runs ? json(*c.runs) : json()}};
                       },
                       [](const control::requeue& c) {
                           return json{{"command", "requeue"}, {"runs", c.runs}};
                       },
                       [](const control::drain& c) {
                           return json{{"command", "drain"}, {"node", c.node}};
                       },
                       [](const control::look&) {
                           return json{{"command", "status"}};
                       },
                       [](const control::nodes&) {
                           return json{{"command", "nodes"}};
                       },
                   },
                   what);
    return dump_json(object);
}

result<actors::sweep_control> parse_control(std::string_view line) {
    namespace control = actors::control;
    const auto parsed = parse_json(line);
    const json object = parsed ? *parsed : json();
    if (!object.is_object() || !object.contains("command") || !object["command"].is_string()) {
        return config_failure("a request is a JSON object with a \"command\"");
    }
    const auto command = object["command"].get<std::string>();
    try {
        if (command == "pause") {
            return control::pause{};
        }
        if (command == "resume") {
            return control::resume{};
        }
        if (command == "cancel") {
            return control::cancel{object.value("reason", std::string("chalk sweep ctl"))};
        }
        if (command == "concurrency") {
            const auto runs = object.find("runs");
            if (runs == object.end() || runs->is_null()) {
                return control::concurrency{};
            }
            return control::concurrency{runs->get<std::size_t>()};
        }
        if (command == "requeue") {
            return control::requeue{object.at("runs").get<std::vector<std::string>>()};
        }
        if (command == "drain") {
            return control::drain{object.at("node").get<std::string>()};
        }
        if (command == "status") {
            return control::look{};
        }
        if (command == "nodes") {
            return control::nodes{};
        }
    } catch (const json::exception& why) {
        return config_failure(fmt::format("{}: {}", command, why.what()));
    }
    return config_failure(fmt::format(
        "there is no command {}; known: pause, resume, cancel, concurrency, requeue, drain, status, nodes", command));
}

} // namespace chalk::cli
