#include "actors/harness/artifacts.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::actors {

namespace {

/// A student can nest folders without end and fill them; what is looked at is bounded.
constexpr std::size_t max_depth = 32;
constexpr std::size_t max_entries = 100'000;

std::string reason() {
    return std::generic_category().message(errno);
}

/// `name` is one component and neither . nor .., so that a symlink that is not followed is all that could lead out of
/// `folder`. (openat2 would say it in one flag, but not every kernel that a sandbox may run on has it.)
unique_fd open_in(int folder, const char* name, int flags) {
    return unique_fd(::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

std::vector<std::string> names_in(int folder) {
    // fdopendir takes the descriptor over; the caller keeps its own.
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0)), ::closedir);
    std::vector<std::string> names;
    if (!listing) {
        return names;
    }
    ::rewinddir(listing.get());
    while (const auto* entry = ::readdir(listing.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") {
            names.emplace_back(name);
            if (names.size() == max_entries) {
                break;
            }
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

class copier {
  public:
    copier(std::filesystem::path out, std::size_t step, const artifact_limits& limits)
        : out_(std::move(out)), step_(step), limits_(limits) {}

    void find(int folder, const std::filesystem::path& at, const std::vector<std::string>& parts, std::size_t next,
              std::size_t depth) {
        if (next == parts.size() || full() || depth > max_depth) {
            return;
        }
        const auto& part = parts[next];
        const bool last = next + 1 == parts.size();
        if (part == "**") {
            find(folder, at, parts, next + 1, depth);
        }
        for (const auto& name : candidates(folder, part)) {
            if (full()) {
                return;
            }
            ++entries_;
            if (part != "**" && last) {
                take(folder, at / name, name, depth);
            } else if (auto below = open_in(folder, name.c_str(), O_RDONLY | O_DIRECTORY)) {
                find(below.get(), at / name, parts, part == "**" ? next : next + 1, depth + 1);
            }
        }
        if (part == "**" && last) {
            take_all(folder, at, depth);
        }
    }

    artifact_report report;

  private:
    bool full() {
        if (report.saved.size() >= limits_.files || entries_ >= max_entries) {
            if (!said_full_) {
                said_full_ = true;
                report.complaints.push_back(fmt::format("artifacts of step {}: stopped after {} files ({} entries)",
                                                        step_, report.saved.size(), entries_));
            }
            return true;
        }
        return false;
    }

    std::vector<std::string> candidates(int folder, const std::string& part) {
        if (part.find_first_of("*?[") == std::string::npos) {
            return {part};
        }
        auto names = names_in(folder);
        if (part != "**") {
            std::erase_if(names, [&](const auto& name) {
                return ::fnmatch(part.c_str(), name.c_str(), FNM_PERIOD | FNM_NOESCAPE) != 0;
            });
        }
        return names;
    }

    void take_all(int folder, const std::filesystem::path& at, std::size_t depth) {
        if (depth > max_depth) {
            return;
        }
        for (const auto& name : names_in(folder)) {
            if (full()) {
                return;
            }
            ++entries_;
            take(folder, at / name, name, depth);
        }
    }

    void take(int folder, const std::filesystem::path& at, const std::string& name, std::size_t depth) {
        auto file = open_in(folder, name.c_str(), O_RDONLY);
        if (!file) {
            if (errno != ENOENT) {
                report.complaints.push_back(fmt::format("artifact {}: {}", at.string(), reason()));
            }
            return;
        }
        struct stat about {};
        if (::fstat(file.get(), &about) != 0) {
            report.complaints.push_back(fmt::format("artifact {}: {}", at.string(), reason()));
            return;
        }
        if (S_ISDIR(about.st_mode)) {
            take_all(file.get(), at, depth + 1);
        } else if (!S_ISREG(about.st_mode)) {
            report.complaints.push_back(fmt::format("artifact {}: not a regular file", at.string()));
        } else if (seen_.insert(at.string()).second) {
            save(file.get(), at);
        }
    }

    void save(int file, const std::filesystem::path& at) {
        const auto relative = std::filesystem::path(fmt::format("step-{}", step_)) / at;
        const auto target = out_ / relative;
        std::error_code ec;
        std::filesystem::create_directories(target.parent_path(), ec);
        if (ec) {
            report.complaints.push_back(fmt::format("artifact {}: {}", at.string(), ec.message()));
            return;
        }
        const unique_fd to(::open(target.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
        if (!to) {
            report.complaints.push_back(fmt::format("artifact {}: {}", at.string(), reason()));
            return;
        }
        const auto copied = copy(file, to.get());
        if (!copied) {
            report.complaints.push_back(fmt::format("artifact {}: {}", at.string(), copied.error().message));
            ::unlink(target.c_str());
            return;
        }
        report.saved.push_back({step_, relative.string(), *copied});
    }

    /// Counts what it reads: the file may grow meanwhile.
    result<std::uint64_t> copy(int from, int to) const {
        std::array<char, 65536> buffer;
        std::uint64_t total = 0;
        for (;;) {
            const auto size = ::read(from, buffer.data(), buffer.size());
            if (size < 0) {
                return harness_failure(reason());
            }
            if (size == 0) {
                return total;
            }
            total += static_cast<std::uint64_t>(size);
            if (total > limits_.size.count) {
                return harness_failure(fmt::format("larger than {} bytes, left out", limits_.size.count));
            }
            for (ssize_t done = 0; done < size;) {
                const auto written = ::write(to, buffer.data() + done, static_cast<std::size_t>(size - done));
                if (written < 0) {
                    return harness_failure(reason());
                }
                done += written;
            }
        }
    }

    std::filesystem::path out_;
    std::size_t step_;
    artifact_limits limits_;
    std::set<std::string> seen_;
    std::size_t entries_ = 0;
    bool said_full_ = false;
};

/// The components of a pattern below the workdir; empty when it leaves it.
std::vector<std::string> parts_of(const std::filesystem::path& workdir, const std::string& pattern) {
    auto path = std::filesystem::path(pattern).lexically_normal();
    if (path.is_absolute()) {
        path = path.lexically_relative(workdir.lexically_normal());
    }
    std::vector<std::string> parts;
    for (const auto& part : path) {
        if (part == "..") {
            return {};
        }
        if (!part.empty() && part != ".") {
            parts.push_back(part.string());
        }
    }
    return parts;
}

} // namespace

artifact_report copy_artifacts(const std::filesystem::path& workdir, const std::filesystem::path& out, std::size_t step,
                               const std::vector<std::string>& patterns, const artifact_limits& limits) {
    copier all(out, step, limits);
    const unique_fd root(::open(workdir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) {
        all.report.complaints.push_back(fmt::format("artifacts: {}: {}", workdir.string(), reason()));
        return std::move(all.report);
    }
    for (const auto& pattern : patterns) {
        const auto parts = parts_of(workdir, pattern);
        if (parts.empty()) {
            all.report.complaints.push_back(fmt::format("artifact {}: not inside {}", pattern, workdir.string()));
            continue;
        }
        all.find(root.get(), {}, parts, 0, 0);
    }
    return std::move(all.report);
}

} // namespace chalk::actors
