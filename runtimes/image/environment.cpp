#include "runtimes/image/environment.hpp"

#include "config/environment_manifest.hpp"
#include "protocol/core/sandbox_layout.hpp"
#include "runtimes/image/fingerprint.hpp"
#include "runtimes/image/tree_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/stat.h>

namespace chalk::image {

namespace fs = std::filesystem;

namespace {

constexpr const char* data_folders[] = {"root_data", "intermediate_data", "student_data", "shared_data"};

bool is_data(const std::string& name) {
    return std::any_of(std::begin(data_folders), std::end(data_folders), [&](const char* one) { return name == one; });
}

/// Name, kind, whether executable, contents: what a sandbox can tell apart. Order is by name, not the file system's.
result<void> digest_below(const fs::path& folder, const fs::path& relative, fingerprint& digest) {
    std::vector<fs::path> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (!is_left_out(relative / at->path().filename())) {
            names.push_back(at->path().filename());
        }
    }
    if (error) {
        return config_failure(fmt::format("cannot list {}: {}", folder.string(), error.message()));
    }
    std::sort(names.begin(), names.end());
    for (const fs::path& name : names) {
        const fs::path path = folder / name;
        struct stat found {};
        if (::lstat(path.c_str(), &found) != 0) {
            return config_failure(fmt::format("cannot look at {}: {}", path.string(), std::strerror(errno)));
        }
        digest.add((relative / name).string());
        if (S_ISDIR(found.st_mode)) {
            digest.add("folder");
            if (auto below = digest_below(path, relative / name, digest); !below) {
                return below;
            }
            digest.add("end");
        } else if (S_ISLNK(found.st_mode)) {
            digest.add("link");
            digest.add(fs::read_symlink(path, error).string());
        } else if (S_ISREG(found.st_mode)) {
            digest.add((found.st_mode & S_IXUSR) != 0 ? "program" : "file");
            if (auto read = digest.add_contents(path); !read) {
                return read;
            }
        } else {
            return config_failure(fmt::format(
                "{} is neither a file nor a folder nor a link; remove it from the environment", path.string()));
        }
    }
    return {};
}

result<void> stage_data(const fs::path& from, const fs::path& to, const ownership& owner) {
    std::error_code error;
    if (!fs::is_directory(from, error)) {
        return make_folder(to, owner);
    }
    copy_options options;
    options.owner = owner;
    options.leave_out = [](const fs::path& relative) { return relative.filename() == "__pycache__"; };
    return copy_tree(from, to, options);
}

result<void> stage_into(const fs::path& folder, const fs::path& source, const tree_owners& owners) {
    const uid_t base = owners.root();
    const ownership root_alone{base, base, 0700, 0600, 0700};
    const ownership readable{base, base, 0755, 0644, 0755};
    const uid_t student = owners.student();
    const ownership students{student, student, 0755, 0644, 0755};

    copy_options code;
    code.owner = root_alone;
    code.leave_out = [](const fs::path& relative) {
        return is_left_out(relative) || (is_data(relative.begin()->string()) && ++relative.begin() == relative.end());
    };
    const std::function<result<void>()> parts[] = {
        [&] { return make_folder(folder / "root", readable); },
        [&] { return make_folder(folder / "root/root", root_alone); },
        [&] { return copy_tree(source, folder / "root/root/environment", code); },
        [&] { return stage_data(source / "root_data", folder / "root/root_data", root_alone); },
        [&] { return stage_data(source / "intermediate_data", folder / "root/intermediate_data", root_alone); },
        [&] { return make_folder(folder / "workdir", readable); },
        [&] { return stage_data(source / "student_data", folder / "workdir/data", students); },
        [&] { return stage_data(source / "shared_data", folder / "workdir/shared", readable); },
    };
    for (const auto& make : parts) {
        if (auto made = make(); !made) {
            return made;
        }
    }
    return owners.finish(folder, {folder / "workdir/data"});
}

} // namespace

bool is_left_out(const fs::path& relative) {
    static constexpr const char* at_top[] = {"out", ".git", ".venv", "node_modules"};
    const std::string first = relative.begin()->string();
    return relative.filename() == "__pycache__" ||
           std::any_of(std::begin(at_top), std::end(at_top), [&](const char* one) { return first == one; });
}

result<environment_source> load_environment_source(const fs::path& folder) {
    std::error_code error;
    environment_source source;
    source.folder = fs::canonical(folder, error);
    if (error || !fs::is_directory(source.folder, error)) {
        return config_failure(
            fmt::format("{} is not a folder: an environment is a folder with a pyproject.toml", folder.string()));
    }
    auto manifest = config::load_environment_manifest(source.folder);
    if (!manifest) {
        return manifest.error();
    }
    source.mask = std::move(manifest->mask);
    fingerprint digest;
    if (auto done = digest_below(source.folder, {}, digest); !done) {
        return done.error();
    }
    source.digest = "sha256:" + digest.hex();
    return source;
}

result<cache_entry> stage(const cache& where, const environment_source& environment, const tree_owners& owners) {
    std::string key = environment.digest;
    std::replace(key.begin(), key.end(), ':', '-');
    if (key.empty() || key.find('/') != std::string::npos) {
        return sandbox_failure(fmt::format("the environment {} has no digest", environment.folder.string()));
    }
    if (owners.base != 0) {
        key += fmt::format("-{}", owners.base);
    }
    return where.get("environment", key,
                     [&](const fs::path& folder) { return stage_into(folder, environment.folder, owners); });
}

} // namespace chalk::image
