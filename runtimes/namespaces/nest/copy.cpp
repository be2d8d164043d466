#include "runtimes/namespaces/nest/copy.hpp"

#include "runtimes/namespaces/nest/init.hpp"
#include "runtimes/namespaces/nest/pointers.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <sys/prctl.h>
#include <unistd.h>

namespace chalk::nest {

namespace {

char* command_line = nullptr;
std::size_t command_line_size = 0;

[[noreturn]] void be_harness(const namespaces::sandbox_orders& orders, harness_entry harness) {
    ::setsid();
    ::close_range(init_owner_fd, ~0U, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The change of ids took it away: what an executed harness has, and needs to read its own /proc.
    ::prctl(PR_SET_DUMPABLE, 1);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        ::signal(signal, SIG_DFL);
    }
    show_command_line(orders.argv);
    ::prctl(PR_SET_NAME, "chalk");
    std::vector<char*> variables = pointers(orders.environment, {});
    ::environ = variables.data();
    std::vector<char*> argv = pointers(orders.argv, {});
    const int code = harness(static_cast<int>(argv.size()) - 1, argv.data());
    std::fflush(nullptr);
    ::_exit(code); // what libraries would tidy up now ends with the process
}

} // namespace

void remember_command_line(int argc, char** argv) {
    if (argc > 0) {
        command_line = argv[0];
        command_line_size = static_cast<std::size_t>(argv[argc - 1] + std::strlen(argv[argc - 1]) + 1 - argv[0]);
    }
}

void show_command_line(const std::vector<std::string>& argv) {
    std::string title;
    for (const std::string& one : argv) {
        title.append(one).push_back('\0');
    }
    if (command_line_size > 0) {
        std::memset(command_line, 0, command_line_size);
        std::memcpy(command_line, title.data(), std::min(title.size(), command_line_size - 1));
    }
}

pid_t start_copy(const namespaces::sandbox_orders& orders, harness_entry harness) {
    // fork, not clone: it tells the C library and OpenSSL that this is another process.
    const pid_t pid = ::fork();
    if (pid == 0) {
        be_harness(orders, harness);
    }
    return pid;
}

} // namespace chalk::nest
