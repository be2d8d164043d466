#include "actors/harness/inner.hpp"

#include "actors/harness/hardening.hpp"
#include "actors/harness/inner_actor.hpp"
#include "actors/system.hpp"
#include "protocol/core/sandbox_layout.hpp"
#include "protocol/net/io_thread.hpp"
#include "runtimes/bundle/layout.hpp"
#include "runtimes/confinement/student_limits.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <system_error>

#include <fcntl.h>
#include <sys/prctl.h>

namespace chalk::actors {

namespace {

/// Does not return when it works: the bundle's launcher starts the same program anew.
result<void> start_anew(int channel_fd) {
    const auto program = sandbox_layout::bundle_chalk.string();
    ::fcntl(channel_fd, F_SETFD, 0);
    const auto number = std::to_string(channel_fd);
    const char* arguments[] = {program.c_str(), "run", "--no-containerized", "--channel-fd", number.c_str(), nullptr};
    ::execv(program.c_str(), const_cast<char* const*>(arguments));
    return harness_failure(fmt::format("cannot start {} anew: {}", program, std::generic_category().message(errno)));
}

result<void> harden(int channel_fd) {
    if (clean_search_paths(sandbox_layout::student_uid)) {
        return start_anew(channel_fd);
    }
    return close_mount_points();
}

/// Null: there is no cgroup to make them in, or it would not be; the student is then without limits of its own, which
/// the log of the run says.
std::shared_ptr<const confinement::own_groups> take_own_groups() {
    const auto where = confinement::find_own_hierarchies("/sys/fs/cgroup");
    if (where.empty()) {
        return nullptr;
    }
    confinement::own_limits limits;
    if (const char* size = std::getenv("CHALK_SANDBOX_MEMORY_BYTES"); size != nullptr) {
        if (const auto count = std::strtoull(size, nullptr, 10); count > 0) {
            limits.memory = confinement::student_memory(bytes{count});
        }
    }
    auto made = confinement::make_own_groups(where, limits);
    if (!made) {
        fmt::print(stderr, "chalk: {}\n", made.error().message);
        return nullptr;
    }
    return std::make_shared<const confinement::own_groups>(std::move(*made));
}

} // namespace

int run_inner_harness(int channel_fd) {
    inner_options options;
    options.places = {sandbox_layout::environment,       sandbox_layout::workdir, sandbox_layout::root_data,
                      sandbox_layout::intermediate_data, sandbox_layout::out,     sandbox_layout::bundle_python};
    options.file_tool = (sandbox_layout::bundle / bundle_layout::file_tool).string();
    return run_inner_harness(channel_fd, std::move(options));
}

int run_inner_harness(int channel_fd, inner_options options) {
    unique_fd channel(channel_fd);
    ::fcntl(channel_fd, F_SETFD, FD_CLOEXEC);
    if (options.harden) {
        if (auto hardened = harden(channel_fd); !hardened) {
            fmt::print(stderr, "chalk: {}\n", hardened.error().message);
            return 1;
        }
        configure_name_service();
        options.own_groups = take_own_groups();
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);

    inner_end how;
    {
        // Actors hand work to the io thread until their last breath, so it goes last.
        io_thread io;
        actor_system_settings settings({1, true});
        caf::actor_system system(settings);
        system.await_actors_before_shutdown(false);
        // Shared: it may be set and waited for at the very moment in which this block ends.
        const auto ended = std::make_shared<std::promise<inner_end>>();
        auto root = spawn_inner(system, io.context(), std::move(channel), std::move(options),
                                [ended](inner_end end) { ended->set_value(std::move(end)); });
        how = ended->get_future().get();
    }
    kill_descendants();
    if (!how.final_sent) {
        fmt::print(stderr, "chalk: the harness ended early: {}\n", how.why);
    }
    return how.final_sent ? 0 : 1;
}

} // namespace chalk::actors
