#include "runtimes/image/rootfs.hpp"

#include "protocol/core/read_file.hpp"
#include "runtimes/image/archive_library.hpp"
#include "runtimes/image/fingerprint.hpp"
#include "runtimes/image/skeleton.hpp"
#include "runtimes/image/tree_copy.hpp"

#include <fmt/format.h>

#include <memory>
#include <system_error>

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::image {

namespace fs = std::filesystem;

namespace {

failure image_failure(std::string message) {
    return {error_class::image, std::move(message)};
}

using reader = std::unique_ptr<archive, decltype(&archive_read_free)>;
using writer = std::unique_ptr<archive, decltype(&archive_write_free)>;
using entry = std::unique_ptr<archive_entry, decltype(&archive_entry_free)>;

failure cannot(const archive_library& lib, const fs::path& source, archive* what) {
    const char* why = lib.archive_error_string(what);
    return image_failure(fmt::format("{}: {}", source.string(), why != nullptr ? why : "cannot be read"));
}

/// As it lies in the archive or folder, made relative: "etc/passwd". Empty: the top, or above it.
std::string relative_name(const fs::path& name, const fs::path& top) {
    const fs::path below = top.empty() ? name.lexically_normal().relative_path() : name.lexically_relative(top);
    const std::string text = below.lexically_normal().string();
    return text == "." || text.starts_with("..") ? std::string() : text;
}

/// Unpacks everything but devices, pipes and sockets below the current folder, through libarchive's own guards against
/// links that lead out.
result<void> unpack(const archive_library& lib, archive* from, const fs::path& source, const fs::path& top,
                    const fs::path& target, const tree_owners& owners) {
    const writer to(lib.archive_write_disk_new(), lib.archive_write_free);
    lib.archive_write_disk_set_options(to.get(), (owners.hand_over ? 0 : ARCHIVE_EXTRACT_OWNER) | ARCHIVE_EXTRACT_PERM |
                                                     ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_NODOTDOT |
                                                     ARCHIVE_EXTRACT_UNLINK);
    const entry current(lib.archive_entry_new2(from), lib.archive_entry_free);
    for (;;) {
        const int rc = lib.archive_read_next_header2(from, current.get());
        if (rc == ARCHIVE_EOF) {
            return lib.archive_write_close(to.get()) == ARCHIVE_OK ? result<void>{} : cannot(lib, source, to.get());
        }
        if (rc < ARCHIVE_WARN) {
            return cannot(lib, source, from);
        }
        if (!top.empty()) {
            lib.archive_read_disk_descend(from);
        }
        const std::string name = relative_name(lib.archive_entry_pathname(current.get()), top);
        const auto type = lib.archive_entry_filetype(current.get());
        const bool link = lib.archive_entry_hardlink(current.get()) != nullptr;
        if (name.empty() || (!link && type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)) {
            continue;
        }
        lib.archive_entry_set_pathname(current.get(), (target / name).c_str());
        if (link) {
            const std::string original = relative_name(lib.archive_entry_hardlink(current.get()), top);
            lib.archive_entry_set_hardlink(current.get(), (target / original).c_str());
        }
        lib.archive_entry_set_uid(current.get(), lib.archive_entry_uid(current.get()) + owners.base);
        lib.archive_entry_set_gid(current.get(), lib.archive_entry_gid(current.get()) + owners.base);
        lib.archive_entry_unset_birthtime(current.get());
        if (lib.archive_write_header(to.get(), current.get()) < ARCHIVE_WARN) {
            return cannot(lib, source, to.get());
        }
        const void* block = nullptr;
        std::size_t size = 0;
        la_int64_t offset = 0;
        while (!link && type == AE_IFREG) {
            const int got = lib.archive_read_data_block(from, &block, &size, &offset);
            if (got == ARCHIVE_EOF) {
                break;
            }
            if (got < ARCHIVE_WARN) {
                return cannot(lib, source, from);
            }
            if (lib.archive_write_data_block(to.get(), block, size, offset) < ARCHIVE_WARN) {
                return cannot(lib, source, to.get());
            }
        }
        if (lib.archive_write_finish_entry(to.get()) < ARCHIVE_WARN) {
            return cannot(lib, source, to.get());
        }
    }
}

result<void> fill(const fs::path& source, const fs::path& target, const tree_owners& owners) {
    std::error_code error;
    const auto loaded = load_archive_library();
    if (!loaded) {
        return loaded.error();
    }
    const archive_library& lib = **loaded;
    const bool folder = fs::is_directory(source, error);
    const reader from(folder ? lib.archive_read_disk_new() : lib.archive_read_new(), lib.archive_read_free);
    if (folder) {
        lib.archive_read_disk_set_symlink_physical(from.get());
        lib.archive_read_disk_set_behavior(from.get(), ARCHIVE_READDISK_NO_TRAVERSE_MOUNTS);
        if (lib.archive_read_disk_open(from.get(), source.c_str()) != ARCHIVE_OK) {
            return cannot(lib, source, from.get());
        }
        return unpack(lib, from.get(), source, source, target, owners);
    }
    lib.archive_read_support_filter_all(from.get());
    lib.archive_read_support_format_tar(from.get());
    constexpr std::size_t block = 128 * 1024;
    if (lib.archive_read_open_filename(from.get(), source.c_str(), block) != ARCHIVE_OK) {
        return cannot(lib, source, from.get());
    }
    return unpack(lib, from.get(), source, {}, target, owners);
}

/// Replaces a file of the image, never through a link of the image.
result<void> replace(const fs::path& file, const std::string& text, const ownership& owner) {
    std::error_code ignored;
    fs::remove(file, ignored);
    return write_file(file, text, owner);
}

/// The image's own root and nobody stay as they are; the student has to be ours.
std::string merge(std::string table, std::string_view ours) {
    while (!ours.empty()) {
        const std::size_t end = ours.find('\n');
        const std::string line(ours.substr(0, end));
        ours.remove_prefix(end == std::string_view::npos ? ours.size() : end + 1);
        const std::string name = line.substr(0, line.find(':') + 1);
        const bool known = table.starts_with(name) || table.find("\n" + name) != std::string::npos;
        if (!known || name == "student:") {
            table = with_entry(table, line);
        }
    }
    return table;
}

result<void> fit_for_sandboxes(const fs::path& root, const tree_owners& owners) {
    const ownership readable{owners.root(), owners.root(), 0755, 0644, 0755};
    for (const char* name : {"etc", "usr", "proc", "sys", "dev", "run", "root", "tmp", "var", "var/tmp", "workdir",
                             "out", "chalk", "root_data", "intermediate_data"}) {
        const fs::path place = root / name;
        std::error_code error;
        if (fs::is_symlink(place, error)) {
            fs::remove(place, error); // a link here would lead a mount astray
        }
        if (!fs::is_directory(place, error)) {
            if (auto made = make_folder(place, readable); !made) {
                return image_failure(made.error().message);
            }
        }
    }
    if (::chmod((root / "root").c_str(), 0700) != 0) {
        return image_failure(fmt::format("cannot close {}", (root / "root").string()));
    }
    for (const identity_file& file : identity_files()) {
        const fs::path path = root / "etc" / file.name;
        std::string text = file.text;
        if (file.name == "passwd" || file.name == "group") {
            std::error_code error;
            std::string table;
            if (fs::is_regular_file(fs::symlink_status(path, error))) {
                const auto old = read_file(path, 1_MiB);
                if (!old) {
                    return image_failure(old.error().message);
                }
                table = *old;
            }
            table = merge(table, text);
            text = table;
        }
        if (auto done = replace(path, text, readable); !done) {
            return image_failure(done.error().message);
        }
    }
    return {};
}

} // namespace

std::string with_entry(std::string_view table, const std::string& line) {
    const auto field = [](std::string_view text, int number) {
        for (int i = 0; i < number; ++i) {
            const std::size_t colon = text.find(':');
            if (colon == std::string_view::npos) {
                return std::string_view();
            }
            text.remove_prefix(colon + 1);
        }
        return text.substr(0, text.find(':'));
    };
    std::string out;
    while (!table.empty()) {
        const std::size_t end = table.find('\n');
        const std::string_view old = table.substr(0, end);
        table.remove_prefix(end == std::string_view::npos ? table.size() : end + 1);
        constexpr int id = 2;
        if (!old.empty() && field(old, 0) != field(line, 0) && field(old, id) != field(line, id)) {
            out.append(old);
            out += '\n';
        }
    }
    return out + line + "\n";
}

result<cache_entry> get_rootfs(const cache& where, const fs::path& source, const tree_owners& owners) {
    std::error_code error;
    const fs::path real = fs::canonical(source, error);
    if (error) {
        return image_failure(fmt::format("there is no root file system at {}: {}", source.string(), error.message()));
    }
    fingerprint changes;
    changes.add("rootfs 1");
    changes.add(std::to_string(owners.base));
    changes.add_tree(real);
    return where.get("rootfs", changes.hex(), [&](const fs::path& folder) -> result<void> {
        const ownership top{owners.root(), owners.root(), 0755, 0644, 0755};
        if (auto made = make_folder(folder / "tree", top); !made) {
            return made;
        }
        if (auto filled = fill(real, folder / "tree", owners); !filled) {
            return filled;
        }
        auto fit = fit_for_sandboxes(folder / "tree", owners);
        return fit ? owners.finish(folder / "tree") : fit;
    });
}

} // namespace chalk::image
