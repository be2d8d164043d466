#include "runtimes/confinement/check/as_user.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace chalk::confinement::check {

namespace {

using verdict = probe_result::verdict;

std::string reason() {
    return std::generic_category().message(errno);
}

/// The student's folder lies on a file system of its own, whose size is the limit.
probe_result own_file_system(const settings& how) {
    probe_result made{
        "limit: disk", fmt::format("{} is on a sized file system apart from the root's", how.home), {}, verdict::fail};
    struct statvfs home {};
    struct stat home_place {};
    struct stat root_place {};
    if (::statvfs(how.home.c_str(), &home) != 0 || ::stat(how.home.c_str(), &home_place) != 0 ||
        ::stat("/", &root_place) != 0) {
        made.seen = fmt::format("{}: {}", how.home, reason());
        return made;
    }
    const auto size = static_cast<std::uint64_t>(home.f_blocks) * home.f_frsize;
    const bool apart = home_place.st_dev != root_place.st_dev;
    made.seen = fmt::format("{} MiB, {}", size >> 20U, apart ? "apart" : "shared with the root file system");
    made.how = apart ? verdict::pass : verdict::fail;
    return made;
}

/// What a file system of the kernel's with quotas would give; most lack it. Mounts one and takes it away.
probe_result file_quota(const settings& how, leftovers& left) {
    probe_result made{"limit: file quota", "a quota of 64 KiB on a small tmpfs holds", {}, verdict::skip};
    char folder[] = "/tmp/chalk_check_XXXXXX";
    if (::mkdtemp(folder) == nullptr) {
        made.seen = fmt::format("no folder to mount it on: {}", reason());
        return made;
    }
    constexpr const char* options = "size=1m,mode=1777,usrquota_block_hardlimit=65536";
    if (::mount("chalk_check", folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) != 0) {
        made.seen = errno == EPERM ? "root may mount nothing here" : "the kernel has no quota on tmpfs: " + reason();
    } else {
        const std::string file = std::string(folder) + "/file";
        const auto end = as_user(how, [&file](std::uint64_t& written) {
            const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            const std::vector<char> part(4096, 'x');
            for (written = 0; written < 256U * 1024U; written += part.size()) {
                if (::write(out, part.data(), part.size()) != static_cast<ssize_t>(part.size())) {
                    return errno == EDQUOT ? 0 : 1;
                }
            }
            return 2;
        });
        made.seen = end ? fmt::format("{} KiB were written", end->counted >> 10U) : "could not be tried";
        made.how = end && end->code == 0 ? verdict::pass : verdict::fail;
        if (::umount2(folder, MNT_DETACH) != 0) {
            left.push_back(fmt::format("mount {}: {}", folder, reason()));
        }
    }
    if (::rmdir(folder) != 0) {
        left.push_back(fmt::format("folder {}: {}", folder, reason()));
    }
    return made;
}

} // namespace

std::vector<probe_result> probe_disk(const settings& how, leftovers& left) {
    return {own_file_system(how), file_quota(how, left)};
}

} // namespace chalk::confinement::check
