#include "protocol/store/read_tree.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/manifest_lines.hpp"
#include "protocol/store/store_files.hpp"
#include "protocol/store/tree_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::store {

namespace {

constexpr std::size_t max_complaints = 100;

struct found_file {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
};

/// First all names, then all contents: how many of a file's hard links lie in the folder is known only after the names.
class tree_reader {
  public:
    tree_reader(std::string folder, const read_tree_options& options, unique_fd root, dev_t device)
        : folder_(std::move(folder)), options_(options), root_(std::move(root)), device_(device) {}

    result<read_tree_report> read() {
        if (auto listed = list(root_.get(), {}); !listed) {
            return listed.error();
        }
        for (const auto& file : files_) {
            if (auto taken = take_content(file); !taken) {
                return taken.error();
            }
        }
        if (complaints_ > max_complaints) {
            report_.complaints.push_back(fmt::format("{} more were left out", complaints_ - max_complaints));
        }
        auto tree = tree_manifest::make(std::move(entries_));
        if (!tree) {
            return refuse(tree.error().message);
        }
        report_.tree = std::move(*tree);
        return std::move(report_);
    }

  private:
    failure refuse(const std::string& cause) const {
        const auto message = fmt::format("{}: {}", folder_, cause);
        return options_.trust == folder_trust::operators ? config_failure(message) : harness_failure(message);
    }

    /// Fails for an operator's folder, complains of a student's.
    result<void> leave_out(const std::string& path, std::string_view cause) {
        const auto text = fmt::format("{}: {}", dump_json(path), cause);
        if (options_.trust == folder_trust::operators) {
            return refuse(text);
        }
        if (++complaints_ <= max_complaints) {
            report_.complaints.push_back(text);
        }
        return {};
    }

    /// Takes the entry's line from the room that the manifest has left. Otherwise there is none, and nothing is taken.
    bool take_room(const tree_entry& entry) {
        const auto length = manifest_line_length(entry);
        if (length > text_room_) {
            return false;
        }
        text_room_ -= length;
        return true;
    }

    result<void> leave_out_for_room(const std::string& path) {
        return leave_out(
            path, fmt::format("the manifest has no room for it: its text may have {} bytes", max_manifest_text.count));
    }

    result<void> list(int folder, const std::string& at) {
        // Counted when they are listed, since the names of all folders above this one are in memory. One more than may
        // be, so that too many are seen.
        const auto room = options_.max_entries - listed_;
        auto names = list_names(folder, room + 1);
        if (!names) {
            return leave_out(at, errno_text());
        }
        const bool too_many = names->size() > room;
        names->resize(std::min(names->size(), room));
        listed_ += names->size();
        for (const auto& name : *names) {
            const auto path = at.empty() ? name : fmt::format("{}/{}", at, name);
            if (options_.leave_out && options_.leave_out(path)) {
                continue;
            }
            if (auto listed = list_one(folder, name, path); !listed) {
                return listed;
            }
        }
        return too_many ? leave_out(at.empty() ? "." : at,
                                    fmt::format("more than {} entries; the rest is left out", options_.max_entries))
                        : result<void>();
    }

    result<void> list_one(int folder, const std::string& name, const std::string& path) {
        if (const auto fault = find_path_fault(path); !fault.empty()) {
            return leave_out(path, fault);
        }
        struct stat about {};
        if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
            return leave_out(path, errno_text());
        }
        if (options_.trust == folder_trust::students && about.st_dev != device_) {
            return leave_out(path, "on another file system");
        }
        if (S_ISLNK(about.st_mode)) {
            return take_link(folder, name, path);
        }
        if (S_ISREG(about.st_mode)) {
            ++links_seen_[{about.st_dev, about.st_ino}];
            files_.push_back({path, about.st_dev, about.st_ino});
            return {};
        }
        if (!S_ISDIR(about.st_mode)) {
            return leave_out(path, "neither a file nor a folder nor a link");
        }
        const unique_fd below(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!below) {
            return leave_out(path, errno_text());
        }
        tree_entry entry{path, entry_kind::folder, false, {}, {}, {}};
        if (!take_room(entry)) {
            return leave_out_for_room(path);
        }
        entries_.push_back(std::move(entry));
        return list(below.get(), path); // as deep as a path may be
    }

