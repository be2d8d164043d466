#include "cli/sweep/control_socket.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/overloaded.hpp"
#include "protocol/core/unique_fd.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <istream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace chalk::cli {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using json = nlohmann::json;
using unix_stream = asio::local::stream_protocol;

namespace {

constexpr std::string_view socket_name = "control.sock";
constexpr std::size_t longest_line = std::size_t{4} << 20U;

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

/// One connection; it lives as long as something is to be read or written.
class session : public std::enable_shared_from_this<session> {
  public:
    session(unix_stream::socket socket, control_socket::handler handle)
        : socket_(std::move(socket)), handle_(std::move(handle)) {}

    void begin() {
        asio::async_read_until(socket_, buffer_, '\n', [self = shared_from_this()](const auto& error, std::size_t) {
            if (!error) {
                self->on_line();
            }
        });
    }

  private:
    void on_line() {
        std::istream in(&buffer_);
        std::string line;
        std::getline(in, line);
        auto what = parse_control(line);
        if (!what) {
            answer(what.error());
            return;
        }
        handle_(std::move(*what), [self = shared_from_this()](const result<std::string>& said) {
            asio::post(self->socket_.get_executor(), [self, said] { self->answer(said); });
        });
    }

    void answer(const result<std::string>& said) {
        text_ = dump_json(answer_json(said)) + "\n";
        asio::async_write(socket_, asio::buffer(text_), [self = shared_from_this()](const auto&, std::size_t) {
            boost::system::error_code ignored; // whoever asked is gone, or has its answer
            self->socket_.close(ignored);
        });
    }

    unix_stream::socket socket_;
    control_socket::handler handle_;
    asio::streambuf buffer_{longest_line};
    std::string text_;
};

bool may_ask(unix_stream::socket& peer) {
    ucred who{};
    socklen_t size = sizeof who;
    return ::getsockopt(peer.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == ::geteuid() || who.uid == 0);
}

class control_socket_impl final : public control_socket {
  public:
    control_socket_impl(asio::io_context& io, short_address where, handler handle)
        : where_(std::move(where)), state_(std::make_shared<state>(io, std::move(handle))) {}

    result<void> listen() {
        ::unlink(where_.path.c_str()); // of a sweep that was killed: we hold the folder's lock
        boost::system::error_code error;
        auto& acceptor = state_->acceptor;
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
        accept(state_);
        return {};
    }

    ~control_socket_impl() override {
        ::unlink(where_.path.c_str());
        asio::post(state_->acceptor.get_executor(), [state = state_] {
            boost::system::error_code ignored; // it goes with its descriptor
            state->acceptor.close(ignored);
        });
    }

  private:
    struct state {
        state(asio::io_context& io, handler h) : acceptor(io), handle(std::move(h)) {}
        unix_stream::acceptor acceptor;
        handler handle;
    };

    static void accept(const std::shared_ptr<state>& s) {
        s->acceptor.async_accept([s](const auto& error, unix_stream::socket peer) {
            if (error == asio::error::operation_aborted || !s->acceptor.is_open()) {
                return;
            }
            if (!error && may_ask(peer)) {
                std::make_shared<session>(std::move(peer), s->handle)->begin();
            }
            accept(s);
        });
    }

    short_address where_;
    std::shared_ptr<state> state_;
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
    }
    const json said = json::parse(text, nullptr, false);
    if (!said.is_object() || !said.contains("ok")) {
        return harness_failure("the sweep's answer makes no sense: " + text);
    }
    if (!said["ok"].get<bool>()) {
        return config_failure(said.value("error", std::string("refused")));
    }
    return said.value("text", std::string());
}

} // namespace

result<std::unique_ptr<control_socket>> control_socket::open(asio::io_context& io, const fs::path& folder,
                                                             handler handle) {
    auto where = address_in(folder);
    if (!where) {
        return where.error();
    }
    auto made = std::make_unique<control_socket_impl>(io, std::move(*where), std::move(handle));
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
    if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return config_failure(fmt::format("no sweep is running in {} ({}); `chalk sweep status` shows how it stands, "
                                          "`chalk sweep resume` goes on with it",
                                          folder.string(), std::strerror(errno)));
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
                   },
                   what);
    return dump_json(object);
}

result<actors::sweep_control> parse_control(std::string_view line) {
    namespace control = actors::control;
    const json object = json::parse(line, nullptr, false);
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
    } catch (const json::exception& why) {
        return config_failure(fmt::format("{}: {}", command, why.what()));
    }
    return config_failure(fmt::format(
        "there is no command {}; known: pause, resume, cancel, concurrency, requeue, drain, status", command));
}

} // namespace chalk::cli
