#include "cli/bench/measure.hpp"
#include "protocol/net/io_thread.hpp"
#include "runtimes/image/environment.hpp"
#include "runtimes/namespaces/namespaces_runtime.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include <sys/wait.h>

namespace chalk::cli::bench {

namespace {

/// Calls `once` `count` times, `concurrency` at once, and says how many a second. Stops at the first failure.
result<double> per_second(std::size_t count, std::size_t concurrency,
                          const std::function<result<void>(std::size_t)>& once) {
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::optional<failure> failed;
    const auto start = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < concurrency; ++i) {
            threads.emplace_back([&] {
                for (std::size_t index = next++; index < count; index = next++) {
                    if (auto done = once(index); !done) {
                        const std::lock_guard lock(mutex);
                        failed = done.error();
                        next = count;
                    }
                }
            });
        }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (failed) {
        return *failed;
    }
    return static_cast<double>(count) / took.count();
}

result<void> make_and_remove(runtime& sandboxes, io_thread& io, const sandbox_request& request) {
    auto started = sandboxes.start(request);
    if (!started) {
        return started.error();
    }
    std::promise<sandbox_exit> ended;
    (*started)->async_wait(io.context(), [&ended](sandbox_exit how) { ended.set_value(std::move(how)); });
    const sandbox_exit how = ended.get_future().get();
    auto removed = (*started)->remove();
    if (!removed) {
        return removed.error();
    }
    if (how.code != 0 || how.signal != 0) {
        return sandbox_failure(
            fmt::format("a bare sandbox ended with code {}, signal {}: {}", how.code, how.signal, how.last_words));
    }
    return {};
}

} // namespace

result<double> measure_bare_sandboxes(std::size_t count, std::size_t concurrency) {
    io_thread io;
    namespaces_options how;
    how.harness = {"/usr/bin/true"};
    const auto sandboxes = make_namespaces_runtime(io.context(), std::move(how));
    auto environment = image::load_environment_source(build_folder() / "examples/native");
    if (!environment) {
        return environment.error();
    }
    sandbox_request request;
    request.environment = std::move(*environment);
    request.limits.memory = 512_MiB;
    request.limits.disk = 64_MiB;
    request.limits.student_memory = 256_MiB;
    request.limits.student_disk = 32_MiB;
    request.student_network = firewall::policy{1000, {18801, 18802}, firewall::network_reach::local};
    const auto one = [&](std::size_t index) -> result<void> {
        sandbox_request mine = request;
        auto id = run_id::parse(fmt::format("bare-{}", index));
        if (!id) {
            return id.error();
        }
        mine.id = *id;
        return make_and_remove(*sandboxes, io, mine);
    };
    // What all of them share is made once, before the clock.
    if (auto first = one(count); !first) {
        return first.error();
    }
    return per_second(count, concurrency, one);
}

result<double> measure_starts(const std::vector<std::string>& command, std::size_t count, std::size_t concurrency) {
    return per_second(count, concurrency, [&](std::size_t) -> result<void> {
        process::command wanted;
        wanted.executable = command.front();
        wanted.arguments.assign(command.begin() + 1, command.end());
        auto child = process::spawn(wanted);
        if (!child) {
            return child.error();
        }
        siginfo_t info{};
        ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child->pidfd.get()), &info, WEXITED);
        if (info.si_code != CLD_EXITED || info.si_status != 0) {
            return harness_failure(fmt::format("{} ended with status {}", command.front(), info.si_status));
        }
        return {};
    });
}

} // namespace chalk::cli::bench
