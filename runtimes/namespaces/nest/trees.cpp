#include "runtimes/namespaces/nest/trees.hpp"

#include "runtimes/namespaces/nest/packets.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace chalk::nest {

using namespaces::tree;

namespace {

bool has(const tree& what, tree::flag flag) {
    return (what.flags & flag) != 0;
}

mount_attr attributes(const tree& what) {
    mount_attr attr{};
    attr.attr_set =
        (has(what, tree::read_only) ? MOUNT_ATTR_RDONLY : 0U) | (has(what, tree::nodev) ? MOUNT_ATTR_NODEV : 0U) |
        (has(what, tree::nosuid) ? MOUNT_ATTR_NOSUID : 0U) | (has(what, tree::noexec) ? MOUNT_ATTR_NOEXEC : 0U);
    return attr;
}

} // namespace

std::optional<std::string> detach(const tree& what, int idmap_space, unique_fd& out) {
    const bool recursive = has(what, tree::recursive);
    out.reset(::open_tree(AT_FDCWD, what.source.c_str(),
                          static_cast<unsigned>(OPEN_TREE_CLONE) | static_cast<unsigned>(OPEN_TREE_CLOEXEC) |
                              (recursive ? static_cast<unsigned>(AT_RECURSIVE) : 0U)));
    if (!out) {
        return because("take " + what.source, errno);
    }
    const unsigned how = static_cast<unsigned>(AT_EMPTY_PATH) | (recursive ? static_cast<unsigned>(AT_RECURSIVE) : 0U);
    mount_attr attr = attributes(what);
    const bool insists = has(what, tree::idmap);
    if (insists || (has(what, tree::idmap_if_able) && idmap_space >= 0)) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = static_cast<std::uint64_t>(idmap_space);
        if (::mount_setattr(out.get(), "", how, &attr, sizeof attr) == 0) {
            return std::nullopt;
        }
        if (insists) {
            return because("map the owners of " + what.source, errno);
        }
        attr = attributes(what);
    }
    if (attr.attr_set != 0 && ::mount_setattr(out.get(), "", how, &attr, sizeof attr) != 0) {
        return because("restrict " + what.source, errno);
    }
    return std::nullopt;
}

std::optional<std::string> make_devices(const std::string& folder) {
    if (::mount("chalk", folder.c_str(), "tmpfs", MS_NOSUID | MS_NOEXEC, "size=64k,mode=0755") != 0) {
        return because("mount a file system for devices at " + folder, errno);
    }
    struct device {
        const char* name;
        unsigned major;
        unsigned minor;
    };
    constexpr device devices[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
                                  {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};
    for (const device& one : devices) {
        const std::string path = folder + "/" + one.name;
        if (::mknod(path.c_str(), S_IFCHR | 0666, ::makedev(one.major, one.minor)) != 0 ||
            ::chmod(path.c_str(), 0666) != 0) {
            return because("make the device " + path, errno);
        }
    }
    constexpr const char* links[][2] = {{"/proc/self/fd", "fd"},
                                        {"/proc/self/fd/0", "stdin"},
                                        {"/proc/self/fd/1", "stdout"},
                                        {"/proc/self/fd/2", "stderr"},
                                        {"pts/ptmx", "ptmx"}};
    for (const auto& link : links) {
        if (::symlink(link[0], (folder + "/" + link[1]).c_str()) != 0) {
            return because("link " + folder + "/" + link[1], errno);
        }
    }
    if (::mkdir((folder + "/shm").c_str(), 0755) != 0 || ::mkdir((folder + "/pts").c_str(), 0755) != 0) {
        return because("make folders in " + folder, errno);
    }
    return std::nullopt;
}

} // namespace chalk::nest
