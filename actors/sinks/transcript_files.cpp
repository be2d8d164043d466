#include "actors/sinks/transcript_files.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

failure file_failure(std::string_view what, const fs::path& file) {
    return harness_failure(
        fmt::format("cannot {} {}: {}", what, file.string(), std::generic_category().message(errno)));
}

fs::path folder_of(const fs::path& file) {
    return file.parent_path().empty() ? "." : file.parent_path();
}

fs::path temporary_name(const fs::path& file) {
    static std::atomic<std::uint64_t> count = 0;
    return folder_of(file) / fmt::format(".{}.{}.{}.tmp", file.filename().string(), ::getpid(), ++count);
}

result<void> write_all(int fd, const std::string& text, const fs::path& file) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno != EINTR) {
            return file_failure("write", file);
        }
        done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return {};
}

/// A folder that files of the batch go into.
struct folder {
    unique_fd fd;
    uid_t uid = 0;
    gid_t gid = 0;
};

struct batch_entry {
    unique_fd fd;
    fs::path temporary;
    folder* where = nullptr;
};

result<folder> open_folder(const fs::path& path) {
    folder f;
    f.fd.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat s {};
    if (!f.fd || ::fstat(f.fd.get(), &s) != 0) {
        return file_failure("open the folder", path);
    }
    f.uid = s.st_uid;
    f.gid = s.st_gid;
    return f;
}

result<batch_entry> write_temporary(const file_job& job, std::map<fs::path, folder>& folders) {
    const fs::path parent = folder_of(job.file);
    auto found = folders.find(parent);
    if (found == folders.end()) {
        auto opened = open_folder(parent);
        if (!opened) {
            return opened.error();
        }
        found = folders.emplace(parent, std::move(*opened)).first;
    }
    batch_entry entry;
    entry.where = &found->second;
    entry.temporary = temporary_name(job.file);
    std::string text;
    try {
        text = job.content();
    } catch (const std::exception& e) {
        return harness_failure(fmt::format("cannot put {} together: {}", job.file.string(), e.what()));
    }
    entry.fd.reset(::open(entry.temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!entry.fd) {
        return file_failure("create", entry.temporary);
    }
    if (auto written = write_all(entry.fd.get(), text, entry.temporary); !written) {
        ::unlink(entry.temporary.c_str());
        return written.error();
    }
    if (::geteuid() == 0 && ::fchown(entry.fd.get(), found->second.uid, found->second.gid) != 0) {
        const failure why = file_failure("hand over", entry.temporary);
        ::unlink(entry.temporary.c_str());
        return why;
    }
    return entry;
}

} // namespace

std::vector<result<void>> write_durably(const std::vector<file_job>& jobs) {
    std::map<fs::path, folder> folders;
    std::vector<result<void>> results(jobs.size());
    std::vector<batch_entry> entries(jobs.size());
    // All are written before the first is synced: the file system's journal then takes them in few commits.
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (auto entry = write_temporary(jobs[i], folders); entry) {
            entries[i] = std::move(*entry);
        } else {
            results[i] = entry.error();
        }
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (!results[i]) {
            continue;
        }
        if (::fsync(entries[i].fd.get()) != 0) {
            results[i] = file_failure("sync", entries[i].temporary);
        } else if (::rename(entries[i].temporary.c_str(), jobs[i].file.c_str()) != 0) {
            results[i] = file_failure("rename into place", jobs[i].file);
        }
        if (!results[i]) {
            ::unlink(entries[i].temporary.c_str());
        }
        entries[i].fd.reset();
    }
    for (auto& [path, where] : folders) {
        if (::fsync(where.fd.get()) == 0) {
            continue;
        }
        const failure why = file_failure("sync the folder", path);
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            if (results[i] && entries[i].where == &where) {
                results[i] = why;
            }
        }
    }
    return results;
}

result<void> give_to_owner_of(const fs::path& path, const fs::path& like) {
    struct stat owner {};
    if (::geteuid() != 0) {
        return {};
    }
    if (::stat(like.c_str(), &owner) != 0) {
        return file_failure("look at", like);
    }
    std::optional<failure> trouble;
    const auto give = [&](const fs::path& p) {
        if (::lchown(p.c_str(), owner.st_uid, owner.st_gid) != 0 && !trouble) {
            trouble = file_failure("hand over", p);
        }
    };
    give(path);
    std::error_code ec;
    for (fs::recursive_directory_iterator it(path, ec), end; !ec && it != end; it.increment(ec)) {
        give(it->path());
    }
    if (ec) {
        return harness_failure(fmt::format("cannot list {}: {}", path.string(), ec.message()));
    }
    if (trouble) {
        return *trouble;
    }
    return {};
}

} // namespace chalk::actors