    result<void> take_link(int folder, const std::string& name, const std::string& path) {
        std::string target(max_path_length + 1, '\0');
        const auto size = ::readlinkat(folder, name.c_str(), target.data(), target.size());
        if (size < 0) {
            return leave_out(path, errno_text());
        }
        target.resize(static_cast<std::size_t>(size));
        if (const auto fault = find_target_fault(path, target); !fault.empty()) {
            return leave_out(path, fault);
        }
        tree_entry entry{path, entry_kind::symlink, false, {}, {}, std::move(target)};
        if (!take_room(entry)) {
            return leave_out_for_room(path);
        }
        entries_.push_back(std::move(entry));
        return {};
    }

    result<void> take_content(const found_file& file) {
        // All of it may have been replaced meanwhile: each component is opened for itself, and held against what was
        // listed.
        const auto parent = open_parent(root_.get(), file.path);
        const unique_fd fd(parent ? ::openat(parent.get(), last_component(file.path).c_str(),
                                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                                  : -1);
        struct stat about {};
        if (!fd || ::fstat(fd.get(), &about) != 0) {
            return leave_out(file.path, errno_text());
        }
        if (!S_ISREG(about.st_mode) || about.st_dev != file.device || about.st_ino != file.inode) {
            return leave_out(file.path, "changed while it was read");
        }
        if (options_.trust == folder_trust::students && about.st_nlink > links_seen_[{about.st_dev, about.st_ino}]) {
            return leave_out(file.path, "has a hard link outside the folder");
        }
        const bytes size{static_cast<std::uint64_t>(about.st_size)};
        if (size > options_.max_file) {
            return leave_out(file.path, fmt::format("larger than {} bytes", options_.max_file.count));
        }
        if (total_ + size > options_.max_total) {
            return leave_out(file.path,
                             fmt::format("with it the whole is larger than {} bytes", options_.max_total.count));
        }
        tree_entry entry{file.path, entry_kind::file, (about.st_mode & S_IXUSR) != 0, size, {}, {}};
        return take_room(entry) ? read_content(fd.get(), std::move(entry)) : leave_out_for_room(file.path);
    }

    /// A file that turns out to be no good keeps the room that it took: that leaves out more than it must, and no less.
    result<void> read_content(int fd, tree_entry entry) {
        const auto path = entry.path;
        const auto size = entry.size;
        for (std::uint64_t i = 0; i < count_chunks(size); ++i) {
            const auto expected = size_of_chunk(size, i).count;
            const auto data = read_up_to(fd, expected, static_cast<off_t>(i * chunk_size.count));
            if (!data) {
                return leave_out(path, errno_text());
            }
            if (data->size() != expected) {
                return leave_out(path, "changed while it was read");
            }
            entry.chunks.push_back(name_chunk(*data));
            if (options_.on_chunk) {
                if (auto taken = options_.on_chunk(entry.chunks.back(), *data); !taken) {
                    return taken;
                }
            }
        }
        struct stat after {};
        if (::fstat(fd, &after) != 0 || static_cast<std::uint64_t>(after.st_size) != size.count) {
            return leave_out(path, "changed while it was read");
        }
        total_ = total_ + size;
        entries_.push_back(std::move(entry));
        return {};
    }

    std::string folder_; ///< for messages
    const read_tree_options& options_;
    unique_fd root_;
    dev_t device_;
    std::vector<found_file> files_;
    std::map<std::pair<dev_t, ino_t>, nlink_t> links_seen_;
    std::vector<tree_entry> entries_;
    std::size_t listed_ = 0;
    std::size_t complaints_ = 0;
    bytes total_;
    /// Of the manifest's text, in bytes, with its break and the longest head taken off.
    std::size_t text_room_ = max_manifest_text.count - manifest_head(max_tree_entries).size() - 1;
    read_tree_report report_;
};

} // namespace

result<read_tree_report> read_tree(const std::filesystem::path& folder, const read_tree_options& options) {
    // An operator may name his folder by a link; a student's own folder is where chalk put it.
    const int follow = options.trust == folder_trust::students ? O_NOFOLLOW : 0;
    unique_fd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow));
    struct stat about {};
    if (!root || ::fstat(root.get(), &about) != 0) {
        const auto message = fmt::format("cannot open the folder {}: {}", folder.string(), errno_text());
        return options.trust == folder_trust::operators ? config_failure(message) : harness_failure(message);
    }
    return tree_reader(folder.string(), options, std::move(root), about.st_dev).read();
}

} // namespace chalk::store
