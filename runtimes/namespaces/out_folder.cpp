#include "runtimes/namespaces/out_folder.hpp"

#include "runtimes/cannot.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

constexpr mode_t permissions = 07777;

result<void> give_all(const fs::path& folder, uid_t uid, gid_t gid) {
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (::lchown(at->path().c_str(), uid, gid) != 0) {
            return cannot("give back", at->path(), errno);
        }
    }
    if (error) {
        return cannot("list", folder, error.value());
    }
    if (::chown(folder.c_str(), uid, gid) != 0) {
        return cannot("change the owner of", folder, errno);
    }
    return {};
}

} // namespace

result<out_folder> out_folder::lend(const fs::path& folder, bool idmapped, const id_range& ids, owner_change change) {
    out_folder lent;
    lent.folder_ = folder;
    lent.change_ = std::move(change);
    if (::stat(folder.c_str(), &lent.before_) != 0 || !S_ISDIR(lent.before_.st_mode)) {
        return cannot("use the folder", folder, errno != 0 ? errno : ENOTDIR);
    }
    constexpr mode_t owner_alone = 0700;
    if (::chmod(folder.c_str(), owner_alone) != 0) {
        return cannot("close to others", folder, errno);
    }
    if (!idmapped) {
        if (lent.change_) {
            if (auto changed = lent.change_(folder, true); !changed) {
                return changed.error();
            }
        } else if (::chown(folder.c_str(), ids.first, ids.first) != 0) {
            return cannot("change the owner of", folder, errno);
        }
        lent.lent_owner_ = true;
    } else if (::chown(folder.c_str(), 0, 0) != 0) { // what the mount shows as the sandbox's root
        return cannot("change the owner of", folder, errno);
    }
    return lent;
}

result<void> out_folder::give_back() {
    if (folder_.empty()) {
        return {};
    }
    const result<void> given =
        lent_owner_ && change_ ? change_(folder_, false) : give_all(folder_, before_.st_uid, before_.st_gid);
    if (!given) {
        return given;
    }
    if (::chmod(folder_.c_str(), before_.st_mode & permissions) != 0) {
        return cannot("set the mode of", folder_, errno);
    }
    folder_.clear();
    return {};
}

} // namespace chalk::namespaces
