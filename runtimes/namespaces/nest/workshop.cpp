#include "runtimes/namespaces/nest/workshop.hpp"

#include "runtimes/namespaces/nest/packets.hpp"

#include <cerrno>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace chalk::nest {

using namespaces::step;

namespace {

/// Any folder that is on every machine and that every user may enter, since our ids cannot reach the owner's own. It is
/// covered in this mount namespace alone, and let go of with the old root.
constexpr const char* scratch_place = "/sys";

using maybe_failure = std::optional<std::string>;

maybe_failure check(bool fine, std::string_view what, const std::string& path) {
    if (fine) {
        return std::nullopt;
    }
    return because(std::string(what) + " " + path, errno);
}

maybe_failure mount_at(const char* type, const step& what, unsigned long flags) {
    return check(::mount("chalk", what.path.c_str(), type, flags, what.options.c_str()) == 0,
                 std::string("mount ") + type + " at", what.path);
}

maybe_failure make_folder(const step& what) {
    // The umask is 0, so a new folder has its mode; one of a lower layer keeps its own unless told otherwise.
    if (::mkdir(what.path.c_str(), what.number) == 0) {
        return check(what.owner == 0 || ::chown(what.path.c_str(), what.owner, what.owner) == 0, "give away",
                     what.path);
    }
    if (errno != EEXIST) {
        return because("make the folder " + what.path, errno);
    }
    return check(what.options == step::keep_mode || ::chmod(what.path.c_str(), what.number) == 0, "set the mode of",
                 what.path);
}

maybe_failure make_file(const step& what) {
    const unique_fd file(::open(what.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    return check(file &&
                     ::write(file.get(), what.options.data(), what.options.size()) ==
                         static_cast<ssize_t>(what.options.size()) &&
                     ::fchmod(file.get(), what.number) == 0,
                 "write", what.path);
}

maybe_failure attach(int tree, const std::string& path) {
    return check(::move_mount(tree, "", AT_FDCWD, path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0, "attach", path);
}

maybe_failure restrict(const std::string& path) {
    mount_attr attr{};
    attr.attr_set = MOUNT_ATTR_RDONLY;
    return check(::mount_setattr(AT_FDCWD, path.c_str(), 0, &attr, sizeof attr) == 0, "make read-only", path);
}

/// What the name is inside, whatever links it goes through. Names may come and go with the host's packages: what is not
/// there needs no cover.
maybe_failure cover(const step& what) {
    const unique_fd root(::open(what.options.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    open_how how{};
    how.flags = O_PATH | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT;
    const unique_fd target(static_cast<int>(::syscall(SYS_openat2, root.get(), what.path.c_str(), &how, sizeof how)));
    struct stat found {};
    if (!target || ::fstat(target.get(), &found) != 0) {
        return errno == ENOENT || errno == ENOTDIR ? std::nullopt
                                                   : maybe_failure(because("look at " + what.path, errno));
    }
    const bool folder = S_ISDIR(found.st_mode);
    const char* empty = folder ? "empty_folder" : "empty_file";
    if (folder) {
        if (::mkdir(empty, 0555) != 0 && errno != EEXIST) {
            return because("make the empty folder", errno);
        }
    } else if (const unique_fd file(::open(empty, O_WRONLY | O_CREAT | O_CLOEXEC, 0444)); !file) {
        return because("make the empty file", errno);
    }
    const unique_fd cut(::open_tree(AT_FDCWD, empty,
                                    static_cast<unsigned>(OPEN_TREE_CLONE) | static_cast<unsigned>(OPEN_TREE_CLOEXEC)));
    mount_attr attr{};
    attr.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
    return check(cut && ::mount_setattr(cut.get(), "", AT_EMPTY_PATH, &attr, sizeof attr) == 0 &&
                     ::move_mount(cut.get(), "", target.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) ==
                         0,
                 "cover", what.path);
}

maybe_failure enter(const std::string& path) {
    // The old root ends up on top of the new one and is let go of with everything below it, the scratch folder too.
    return check(::chdir(path.c_str()) == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 &&
                     ::umount2(".", MNT_DETACH) == 0 && ::chdir("/") == 0,
                 "make the root", path);
}

} // namespace

std::optional<std::string> build(const namespaces::sandbox_orders& orders, std::vector<unique_fd> trees) {
    ::umask(0);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return because("cut mounts off from the host's", errno);
    }
    constexpr unsigned long plain = MS_NOSUID | MS_NODEV;
    const auto perform = [&](const step& what) -> maybe_failure {
        switch (what.what) {
        case step::kind::scratch:
            return check(::mount("chalk", scratch_place, "tmpfs", plain, what.options.c_str()) == 0 &&
                             ::chdir(scratch_place) == 0,
                         "mount a scratch file system at", scratch_place);
        case step::kind::tmpfs:
            return mount_at("tmpfs", what, plain);
        case step::kind::directory:
            return make_folder(what);
        case step::kind::file:
            return make_file(what);
        case step::kind::symlink:
            return check(::symlink(what.options.c_str(), what.path.c_str()) == 0, "link", what.path);
        case step::kind::overlay:
            return mount_at("overlay", what, plain);
        case step::kind::attach: {
            if (what.number >= trees.size()) {
                return "attach " + what.path + ": no such tree";
            }
            return attach(trees[what.number].get(), what.path);
        }
        case step::kind::bind:
        case step::kind::bind_host:
            return check(::mount(what.options.c_str(), what.path.c_str(), nullptr, MS_BIND, nullptr) == 0,
                         "show " + what.options + " at", what.path);
        case step::kind::devpts:
            return mount_at("devpts", what, MS_NOSUID | MS_NOEXEC);
        case step::kind::proc:
            return mount_at("proc", what, plain | MS_NOEXEC);
        case step::kind::mask:
            return cover(what);
        case step::kind::read_only:
            return restrict(what.path);
        case step::kind::enter:
            return enter(what.path);
        }
        return std::string("an unknown step");
    };
    for (const step& what : orders.steps) {
        if (auto failed = perform(what)) {
            return failed;
        }
    }
    return std::nullopt;
}

} // namespace chalk::nest
