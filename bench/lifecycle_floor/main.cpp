// What a lifecycle in one process cannot do without: start and reap one child, write the transcript's bytes to a
// temporary name, fsync, rename, fsync the folder. Nothing of chalk is linked.
//
// Usage: chalk-bench-lifecycle-floor CHILD COUNT CONCURRENCY BYTES FOLDER    prints
// {"count":..,"seconds":..,"per_s":..}
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT: POSIX gives it no header before _GNU_SOURCE

namespace {

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::exit(1);
}

void spawn_and_reap(const char* child) {
    pid_t pid = -1;
    std::string name = "trivial";
    char* argv[] = {name.data(), nullptr};
    if (posix_spawn(&pid, child, nullptr, nullptr, argv, environ) != 0) {
        die("posix_spawn");
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        die("waitpid");
    }
}

void write_durably(const std::string& folder, int folder_fd, std::size_t index, const std::string& content) {
    const std::string name = folder + "/" + std::to_string(index) + ".json";
    const std::string temporary = name + ".tmp";
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size()) || fsync(fd) != 0) {
        die("write");
    }
    close(fd);
    if (rename(temporary.c_str(), name.c_str()) != 0 || fsync(folder_fd) != 0) {
        die("rename");
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        std::fputs("usage: chalk-bench-lifecycle-floor CHILD COUNT CONCURRENCY BYTES FOLDER\n", stderr);
        return 2;
    }
    const char* child = argv[1];
    const std::size_t count = std::strtoul(argv[2], nullptr, 10);
    const std::size_t concurrency = std::strtoul(argv[3], nullptr, 10);
    const std::string content(std::strtoul(argv[4], nullptr, 10), 'x');
    const std::string folder = argv[5];
    const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0) {
        die("open folder");
    }

    std::atomic<std::size_t> next{0};
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (std::size_t i = 0; i < concurrency; ++i) {
        workers.emplace_back([&] {
            for (std::size_t index = next++; index < count; index = next++) {
                spawn_and_reap(child);
                write_durably(folder, folder_fd, index, content);
            }
        });
    }
    for (auto& worker : workers) {
        worker.join();
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    close(folder_fd);
    std::printf("{\"count\":%zu,\"seconds\":%.4f,\"per_s\":%.1f}\n", count, seconds,
                static_cast<double>(count) / seconds);
    return 0;
}
