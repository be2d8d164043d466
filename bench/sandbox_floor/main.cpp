/// sandbox_floor [--count N] [--concurrency N]
/// How many sandboxes a second the kernel can make and end with nothing of chalk's in between: new user, mount,
/// process, network, ipc and uts namespaces, ids mapped, a tmpfs, an overlay on it, /usr, /proc, pivot_root, exec of a
/// static program, its exit, reaped. As root. Prints {"per_s":...,"count":...,"concurrency":...}.
#include "protocol/core/unique_fd.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using chalk::unique_fd;

void require(bool fine, const char* what) {
    if (!fine) {
        std::fprintf(stderr, "sandbox_floor: %s: %s\n", what, std::strerror(errno));
        ::_exit(3);
    }
}

void write_file(const std::string& path, const char* text) {
    const unique_fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    require(file && ::write(file.get(), text, std::strlen(text)) >= 0, path.c_str());
}

[[noreturn]] void inside(int go, int program) {
    char byte = 0;
    require(::read(go, &byte, 1) == 1, "wait for ids");
    require(::setresgid(0, 0, 0) == 0 && ::setgroups(0, nullptr) == 0 && ::setresuid(0, 0, 0) == 0, "become root");
    require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
    const unique_fd usr(::open_tree(AT_FDCWD, "/usr",
                                    static_cast<unsigned>(OPEN_TREE_CLONE) | static_cast<unsigned>(OPEN_TREE_CLOEXEC) |
                                        static_cast<unsigned>(AT_RECURSIVE)));
    require(static_cast<bool>(usr), "take /usr");
    require(::mount("floor", "/sys", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m") == 0 && ::chdir("/sys") == 0, "tmpfs");
    for (const char* folder : {"l", "l/usr", "l/proc", "u", "w", "r"}) {
        require(::mkdir(folder, 0755) == 0, folder);
    }
    require(::mount("floor", "r", "overlay", 0, "lowerdir=l,upperdir=u,workdir=w,userxattr,volatile") == 0, "overlay");
    require(::move_mount(usr.get(), "", AT_FDCWD, "r/usr", MOVE_MOUNT_F_EMPTY_PATH) == 0, "attach /usr");
    require(::mount("floor", "r/proc", "proc", 0, nullptr) == 0, "proc");
    require(::chdir("r") == 0 && ::syscall(SYS_pivot_root, ".", ".") == 0 && ::umount2(".", MNT_DETACH) == 0, "pivot");
    char name[] = "sandbox_floor";
    char role[] = "--exit";
    char* const argv[] = {name, role, nullptr};
    char* const environment[] = {nullptr};
    ::fexecve(program, argv, environment);
    require(false, "exec");
    ::_exit(3);
}

/// Starts one; it is reaped by its pid.
pid_t start(int program) {
    int ends[2];
    require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
    const unique_fd read_end(ends[0]);
    const unique_fd write_end(ends[1]);
    clone_args args{};
    args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET;
    args.exit_signal = SIGCHLD;
    const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
    if (pid == 0) {
        inside(read_end.get(), program);
    }
    require(pid > 0, "clone3");
    const std::string folder = "/proc/" + std::to_string(pid);
    write_file(folder + "/uid_map", "0 100000 65536");
    write_file(folder + "/gid_map", "0 100000 65536");
    require(::write(write_end.get(), "g", 1) == 1, "go");
    return pid;
}

} // namespace

int main(int argc, char** argv) {
    long count = 500;
    long concurrency = 8;
    for (int i = 1; i < argc; ++i) {
        const std::string flag = argv[i];
        if (flag == "--exit") {
            return 0;
        }
        const long value = i + 1 < argc ? std::atol(argv[++i]) : 0;
        if (flag == "--count" && value > 0) {
            count = value;
        } else if (flag == "--concurrency" && value > 0) {
            concurrency = value;
        } else {
            std::fprintf(stderr, "usage: sandbox_floor [--count N] [--concurrency N]\n");
            return 2;
        }
    }
    const unique_fd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const auto begin = std::chrono::steady_clock::now();
    long started = 0;
    long ended = 0;
    while (ended < count) {
        while (started < count && started - ended < concurrency) {
            start(program.get());
            ++started;
        }
        int status = 0;
        require(::waitpid(-1, &status, 0) > 0, "wait");
        if (status != 0) {
            return 3; // the sandbox said why
        }
        ++ended;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("{\"per_s\":%.1f,\"count\":%ld,\"concurrency\":%ld}\n", static_cast<double>(count) / took.count(),
                count, concurrency);
    return 0;
}
