#include "protocol/core/own_keys.hpp"
#include "protocol/net/io_thread.hpp"
#include "runtimes/confinement/check/probe.hpp"
#include "runtimes/confinement/secrets.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <fmt/format.h>

#include <future>
#include <memory>
#include <sstream>

namespace chalk::confinement::check {

namespace {

using verdict = probe_result::verdict;

result<command_result> run(student_commands& commands, const std::string& script, milliseconds timeout) {
    student_command what;
    what.argv = {"/bin/sh", "-c", script};
    what.timeout = timeout;
    what.grace = milliseconds{200};
    auto promise = std::make_shared<std::promise<result<command_result>>>();
    auto future = promise->get_future();
    commands.run(std::move(what), [promise](auto outcome) { promise->set_value(std::move(outcome)); });
    return future.get();
}

probe_result compare(std::string name, std::string expected, const std::string& seen) {
    const auto how = seen == expected ? verdict::pass : verdict::fail;
    return {std::move(name), std::move(expected), seen, how};
}

/// "key value" lines of the session, one probe each.
std::vector<probe_result> look_at_session(student_commands& commands, const settings& how) {
    const auto ended = run(commands,
                           "echo user $(id -u) $(id -G)\n"
                           "echo files $(ulimit -Hn)\n"
                           "echo cpu $(ulimit -Ht)\n"
                           "echo core $(ulimit -Hc)\n"
                           // In bytes, while the unit of ulimit -f is the shell's own.
                           "set -- $(grep '^Max file size' /proc/self/limits) && echo size $5\n"
                           "echo privileges $(grep -E '^(NoNewPrivs|CapEff|CapBnd):' /proc/self/status | tr -d '\\t')\n"
                           "echo secrets $(env | grep -c -E '^(" +
                               fmt::format("{}", fmt::join(own_key_names(), "|")) + ")=')\n",
                           milliseconds{20'000});
    if (!ended || !ended->status.success()) {
        return {{"session", "a command of the student's runs", ended ? ended->output : ended.error().message,
                 verdict::fail}};
    }
    const auto value_of = [&ended](const std::string& key) {
        std::istringstream lines(ended->output);
        for (std::string line; std::getline(lines, line);) {
            if (line.starts_with(key + " ")) {
                return line.substr(key.size() + 1);
            }
        }
        return std::string("nothing");
    };
    const auto limits = default_student_limits();
    return {compare("session: user", fmt::format("{0} {0}", how.user), value_of("user")),
            compare("session: open files", std::to_string(limits.at(0).value), value_of("files")),
            compare("session: cpu time", std::to_string(limits.at(1).value), value_of("cpu")),
            compare("session: file size", std::to_string(limits.at(2).value), value_of("size")),
            compare("session: core dumps", "0", value_of("core")),
            compare("session: privileges", "CapEff:0000000000000000 CapBnd:0000000000000000 NoNewPrivs:1",
                    value_of("privileges")),
            compare("session: secrets", "0", value_of("secrets"))};
}

probe_result time_limit(student_commands& commands) {
    probe_result made{"session: time", "a command past its time is stopped with what it started", {}, verdict::fail};
    const auto ended = run(commands, "sleep 300 & sleep 300", milliseconds{200});
    made.seen = !ended ? ended.error().message : ended->timed_out ? "stopped" : process::describe(ended->status);
    made.how = ended && ended->timed_out ? verdict::pass : verdict::fail;
    return made;
}

} // namespace

std::vector<probe_result> probe_session(const settings& how, leftovers&) {
    io_thread io;
    student_settings settings;
    settings.become = process::identity{how.user, how.user};
    settings.home = settings.working_directory = "/";
    settings.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8"};
    settings.cgroup.procs = how.cgroup_procs;
    const auto commands = student_commands::make(io.context(), settings);
    auto all = look_at_session(*commands, how);
    all.push_back(time_limit(*commands));
    return all;
}

} // namespace chalk::confinement::check
