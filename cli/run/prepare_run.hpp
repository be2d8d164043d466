/// From what the user typed to what can start: the host's steps of a run, in the order of docs/reference/lifecycle.md.
/// Each step can refuse, and then nothing has been started or written.
#pragma once

#include "actors/run/run_order.hpp"
#include "cli/refused.hpp"
#include "cli/run/description.hpp"
#include "cli/run/limits.hpp"
#include "cli/run/options.hpp"
#include "protocol/core/own_keys.hpp"
#include "protocol/event/event.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace chalk::cli {

/// Rewrites the config before the runtime is picked: the seam for plugins. None yet.
using preprocessor = std::function<result<void>(config::run_config&)>;
[[nodiscard]] const std::vector<preprocessor>& preprocessors();

/// How the runs reach their backend_uri.
struct backend_access {
    std::string token;   ///< CHALK_BACKEND_TOKEN
    std::string ca_file; ///< SSL_CERT_FILE or CURL_CA_BUNDLE
    std::string salt;    ///< of the streams' ids
};

struct prepared_runs {
    config::run_config base; ///< of all runs; each differs by id, file and port
    environment_source environment;
    std::shared_ptr<runtime> sandboxes; ///< null with --no-containerized
    run_plan_limits limits;
    std::vector<read_only_mount> mounts;
    std::vector<std::string> notes; ///< what the user should know, e.g. that the host's kernel is shared
    firewall::network_reach reach = firewall::network_reach::local; ///< of the students
    log_level least_level = log_level::debug;                       ///< of the log lines that a terminal shows
    std::string required_hardware;                                  ///< empty: the task asks for none
    backend_access backend;
    std::string task; ///< as the environment names it, where that is known
};

/// All of it, for `chalk run`.
[[nodiscard]] step_result<prepared_runs> prepare_runs(boost::asio::io_context& io, const run_options& options);

// Its steps, which a sweep takes for each of its environments.

/// What does not depend on any config: mounts, network, log level, a runtime that was asked for.
[[nodiscard]] step_result<prepared_runs> prepare_site(boost::asio::io_context& io, const run_options& options);
/// For `prepared.base`: its environment, the default runtime where none was asked for, limits.
[[nodiscard]] step_result<void> prepare_environment(boost::asio::io_context& io, const run_options& options,
                                                    prepared_runs& prepared);
/// What is read of the environment that `prepared.base` names, for `prepared.sandboxes`; a part of the step above, and
/// all of it on a node, whose coordinator has taken the others. Blocking.
[[nodiscard]] step_result<void> load_environment(prepared_runs& prepared);
/// How a backend_uri is reached; what waits for one is said in the notes.
[[nodiscard]] step_result<void> prepare_backend(prepared_runs& prepared, const own_keys& keys);
/// What earlier chalks left goes; said in the notes.
void remove_leftovers(prepared_runs& prepared);
/// The environment's tasks, asked in a throwaway sandbox. Empty where nobody can be asked.
[[nodiscard]] step_result<task_list> look_at_tasks(boost::asio::io_context& io, const run_options& options,
                                                   const prepared_runs& prepared);
/// The task that `prepared.base` names is one of them.
[[nodiscard]] step_result<void> choose_task(const task_list& tasks, prepared_runs& prepared);

/// The order of run `index` of `runs`.
[[nodiscard]] std::shared_ptr<actors::run_order> make_order(const prepared_runs& prepared, const run_options& options,
                                                            const config::run_config& run, actors::run_key key,
                                                            attempt_number attempt);

/// --dry-run: runs, limits, ports and files, as text.
[[nodiscard]] std::string plan_text(const prepared_runs& prepared, const run_options& options,
                                    const std::vector<config::run_config>& runs);

} // namespace chalk::cli
