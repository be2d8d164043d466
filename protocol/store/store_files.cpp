#include "protocol/store/store_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <random>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>

namespace chalk::store {

std::string errno_text() {
    return std::generic_category().message(errno);
}

unique_fd open_parent(int root, std::string_view path) {
    unique_fd at(::openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (auto slash = path.find('/'); at && slash != std::string_view::npos; slash = path.find('/')) {
        const std::string name(path.substr(0, slash));
        at.reset(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        path.remove_prefix(slash + 1);
    }
    return at;
}

std::string last_component(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1)); // npos + 1 is 0
}

std::optional<std::vector<std::string>> list_names(int folder, std::size_t limit) {
    // A description of its own: a listing has a place in it, which a copy of the descriptor would share.
    unique_fd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(own ? ::fdopendir(own.get()) : nullptr, ::closedir);
    if (!listing) {
        return std::nullopt;
    }
    (void)own.release();
    std::vector<std::string> names;
    for (errno = 0; names.size() < limit; errno = 0) {
        const auto* entry = ::readdir(listing.get());
        if (entry == nullptr) {
            if (errno != 0) {
                return std::nullopt;
            }
            break;
        }
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") {
            names.emplace_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

bool write_whole(int fd, std::string_view data) {
    while (!data.empty()) {
        const auto written = ::write(fd, data.data(), data.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        data.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

std::optional<std::string> read_up_to(int fd, std::size_t size, off_t from) {
    std::string data(size, '\0');
    std::size_t done = 0;
    while (done < size) {
        const auto got = ::pread(fd, data.data() + done, size - done, from + static_cast<off_t>(done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return std::nullopt;
        }
        if (got == 0) {
            break;
        }
        done += static_cast<std::size_t>(got);
    }
    data.resize(done);
    return data;
}

std::string unused_name() {
    std::random_device random;
    return fmt::format("{:08x}{:08x}", random(), random());
}

} // namespace chalk::store
