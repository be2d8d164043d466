#include "actors/harness/hardening.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include <dirent.h>
#include <nss.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::actors {

namespace {

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? std::string(".") : slash == 0 ? std::string("/") : path.substr(0, slash);
}

/// Paths in mountinfo write blanks and backslashes in octal.
std::string unescaped(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

/// Children of every thread of this process.
std::size_t kill_children() {
    std::size_t killed = 0;
    DIR* tasks = ::opendir("/proc/self/task");
    if (tasks == nullptr) {
        return 0;
    }
    while (const auto* entry = ::readdir(tasks)) {
        std::ifstream children(fmt::format("/proc/self/task/{}/children", entry->d_name));
        for (pid_t pid = 0; children >> pid;) {
            ::kill(pid, SIGKILL);
            ++killed;
        }
    }
    ::closedir(tasks);
    return killed;
}

} // namespace

bool student_could_write(const std::string& folder, uid_t student) {
    struct stat about {};
    if (folder.empty() || folder.front() != '/' || ::stat(folder.c_str(), &about) != 0) {
        return true;
    }
    return about.st_uid == student || (about.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

std::string without_writable(std::string_view list, std::string_view separators,
                             const std::function<bool(const std::string&)>& writable) {
    std::string kept;
    while (!list.empty()) {
        const auto end = list.find_first_of(separators);
        const std::string entry(list.substr(0, end));
        if (!entry.empty() && !writable(entry)) {
            kept += kept.empty() ? "" : std::string(1, separators.front());
            kept += entry;
        }
        list = end == std::string_view::npos ? std::string_view() : list.substr(end + 1);
    }
    return kept;
}

bool clean_search_paths(uid_t student) {
    const auto folder_open = [student](const std::string& folder) { return student_could_write(folder, student); };
    // A name without a slash is looked up in the loader's own folders.
    const auto file_open = [student](const std::string& file) {
        return file.find('/') != std::string::npos &&
               (student_could_write(folder_of(file), student) || student_could_write(file, student));
    };
    bool loader_changed = false;
    const std::tuple<const char*, const char*, std::function<bool(const std::string&)>, bool> lists[] = {
        {"PATH", ":", folder_open, false},
        {"LD_LIBRARY_PATH", ":;", folder_open, true},
        {"LD_PRELOAD", ": ", file_open, true},
        {"LD_AUDIT", ":", file_open, true},
    };
    for (const auto& [name, separators, open, of_loader] : lists) {
        const char* before = std::getenv(name);
        if (before == nullptr) {
            continue;
        }
        const std::string old = before;
        const auto kept = without_writable(old, separators, open);
        if (kept == old) {
            continue;
        }
        if (kept.empty()) {
            ::unsetenv(name);
        } else {
            ::setenv(name, kept.c_str(), 1);
        }
        loader_changed = loader_changed || of_loader;
    }
    return loader_changed;
}

result<void> close_mount_points() {
    std::ifstream mounts("/proc/self/mountinfo");
    if (!mounts) {
        return harness_failure("cannot read /proc/self/mountinfo");
    }
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream fields(line);
        std::string skipped;
        std::string point;
        fields >> skipped >> skipped >> skipped >> skipped >> point;
        point = unescaped(point);
        struct stat about {};
        if (::lstat(point.c_str(), &about) != 0 || !S_ISDIR(about.st_mode) || (about.st_mode & S_ISVTX) != 0 ||
            (about.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
            continue;
        }
        const auto mode = about.st_mode & 07777U & ~static_cast<unsigned>(S_IWGRP | S_IWOTH);
        // A read-only mount is closed as it is.
        if (::chmod(point.c_str(), mode) != 0 && errno != EROFS) {
            return harness_failure(fmt::format("cannot take write permission from mount point {}: {}", point,
                                               std::generic_category().message(errno)));
        }
    }
    return {};
}

void configure_name_service() {
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("group", "files");
}

void kill_descendants() {
    // As the reaper of orphans this process is the parent of all that is below it, sooner or later. A killed parent
    // hands its children to us; the loop ends when there is none.
    for (;;) {
        const auto alive = kill_children();
        int status = 0;
        const pid_t reaped = ::waitpid(-1, &status, alive == 0 ? WNOHANG : 0);
        if (reaped <= 0 && !(reaped < 0 && errno == EINTR)) {
            return;
        }
    }
}

} // namespace chalk::actors
