#include "runtimes/image/tree_copy.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::image {

namespace fs = std::filesystem;

namespace {

failure copy_failure(std::string_view what, const fs::path& path, int error) {
    return config_failure(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

/// Ownership is only asked for where it differs: without root a process may keep its own ids, but not give files away.
bool give_to(int fd, const ownership& owner) {
    struct stat now {};
    return ::fstat(fd, &now) == 0 &&
           ((now.st_uid == owner.uid && now.st_gid == owner.gid) || ::fchown(fd, owner.uid, owner.gid) == 0);
}

bool give_link_to(const fs::path& link, const ownership& owner) {
    struct stat now {};
    return ::lstat(link.c_str(), &now) == 0 &&
           ((now.st_uid == owner.uid && now.st_gid == owner.gid) || ::lchown(link.c_str(), owner.uid, owner.gid) == 0);
}

bool copy_bytes(int from, int to) {
    for (;;) {
        constexpr std::size_t chunk = std::size_t{1} << 30;
        const ssize_t copied = ::copy_file_range(from, nullptr, to, nullptr, chunk, 0);
        if (copied == 0) {
            return true;
        }
        if (copied < 0) {
            break;
        }
    }
    if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS) {
        return false;
    }
    char buffer[64 * 1024];
    for (;;) {
        const ssize_t got = ::read(from, buffer, sizeof buffer);
        if (got <= 0) {
            return got == 0;
        }
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = ::write(to, buffer + done, static_cast<std::size_t>(got - done));
            if (put <= 0) {
                return false;
            }
            done += put;
        }
    }
}

class copier {
  public:
    explicit copier(const copy_options& options) : options_(options) {}

    result<void> folder(const fs::path& from, const fs::path& to, const fs::path& relative) {
        if (auto made = make_folder(to, options_.owner); !made) {
            return made;
        }
        std::error_code error;
        for (fs::directory_iterator item(from, error), end; !error && item != end; item.increment(error)) {
            const fs::path below = relative / item->path().filename();
            if (options_.leave_out && options_.leave_out(below)) {
                continue;
            }
            if (auto done = thing(item->path(), to / item->path().filename(), below); !done) {
                return done;
            }
        }
        if (error) {
            return options_.skip_what_cannot_be_copied ? result<void>{} : copy_failure("list", from, error.value());
        }
        return keep_times(from, to);
    }

  private:
    result<void> thing(const fs::path& from, const fs::path& to, const fs::path& relative) {
        struct stat found {};
        if (::lstat(from.c_str(), &found) != 0) {
            return copy_failure("look at", from, errno);
        }
        if (S_ISDIR(found.st_mode)) {
            return folder(from, to, relative);
        }
        if (S_ISLNK(found.st_mode)) {
            std::error_code error;
            fs::create_symlink(fs::read_symlink(from, error), to, error);
            if (error || !give_link_to(to, options_.owner)) {
                return copy_failure("copy the link", from, error ? error.value() : errno);
            }
            return {};
        }
        if (!S_ISREG(found.st_mode)) {
            if (options_.skip_what_cannot_be_copied) {
                return {};
            }
            return config_failure(fmt::format(
                "{} is neither a file nor a folder nor a link; remove it from the environment", from.string()));
        }
        if (options_.skip_what_cannot_be_copied && (found.st_mode & S_IROTH) == 0) {
            return {};
        }
        return copy_file(from, to, options_.owner);
    }

    static result<void> keep_times(const fs::path& from, const fs::path& to) {
        struct stat found {};
        if (::stat(from.c_str(), &found) != 0) {
            return copy_failure("look at", from, errno);
        }
        const timespec times[2] = {found.st_atim, found.st_mtim};
        if (::utimensat(AT_FDCWD, to.c_str(), times, 0) != 0) {
            return copy_failure("set the times of", to, errno);
        }
        return {};
    }

    const copy_options& options_;
};

} // namespace

result<void> copy_tree(const fs::path& from, const fs::path& to, const copy_options& options) {
    return copier(options).folder(from, to, {});
}

result<void> copy_file(const fs::path& from, const fs::path& to, const ownership& owner) {
    const unique_fd source(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat found {};
    if (!source || ::fstat(source.get(), &found) != 0) {
        return copy_failure("read", from, errno);
    }
    if (!S_ISREG(found.st_mode)) {
        return copy_failure("read", from, EINVAL); // changed under us
    }
    const unique_fd target(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const mode_t mode = (found.st_mode & S_IXUSR) != 0 ? owner.program_mode : owner.file_mode;
    const timespec times[2] = {found.st_atim, found.st_mtim};
    if (!target || !copy_bytes(source.get(), target.get()) || !give_to(target.get(), owner) ||
        ::fchmod(target.get(), mode) != 0 || ::futimens(target.get(), times) != 0) {
        return copy_failure("write", to, errno);
    }
    return {};
}

result<void> make_folder(const fs::path& path, const ownership& owner) {
    if (::mkdir(path.c_str(), 0700) != 0) {
        return copy_failure("make", path, errno);
    }
    const unique_fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!folder || !give_to(folder.get(), owner) || ::fchmod(folder.get(), owner.folder_mode) != 0) {
        return copy_failure("make", path, errno);
    }
    return {};
}

result<void> write_file(const fs::path& path, std::string_view text, const ownership& owner) {
    const unique_fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        !give_to(file.get(), owner) || ::fchmod(file.get(), owner.file_mode) != 0) {
        return copy_failure("write", path, errno);
    }
    return {};
}

} // namespace chalk::image
