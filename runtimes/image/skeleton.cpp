#include "runtimes/image/skeleton.hpp"

#include "runtimes/image/fingerprint.hpp"
#include "runtimes/image/tree_copy.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

namespace chalk::image {

namespace fs = std::filesystem;

namespace {

/// What programs under /usr look for in /etc. Only what everyone may read is taken; keys never are.
constexpr const char* wanted[] = {"alternatives",
                                  "ca-certificates.conf",
                                  "debian_version",
                                  "fonts",
                                  "inputrc",
                                  "ld.so.cache",
                                  "ld.so.conf",
                                  "ld.so.conf.d",
                                  "localtime",
                                  "locale.alias",
                                  "locale.conf",
                                  "magic",
                                  "mime.types",
                                  "os-release",
                                  "perl",
                                  "pki",
                                  "protocols",
                                  "python3",
                                  "python3.11",
                                  "python3.12",
                                  "rpc",
                                  "services",
                                  "ssl",
                                  "terminfo",
                                  "timezone",
                                  "java-17-openjdk",
                                  "java-21-openjdk",
                                  "crypto-policies",
                                  "mke2fs.conf"};

constexpr const char* top_level[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/// Private keys and what a package may keep beside certificates.
bool is_private(const fs::path& relative) {
    const std::string name = relative.filename().string();
    return name == "private" || name.ends_with(".key");
}

bool is_there(const fs::path& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0;
}

result<void> copy_configuration(const fs::path& etc, const ownership& readable) {
    copy_options options;
    options.owner = readable;
    options.leave_out = is_private;
    options.skip_what_cannot_be_copied = true;
    for (const char* name : wanted) {
        const fs::path from = fs::path("/etc") / name;
        struct stat found {};
        if (::lstat(from.c_str(), &found) != 0) {
            continue;
        }
        result<void> done;
        if (S_ISDIR(found.st_mode)) {
            done = copy_tree(from, etc / name, options);
        } else if (S_ISLNK(found.st_mode)) {
            std::error_code error;
            fs::create_symlink(fs::read_symlink(from, error), etc / name, error);
            if (error || ::lchown((etc / name).c_str(), readable.uid, readable.gid) != 0) {
                done = sandbox_failure(fmt::format("cannot link {}", (etc / name).string()));
            }
        } else if ((found.st_mode & S_IROTH) != 0) {
            done = copy_file(from, etc / name, readable);
        }
        if (!done) {
            return done;
        }
    }
    return {};
}

result<void> make(const fs::path& root, const ownership& readable) {
    if (auto made = make_folder(root, readable); !made) {
        return made;
    }
    struct place {
        const char* path;
        mode_t mode;
    };
    constexpr place places[] = {
        {"etc", 0755},     {"usr", 0755},       {"proc", 0555},      {"sys", 0555},
        {"dev", 0755},     {"run", 0755},       {"run/lock", 01777}, {"home", 0755},
        {"root", 0700},    {"srv", 0755},       {"opt", 0755},       {"mnt", 0755},
        {"media", 0755},   {"tmp", 01777},      {"var", 0755},       {"var/tmp", 01777},
        {"var/lib", 0755}, {"var/cache", 0755}, {"var/log", 0755},   {"workdir", 0755},
        {"out", 0700},     {"chalk", 0700},     {"root_data", 0700}, {"intermediate_data", 0700}};
    for (const place& one : places) {
        ownership as = readable;
        as.folder_mode = one.mode;
        if (auto made = make_folder(root / one.path, as); !made) {
            return made;
        }
    }
    for (const char* name : top_level) {
        const fs::path host = fs::path("/") / name;
        std::error_code error;
        if (fs::is_symlink(host, error)) {
            fs::create_symlink(fs::read_symlink(host, error), root / name, error);
            if (error || ::lchown((root / name).c_str(), readable.uid, readable.gid) != 0) {
                return sandbox_failure(fmt::format("cannot link {}", (root / name).string()));
            }
        } else if (fs::is_directory(host, error)) {
            if (auto made = make_folder(root / name, readable); !made) {
                return made;
            }
        }
    }
    if (auto copied = copy_configuration(root / "etc", readable); !copied) {
        return copied;
    }
    for (const identity_file& file : identity_files()) {
        if (auto written = write_file(root / "etc" / file.name, file.text, readable); !written) {
            return written;
        }
    }
    std::error_code error;
    fs::create_symlink("/proc/mounts", root / "etc/mtab", error);
    if (error || ::lchown((root / "etc/mtab").c_str(), readable.uid, readable.gid) != 0) {
        return sandbox_failure("cannot link etc/mtab in the skeleton");
    }
    return {};
}

} // namespace

const std::vector<identity_file>& identity_files() {
    static const std::vector<identity_file> files = {
        {"passwd", "root:x:0:0:root:/root:/bin/sh\n"
                   "student:x:1000:1000:student:/workdir:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
        {"group", "root:x:0:\ntty:x:5:\nstudent:x:1000:\nnogroup:x:65534:\n"},
        {"hosts", "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n"},
        {"hostname", "sandbox\n"},
        {"resolv.conf", "# a sandbox has no name server\n"},
        {"nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n"
                          "protocols: files\nnetworks: files\n"},
        {"shells", "/bin/sh\n/bin/bash\n"},
    };
    return files;
}

std::vector<std::string> system_folders() {
    std::vector<std::string> found;
    for (const char* name : top_level) {
        std::error_code error;
        const fs::path host = fs::path("/") / name;
        if (!fs::is_symlink(host, error) && fs::is_directory(host, error)) {
            found.emplace_back(name);
        }
    }
    return found;
}

result<cache_entry> get_skeleton(const cache& where, const tree_owners& owners) {
    fingerprint sources;
    sources.add("skeleton 1");
    sources.add(std::to_string(owners.base));
    for (const char* name : wanted) {
        if (const fs::path from = fs::path("/etc") / name; is_there(from)) {
            sources.add_tree(from);
        }
    }
    for (const char* name : top_level) {
        sources.add_tree_root(fs::path("/") / name);
    }
    const ownership readable{owners.root(), owners.root(), 0755, 0644, 0755};
    return where.get("skeleton", sources.hex(), [&](const fs::path& folder) {
        auto made = make(folder / "tree", readable);
        return made ? owners.finish(folder / "tree") : made;
    });
}

} // namespace chalk::image
