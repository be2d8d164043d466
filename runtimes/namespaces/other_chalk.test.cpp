#include "runtimes/namespaces/other_chalk.test.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <sys/wait.h>

namespace chalk::test {

namespace fs = std::filesystem;

namespace {

pid_t parent_of(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("PPid:")) {
            return std::stoi(line.substr(5));
        }
    }
    return -1;
}

} // namespace

other_chalk start_other(const namespaces_fixture& here, const std::string& hidden_test) {
    auto pipe = process::make_pipe();
    REQUIRE(pipe);
    process::command command;
    command.executable = fs::read_symlink("/proc/self/exe").string();
    command.arguments = {hidden_test};
    command.environment = {"CHALK_TEST_FOLDER=" + here.folder.string()};
    command.descriptors = {{pipe->write.get(), 1}, {2, 2}, {pipe->write.get(), 9}};
    auto child = process::spawn(command);
    REQUIRE(child);
    pipe->write.reset();
    other_chalk other;
    std::string said;
    char byte = 0;
    while (::read(pipe->read.get(), &byte, 1) == 1 && byte != '\n') {
        said += byte;
    }
    INFO(said);
    std::istringstream(said) >> other.init >> other.owner;
    REQUIRE(other.init > 1);
    other.nest = parent_of(other.init);
    other.process = std::move(*child);
    return other;
}

std::unique_ptr<lone_sandbox> start_lone_sandbox() {
    const char* folder = std::getenv("CHALK_TEST_FOLDER");
    REQUIRE(folder != nullptr);
    auto made = std::make_unique<lone_sandbox>();
    namespaces_options options;
    options.cache_folder = fs::path(folder) / "cache";
    options.state_folder = fs::path(folder) / "state";
    options.harness = {"/bin/sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"};
    made->made = make_namespaces_runtime(made->io.context(), options);
    sandbox_request& request = made->request;
    request.id = run_id::parse("killed").value();
    request.environment.folder = fs::path(folder) / "environment";
    request.environment.digest = "sha256-of-the-test";
    auto started = made->made->start(request);
    REQUIRE(started);
    made->one = std::move(*started);
    return made;
}

void say_and_wait(const sandbox& one) {
    const fs::path state = fs::path(std::getenv("CHALK_TEST_FOLDER")) / "state";
    const std::string owner = fs::directory_iterator(state)->path().filename().string();
    const std::string line = fmt::format("{} {}\n", one.init_pid(), owner);
    REQUIRE(::write(9, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    for (;;) {
        ::pause();
    }
}

void reap(const other_chalk& other) {
    siginfo_t info{};
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(other.process.pidfd.get()), &info, WEXITED);
}

bool soon(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + seconds(10);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
}

bool runs(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(in, text);
    const std::size_t at = text.rfind(')');
    return at != std::string::npos && text.at(at + 2) != 'Z';
}

} // namespace chalk::test
