#include "runtimes/namespaces/machine.hpp"

#include "runtimes/namespaces/cgroup_removal.hpp"
#include "runtimes/namespaces/ids.hpp"
#include "runtimes/namespaces/owner.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

/// nullopt: no such setting.
std::optional<long> read_setting(const char* file) {
    std::ifstream in(file);
    long value = 0;
    return in >> value ? std::optional(value) : std::nullopt;
}

} // namespace

fs::path default_state_folder() {
    if (::geteuid() == 0) {
        return "/run/chalk";
    }
    if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/') {
        return fs::path(runtime) / "chalk";
    }
    return fmt::format("/tmp/chalk-{}", ::geteuid());
}

std::optional<fs::path> find_program(std::string_view name) {
    for (const char* folder : {"/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin"}) {
        const fs::path path = fs::path(folder) / name;
        if (::access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return std::nullopt;
}

result<void> id_helper::give(const fs::path& tree, const std::vector<fs::path>& students) const {
    std::vector<std::string> arguments = {"give", tree.string()};
    for (const fs::path& one : students) {
        arguments.push_back(one.string());
    }
    return run(std::move(arguments));
}

result<void> id_helper::take(const fs::path& tree) const {
    return run({"take", tree.string()});
}

result<void> id_helper::remove(const fs::path& tree) const {
    return run({"remove", tree.string()});
}

result<void> id_helper::run(std::vector<std::string> arguments) const {
    auto errors = process::make_pipe();
    if (!errors) {
        return errors.error();
    }
    process::command command;
    command.executable = nest_.string();
    command.arguments = {"give", std::to_string(ids_.first), std::to_string(ids_.count),
                         find_program("newuidmap").value_or("newuidmap").string(),
                         find_program("newgidmap").value_or("newgidmap").string()};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.descriptors = {{errors->write.get(), STDERR_FILENO}};
    command.parent_death_signal = std::nullopt; // it ends by itself, and this thread may not live as long
    const auto child = process::spawn(command);
    errors->write.reset();
    if (!child) {
        return child.error();
    }
    std::string said;
    char buffer[1024];
    for (ssize_t got = 0; (got = ::read(errors->read.get(), buffer, sizeof buffer)) > 0;) {
        said.append(buffer, static_cast<std::size_t>(got));
    }
    siginfo_t ended{};
    if (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child->pidfd.get()), &ended, WEXITED) != 0 ||
        ended.si_code != CLD_EXITED || ended.si_status != 0) {
        return sandbox_failure(fmt::format("cannot {} {}: {}", arguments.front(), arguments.at(1), said));
    }
    return {};
}

probe_report look_at_machine() {
    probe_report report;
    if (read_setting("/proc/sys/user/max_user_namespaces").value_or(0) <= 0) {
        report.missing.push_back({"user namespaces", "as root: sysctl -w user.max_user_namespaces=65536"});
    }
    if (::geteuid() == 0) {
        return report;
    }
    for (const char* program : {"newuidmap", "newgidmap"}) {
        if (!find_program(program)) {
            report.missing.push_back(
                {program, "install it: apt-get install uidmap (Debian, Ubuntu), dnf install shadow-utils"});
        }
    }
    if (read_setting("/proc/sys/kernel/unprivileged_userns_clone").value_or(1) == 0) {
        report.missing.push_back(
            {"user namespaces without root", "as root: sysctl -w kernel.unprivileged_userns_clone=1"});
    }
    if (read_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").value_or(0) != 0) {
        report.missing.push_back(
            {"user namespaces without root (AppArmor denies them)",
             "as root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or run chalk as root"});
    }
    if (const auto ids = choose_range(); !ids) {
        report.missing.push_back({"a range of user ids", ids.error().message});
    }
    return report;
}

std::optional<failure> try_sandbox(nest_client& nest, const std::optional<tree>& also) {
    using kind = step::kind;
    sandbox_orders orders;
    orders.hostname = "trial";
    orders.steps = {{kind::scratch, "", "size=64k,mode=0755", 0, 0},
                    {kind::directory, "u", "", 0755, 0},
                    {kind::directory, "w", "", 0755, 0},
                    {kind::directory, "l", "", 0755, 0},
                    {kind::directory, "l/proc", "", 0755, 0},
                    {kind::directory, "l/dev", "", 0755, 0},
                    {kind::directory, "l/also", "", 0755, 0},
                    {kind::directory, "r", "", 0755, 0},
                    {kind::overlay, "r", "lowerdir=l,upperdir=u,workdir=w,userxattr,volatile", 0, 0},
                    {kind::proc, "r/proc", "hidepid=2,gid=0", 0, 0},
                    {kind::devpts, "r/dev", "newinstance,ptmxmode=0666,mode=0620,gid=5", 0, 0}};
    if (also) {
        orders.trees.push_back(*also);
        orders.steps.push_back({kind::attach, "r/also", "", 0, 0});
    }
    orders.steps.push_back({kind::enter, "r", "", 0, 0});
    // There is nothing to run in it; that it came this far is the answer.
    orders.argv = {"/nothing"};
    auto made = nest.make_sandbox(orders, {});
    return made ? std::nullopt : std::optional(made.error());
}

result<std::vector<leftover>> remove_leftovers(const fs::path& state, const std::vector<fs::path>& cgroup_folders,
                                               bool dry_run) {
    std::vector<leftover> found;
    std::error_code error;
    std::set<fs::path> gone;
    for (const fs::path& folder : cgroup_folders) {
        for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
            const std::string owner = at->path().filename().string();
            if (!at->is_directory(error) || is_alive(owner)) {
                continue;
            }
            found.push_back({"cgroup", at->path().string(), owner});
            if (!dry_run) {
                if (auto removed = kill_and_remove(at->path()); !removed) {
                    return removed.error();
                }
            }
        }
    }
    for (fs::directory_iterator at(state, error), end; !error && at != end; at.increment(error)) {
        const std::string owner = at->path().filename().string();
        if (is_alive(owner)) {
            continue;
        }
        found.push_back({"folder", at->path().string(), owner});
        if (!dry_run) {
            if (fs::remove_all(at->path(), error); error) {
                return sandbox_failure(fmt::format("cannot remove {}: {}", at->path().string(), error.message()));
            }
        }
    }
    return found;
}

} // namespace chalk::namespaces
