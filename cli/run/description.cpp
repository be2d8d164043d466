#include "cli/run/description.hpp"

#include "protocol/core/read_file.hpp"
#include "protocol/host_channel/channel.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include <unistd.h>

namespace chalk::cli {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr auto describe_deadline = 180s;
constexpr auto exit_deadline = 5s;

fs::path cache_file(const fs::path& cache_folder, const std::string& digest) {
    std::string name = digest.substr(digest.find(':') + 1);
    return cache_folder / "tasks" / fmt::format("{}-{}.json", name, CHALK_VERSION);
}

/// What was kept, if it is whole; anything else is asked again.
std::optional<task_list> read_cache(const fs::path& file) {
    const std::string line = read_or_empty(file);
    if (line.empty()) {
        return std::nullopt;
    }
    auto message = host_channel::parse_harness_message(line);
    if (!message) {
        return std::nullopt;
    }
    const auto* described = std::get_if<host_channel::described>(&*message);
    return described == nullptr ? std::nullopt : std::optional(described->tasks);
}

/// A cache that cannot be written costs time, not correctness: the next run asks again.
void write_cache(const fs::path& file, const task_list& tasks) {
    std::error_code ec;
    fs::create_directories(file.parent_path(), ec);
    const fs::path temporary = file.string() + fmt::format(".{}.tmp", ::getpid());
    std::ofstream(temporary) << host_channel::to_line(host_channel::described{tasks});
    fs::rename(temporary, file, ec);
    if (ec) {
        fs::remove(temporary, ec);
    }
}

/// Resolves the first answer and ignores what follows.
struct answer {
    std::mutex mutex;
    bool given = false;
    std::promise<result<task_list>> promise;

    void give(result<task_list> value) {
        const std::lock_guard lock(mutex);
        if (!std::exchange(given, true)) {
            promise.set_value(std::move(value));
        }
    }
};

void on_line(answer& to, std::string_view line) {
    auto message = host_channel::parse_harness_message(line);
    if (!message) {
        to.give(message.error());
    } else if (auto* described = std::get_if<host_channel::described>(&*message)) {
        to.give(std::move(described->tasks));
    } else if (const auto* e = std::get_if<event>(&*message)) {
        if (const auto* failed = std::get_if<run_failed>(&e->body)) {
            to.give(failure{failed->kind,
                            failed->details.empty() ? failed->message : failed->message + "\n" + failed->details});
        }
    }
}

} // namespace

result<task_list> describe_tasks(boost::asio::io_context& io, runtime& sandboxes, const sandbox_request& throwaway,
                                 const config::run_config& config, const fs::path& cache_folder) {
    const fs::path file = cache_file(cache_folder, throwaway.environment.digest);
    if (auto kept = read_cache(file)) {
        return std::move(*kept);
    }
    if (auto prepared = sandboxes.prepare(throwaway); !prepared) {
        return prepared.error();
    }
    auto made = sandboxes.start(throwaway);
    if (!made) {
        return made.error();
    }
    const auto to = std::make_shared<answer>();
    const auto ended = std::make_shared<std::promise<sandbox_exit>>();
    auto gone = ended->get_future();
    auto answered = to->promise.get_future();
    (*made)->async_wait(io, [ended](const sandbox_exit& how) { ended->set_value(how); });

    host_channel::channel_handlers handlers;
    handlers.on_line = [to](std::string_view line) { on_line(*to, line); };
    handlers.on_end = [to](const std::optional<failure>& why) {
        to->give(why ? *why : harness_failure("the harness ended before it named the environment's tasks"));
    };
    auto channel = host_channel::channel::open(io, (*made)->take_host_channel(), std::move(handlers));
    if (!channel) {
        return channel.error();
    }
    (*channel)->send(host_channel::to_line(
        host_channel::start{host_channel::harness_mode::describe, config::to_json(config), (*made)->student()}));

    const bool in_time = answered.wait_for(describe_deadline) == std::future_status::ready;
    result<task_list> tasks = in_time ? answered.get()
                                      : result<task_list>(timeout_failure(fmt::format(
                                            "the environment did not name its tasks within {}", describe_deadline)));
    (*channel)->close();
    if (gone.wait_for(exit_deadline) != std::future_status::ready) {
        (*made)->kill();
        static_cast<void>(gone.wait_for(exit_deadline)); // its removal says what is left
    } else if (const auto how = gone.get(); !tasks && tasks.error().kind == error_class::harness) {
        tasks = failure{tasks.error().kind, fmt::format("{} ({}) {}", tasks.error().message,
                                                        process::describe({how.code, how.signal}), how.last_words)};
    }
    if (auto removed = (*made)->remove(); !removed && tasks) {
        return removed.error();
    }
    if (tasks) {
        write_cache(file, *tasks);
    }
    return tasks;
}

result<host_channel::described_task> find_task(const task_list& tasks, const std::string& name) {
    std::vector<std::string> names;
    for (const auto& task : tasks) {
        if (task.name == name || (name.empty() && tasks.size() == 1)) {
            return task;
        }
        names.push_back(task.name);
    }
    if (tasks.empty()) {
        return config_failure("the environment has no task");
    }
    return config_failure(
        name.empty()
            ? fmt::format("task: the environment has {} tasks, choose one: {}", tasks.size(), fmt::join(names, ", "))
            : fmt::format("task: the environment has no task \"{}\"; it has: {}", name, fmt::join(names, ", ")));
}

} // namespace chalk::cli
