/// Runs commands as the student: a uid of its own, its cgroups, limits, a clean environment, a deadline; killed as a
/// whole. What the student's processes do can end only in a bounded result.
///
/// A command is over when its own process is: what it left in the background runs on (its output goes nowhere) until
/// kill_all. A command that ran out of time or was cancelled takes everything that it started with it.
///
/// Owner: the harness's tool server actor; its destructor kills whatever of the student still runs.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"
#include "runtimes/confinement/student_limits.hpp"
#include "runtimes/process/spawn.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::confinement {

/// Descriptors of the student's cgroup, opened by the host and inherited (v1: one per controller, v2: one).
struct student_cgroup {
    std::vector<int> procs;          ///< cgroup.procs files to join
    std::optional<int> calls_folder; ///< directory in which the harness may make a group per call (pids or v2)
    bool v2 = false;
};

struct student_settings {
    std::optional<process::identity> become; ///< nullopt: as the harness itself (then the log says so)
    std::string home = "/workdir";
    std::string working_directory = "/workdir";
    std::vector<std::string> environment; ///< PATH, HOME, LANG and what the task added; never the harness's secrets
    student_cgroup cgroup;
    std::vector<process::resource_limit> limits = default_student_limits(); ///< of each process
    std::string file_tool; ///< the static helper behind read_file, write_file, edit_file
};

struct student_command {
    std::vector<std::string> argv;
    std::optional<int> executable_fd;     ///< run instead of argv[0] when set (see process::command)
    std::string input;                    ///< standard input; ends after it
    std::vector<std::string> environment; ///< on top of the settings'; NAME=value
    /// Gets every byte of stdout and stderr as it comes, on the io thread; the result still has what `output_cap`
    /// keeps.
    std::function<void(std::string_view)> on_output;
    milliseconds timeout{120'000}; ///< then SIGTERM, `grace`, SIGKILL for all of it
    milliseconds grace{2'000};
    bytes output_cap = bytes{64 * 1024}; ///< of stdout and stderr together; the middle is left out and counted
};

struct command_result {
    process::exit_status status;
    std::string output; ///< stdout and stderr as they came; invalid UTF-8 replaced, a line for what was left out
    std::uint64_t omitted_bytes = 0;
    bool timed_out = false;
    bool cancelled = false;
    bool memory_exhausted = false; ///< the kernel killed for memory in this call's group; only known on cgroup v2
    milliseconds duration{0};
};

/// What kill_all found.
struct kill_report {
    bool found = false;    ///< something ran
    bool survived = false; ///< something still does: it hangs in the kernel
};

class student_commands {
  public:
    [[nodiscard]] static std::shared_ptr<student_commands> make(boost::asio::io_context& io, student_settings settings);
    student_commands() = default;
    student_commands(const student_commands&) = delete;
    student_commands& operator=(const student_commands&) = delete;
    virtual ~student_commands() = default;

    /// Any thread. `done` runs on the io thread, exactly once, at the latest `timeout` and five seconds after. Returns
    /// a number for cancel().
    virtual std::uint64_t run(student_command what, std::function<void(result<command_result>)> done) = 0;
    /// Any thread. Kills the command's processes; its `done` still comes.
    virtual void cancel(std::uint64_t number) = 0;
    /// Any thread. Kills every process of the student, background ones of earlier calls too. `done`, if any, runs on
    /// the io thread once nothing is left, or after five seconds.
    virtual void kill_all(std::function<void(kill_report)> done) = 0;
    void kill_all() { kill_all(nullptr); }
    [[nodiscard]] virtual const student_settings& settings() const noexcept = 0;
};

} // namespace chalk::confinement
