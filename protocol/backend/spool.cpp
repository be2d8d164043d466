#include "protocol/backend/spool.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::backend {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view extension = ".jsonl";
constexpr bytes most_text = 4_GiB;

std::string reason() {
    return std::generic_category().message(errno);
}

failure cannot(std::string_view what, const fs::path& path) {
    return harness_failure(fmt::format("cannot {} {}: {}", what, path.string(), reason()));
}

failure no_spool(const fs::path& path, std::string_view why) {
    return config_failure(fmt::format("{} is no spool of a backend's events: {}", path.string(), why));
}

result<std::string> text_of(const json& header, const char* key, const fs::path& path) {
    const auto found = header.find(key);
    if (found == header.end() || !found->is_string()) {
        return no_spool(path, fmt::format("its first line has no \"{}\"", key));
    }
    return found->get<std::string>();
}

result<void> read_header(const std::string& line, found_spool& into) {
    const auto parsed = parse_json(line);
    if (!parsed || !parsed->is_object() || parsed->value("type", json()) != "Spool") {
        return no_spool(into.path, "its first line is not one's");
    }
    const auto attempt = parsed->find("attempt");
    auto id = text_of(*parsed, "stream", into.path);
    auto run = text_of(*parsed, "run_id", into.path);
    auto uri = text_of(*parsed, "uri", into.path);
    for (const auto* text : {&id, &run, &uri}) {
        if (!*text) {
            return text->error();
        }
    }
    if (attempt == parsed->end() || !attempt->is_number_unsigned()) {
        return no_spool(into.path, "its first line has no \"attempt\"");
    }
    if (auto known = parse_uri(*uri); !known) {
        return no_spool(into.path, known.error().message);
    }
    into.of = {std::move(*id), std::move(*run), attempt->get<std::uint32_t>()};
    into.uri = std::move(*uri);
    return {};
}

} // namespace

fs::path default_spool_folder() {
    if (const char* xdg = std::getenv("XDG_STATE_HOME"); xdg != nullptr && *xdg == '/') {
        return fs::path(xdg) / "chalk/backend";
    }
    if (::geteuid() == 0) {
        return "/var/lib/chalk/backend";
    }
    const char* home = std::getenv("HOME");
    return fs::path(home != nullptr && *home == '/' ? home : "/nonexistent") / ".local/state/chalk/backend";
}

fs::path spool_path(const fs::path& folder, const stream& of) {
    return folder / fmt::format("{}-{}{}", of.run_id, of.id, extension);
}

spool::spool(const fs::path& folder, const stream& of, const std::string& uri)
    : path_(spool_path(folder, of)),
      waiting_(
          dump_json(
              {{"type", "Spool"}, {"stream", of.id}, {"run_id", of.run_id}, {"attempt", of.attempt}, {"uri", uri}}) +
          "\n") {}

spool::~spool() {
    if (has_events_ && !removed_) {
        (void)write_out(); // nobody is left to be told
    }
}

bool spool::add(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (removed_) {
        return false;
    }
    waiting_ += line;
    waiting_ += '\n';
    has_events_ = true;
    return !std::exchange(writing_, true);
}

result<void> spool::write_out() {
    result<void> how;
    const std::lock_guard file(file_mutex_);
    for (;;) {
        std::string text;
        {
            const std::lock_guard lock(mutex_);
            text.swap(waiting_);
            if (text.empty() || removed_) {
                writing_ = false;
                break;
            }
        }
        if (!broken_) {
            how = write(text);
            broken_ = !how;
        }
    }
    if (fd_ && !broken_ && ::fdatasync(fd_.get()) != 0) {
        broken_ = true;
        how = cannot("sync", path_);
    }
    return how;
}

void spool::remove() {
    const std::lock_guard file(file_mutex_);
    {
        const std::lock_guard lock(mutex_);
        removed_ = true;
        waiting_.clear();
    }
    if (fd_) {
        ::unlink(path_.c_str());
        fd_.reset();
    }
}

result<void> spool::write(std::string_view text) {
    if (!fd_) {
        if (auto made = create(); !made) {
            return made;
        }
    }
    while (!text.empty()) {
        const auto n = ::write(fd_.get(), text.data(), text.size());
        if (n < 0 && errno != EINTR) {
            return cannot("write", path_);
        }
        text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return {};
}

result<void> spool::create() {
    std::error_code failed;
    const auto folder = path_.parent_path();
    fs::create_directories(folder.parent_path(), failed);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return cannot("make", folder);
    }
    // Locked before it has its name: who lists the folder must not take it for one that was left.
    auto unnamed = path_;
    unnamed += ".new";
    unique_fd made(::open(unnamed.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made || ::flock(made.get(), LOCK_EX | LOCK_NB) != 0 || ::rename(unnamed.c_str(), path_.c_str()) != 0) {
        return cannot("create", path_);
    }
    fd_ = std::move(made);
    return {};
}

result<std::vector<fs::path>> list_spools(const fs::path& folder) {
    std::vector<fs::path> all;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        if (it->path().extension() == extension) {
            all.push_back(it->path());
        }
    }
    if (failed && failed != std::errc::no_such_file_or_directory) {
        return harness_failure(fmt::format("cannot list {}: {}", folder.string(), failed.message()));
    }
    std::sort(all.begin(), all.end());
    return all;
}

result<std::optional<found_spool>> take_spool(const fs::path& path) {
    found_spool found;
    found.path = path;
    found.lock.reset(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!found.lock) {
        return config_failure(fmt::format("cannot open {}: {}", path.string(), reason()));
    }
    if (::flock(found.lock.get(), LOCK_EX | LOCK_NB) != 0) {
        return std::optional<found_spool>();
    }
    auto text = read_file(path, most_text);
    if (!text) {
        return text.error();
    }
    std::string_view rest = *text;
    std::string header;
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        auto& into = header.empty() ? header : found.events.emplace_back();
        into = rest.substr(0, end);
        rest.remove_prefix(end + 1);
    }
    if (auto read = read_header(header, found); !read) {
        return read.error();
    }
    return std::optional(std::move(found));
}

} // namespace chalk::backend
