#include "protocol/cluster/cluster_files.hpp"
#include "protocol/cluster/staged_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

#include <stdlib.h> // mkdtemp
#include <sys/stat.h>

namespace chalk::cluster {

namespace fs = std::filesystem;

namespace {

failure creation_failure(const fs::path& folder, int error) {
    return harness_failure(
        fmt::format("cannot create {}: {}", folder.string(), std::generic_category().message(error)));
}

failure not_empty(const fs::path& folder) {
    return config_failure(fmt::format(
        "{} is there already, and not an empty folder; a new cluster needs one of its own", folder.string()));
}

/// The folder under construction, removed unless it got its name.
class unnamed_folder {
  public:
    explicit unnamed_folder(const fs::path& beside) : path_(beside.string() + ".new-XXXXXX") {
        made_ = ::mkdtemp(path_.data()) != nullptr; // mode 0700
    }
    unnamed_folder(const unnamed_folder&) = delete;
    unnamed_folder& operator=(const unnamed_folder&) = delete;
    ~unnamed_folder() {
        if (made_) {
            std::error_code ignored; // the failure that counts was reported
            fs::remove_all(path_, ignored);
        }
    }

    [[nodiscard]] bool made() const noexcept { return made_; }
    [[nodiscard]] fs::path path() const { return path_; }
    /// 0 or an error number.
    [[nodiscard]] int rename_to(const fs::path& folder) {
        const int error = std::rename(path_.c_str(), folder.c_str()) == 0 ? 0 : errno;
        made_ = error != 0;
        return error;
    }

  private:
    std::string path_;
    bool made_ = false;
};

result<void> write_new_file(const fs::path& file, std::string_view text, mode_t mode) {
    auto staged = staged_file::write(file, text, mode);
    return staged ? staged->put_in_place() : staged.error();
}

result<void> fill_new_cluster(const fs::path& folder, const node_name& cluster, std::chrono::days valid,
                              wall_time now) {
    const auto made = authority::create(cluster, valid_for(valid, now));
    if (!made) {
        return made.error();
    }
    const auto pem = made->pem();
    if (!pem) {
        return pem.error();
    }
    const auto revoked = write_revocation_list(*made, {}, now);
    if (!revoked) {
        return revoked.error();
    }
    if (::mkdir(nodes_folder(folder).c_str(), 0700) != 0) {
        return creation_failure(nodes_folder(folder), errno);
    }
    struct part {
        fs::path file;
        std::string_view text;
        mode_t mode;
    };
    const part parts[] = {{authority_key_file(folder), pem->key, secret_mode},
                          {authority_file(folder), pem->certificate, public_mode},
                          {revoked_file(folder), *revoked, public_mode},
                          {index_file(folder), "", public_mode}};
    for (const auto& one : parts) {
        if (auto written = write_new_file(one.file, one.text, one.mode); !written) {
            return written;
        }
    }
    return {};
}

} // namespace

result<void> create_cluster(const fs::path& folder, const node_name& cluster, std::chrono::days valid, wall_time now) {
    std::error_code failed;
    auto target = fs::absolute(folder, failed).lexically_normal();
    if (!target.has_filename()) {
        target = target.parent_path(); // "DIR/"
    }
    const auto there = fs::symlink_status(target, failed);
    if (fs::exists(there) && !(fs::is_directory(there) && fs::is_empty(target, failed))) {
        return not_empty(folder);
    }
    fs::create_directories(target.parent_path(), failed);
    if (failed) {
        return creation_failure(target.parent_path(), failed.value());
    }
    unnamed_folder made(target);
    if (!made.made()) {
        return creation_failure(folder, errno);
    }
    if (auto filled = fill_new_cluster(made.path(), cluster, valid, now); !filled) {
        return filled;
    }
    // The folder takes its name with all that is in it, or another one's that was faster stays.
    if (const int error = made.rename_to(target); error != 0) {
        return error == ENOTEMPTY || error == EEXIST || error == ENOTDIR ? not_empty(folder)
                                                                         : creation_failure(folder, error);
    }
    return sync_names(target.parent_path());
}

} // namespace chalk::cluster
