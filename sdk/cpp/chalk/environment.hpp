/// The C++ side of the environment protocol (docs/protocols/environment.md): an environment as a native executable.
///
///     class hello : public chalk::sdk::task { ... };
///     int main() { hello task; return chalk::sdk::serve(task); }
///
/// Needs nlohmann_json alone and knows nothing of chalk's own code. Calls run one at a time on the caller's thread. An
/// exception is the call's error (-32000); student_misbehavior is the student's (-32001). `cancel` is noticed between
/// calls only: a tool that may take long bounds itself.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace chalk::sdk {

using json = nlohmann::json;

/// Thrown by a hook, judge or tool when the student broke the rules: the step scores 0 and the run goes on.
class student_misbehavior : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Where things are in the sandbox; set before any method of a task is called.
struct places {
    std::string workdir = "/workdir";
    std::string student_data = "/workdir/data";
    std::string shared_data = "/workdir/shared";
    std::string root_data = "/root_data";
    std::string intermediate_data = "/intermediate_data";
    std::string out = "/out";
    std::string environment = "/root/environment";
};

struct tool_output {
    std::string text;
    bool is_error = false;
};

struct tool {
    std::string name;
    std::string description;
    json input_schema = {{"type", "object"}};
    std::function<tool_output(const json& arguments)> call;
    std::optional<double> timeout_s;
};

/// `score` must be finite; with `continue_task` false the remaining steps are skipped and the run counts as failed.
struct score {
    double value = 0;
    bool continue_task = true;
    std::string explanation;
    json metadata;
};

struct step_start {
    std::string instructions;
    json extra_config = json::object();
};

/// A task of the environment. Its methods are called in the order of docs/protocols/environment.md.
class task {
  public:
    task() = default;
    task(const task&) = delete;
    task& operator=(const task&) = delete;
    virtual ~task() = default;

    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::optional<std::string> required_hardware() const { return std::nullopt; }
    /// Names of the steps, at least one.
    [[nodiscard]] virtual std::vector<std::string> steps() const = 0;

    /// The run config's seed, from load() on; set by serve().
    std::optional<std::uint64_t> seed;

    /// `args`: the run config's task_args.
    virtual void load(const places&, const json& /*args*/) {}
    [[nodiscard]] virtual std::vector<tool> tools() { return {}; }
    /// Of "bash", "read_file", "write_file", "edit_file".
    [[nodiscard]] virtual std::vector<std::string> builtin_tools() { return {}; }
    /// What it returns goes into the transcript.
    virtual json pre_hook() { return nullptr; }
    [[nodiscard]] virtual std::optional<std::string> system_prompt() { return std::nullopt; }
    virtual step_start start_step(std::size_t index) = 0;
    virtual void pre_scoring_hook(std::size_t /*index*/) {}
    virtual score judge(std::size_t index, const json& transcript) = 0;
    virtual void post_hook(std::size_t /*index*/) {}
};

/// Speaks the protocol on standard input and output until `shutdown` or the end of the stream; what the program prints
/// to standard output meanwhile goes to standard error. Returns main's exit status. Call it once.
int serve(task& only);
int serve(const std::vector<task*>& tasks);

/// A line of the run's log; while a tool runs, also for the MCP client that called it.
enum class log_level { debug, info, warning, error };
void log(log_level level, const std::string& text);

/// From a tool that runs: `done` of `total` is done, in whatever unit it likes; `done` has to grow. Elsewhere nobody
/// hears it. std::invalid_argument for what is no finite number.
void report_progress(double done, std::optional<double> total = std::nullopt, const std::string& message = {});

} // namespace chalk::sdk
