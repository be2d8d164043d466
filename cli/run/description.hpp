/// What must be known of an environment before a run of it can start: its tasks. Its code is never run on the host: it
/// is asked once per digest in a throwaway sandbox, and the answer is kept in the cache folder.
#pragma once

#include "config/run_config.hpp"
#include "protocol/host_channel/messages.hpp"
#include "runtimes/runtime.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <vector>

namespace chalk::cli {

using task_list = std::vector<host_channel::described_task>;

/// Blocking. Failures keep the class of what went wrong (the environment's import raised: task).
[[nodiscard]] result<task_list> describe_tasks(boost::asio::io_context& io, runtime& sandboxes,
                                               const sandbox_request& throwaway, const config::run_config& config,
                                               const std::filesystem::path& cache_folder);

/// error_class::config, with the tasks there are, unless `name` is one of them (or empty and there
/// is but one).
[[nodiscard]] result<host_channel::described_task> find_task(const task_list& tasks, const std::string& name);

} // namespace chalk::cli
