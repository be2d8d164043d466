#include "actors/sinks/websocket_sink.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

/// Written under its final name with mode 0600 from its first byte on; an older file of that name is replaced.
result<void> write_access_file(const fs::path& file, const json& content) {
    std::error_code ec;
    if (!file.parent_path().empty()) {
        fs::create_directories(file.parent_path(), ec);
    }
    ::unlink(file.c_str());
    const unique_fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    const std::string text = content.dump(1) + "\n";
    if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        return config_failure(
            fmt::format("cannot write {}: {}", file.string(), std::generic_category().message(errno)));
    }
    struct stat folder {};
    if (::geteuid() == 0 && ::stat(file.has_parent_path() ? file.parent_path().c_str() : ".", &folder) == 0 &&
        ::fchown(fd.get(), folder.st_uid, folder.st_gid) != 0) {
        return config_failure(
            fmt::format("cannot hand over {}: {}", file.string(), std::generic_category().message(errno)));
    }
    return {};
}

} // namespace

websocket_sink::websocket_sink(std::shared_ptr<websocket::feed> feed, fs::path access_file)
    : feed_(std::move(feed)), access_file_(std::move(access_file)) {}

websocket_sink::~websocket_sink() {
    feed_->close();
    ::unlink(access_file_.c_str());
}

fs::path websocket_access_file(const fs::path& transcript_file) {
    return transcript_file.parent_path() / (transcript_file.stem().string() + "_websocket.json");
}

result<std::unique_ptr<websocket_sink>> open_websocket_sink(boost::asio::io_context& io, const run_order& order) {
    if (!order.config.websocket_port) {
        return std::unique_ptr<websocket_sink>{};
    }
    auto token = websocket::make_token();
    if (!token) {
        return token.error();
    }
    auto feed = websocket::feed::listen(io, {"127.0.0.1", *order.config.websocket_port, *token});
    if (!feed) {
        return failure{feed.error().kind,
                       fmt::format("run {}: websocket: {}", order.config.id.str(), feed.error().message)};
    }
    const auto file = websocket_access_file(order.config.transcript_file);
    auto sink = std::make_unique<websocket_sink>(*feed, file);
    auto written = write_access_file(file, {{"run_id", order.config.id.str()},
                                            {"url", fmt::format("ws://127.0.0.1:{}/events", (*feed)->port())},
                                            {"token", *token}});
    if (!written) {
        return written.error();
    }
    return sink;
}

} // namespace chalk::actors
