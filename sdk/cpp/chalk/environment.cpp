#include "chalk/environment.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace chalk::sdk {

namespace {

constexpr std::size_t max_line = 64UL * 1024 * 1024;
constexpr int protocol_version = 1;

enum error_code : int {
    parse_error = -32700,
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
    environment_exception = -32000,
    misbehavior = -32001,
};

/// An answer other than the environment's own exceptions.
struct rpc_error {
    int code;
    std::string message;
};

/// The wire, away from the standard streams.
class wire {
  public:
    void take_over() {
        in_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        out_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (in_ < 0 || out_ < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
            throw std::system_error(errno, std::generic_category(), "taking over the standard streams");
        }
        if (null >= 0) {
            ::dup2(null, STDIN_FILENO);
            ::close(null);
        }
    }

    /// False at the end of the stream.
    bool read_line(std::string& line) {
        for (;;) {
            if (auto end = buffer_.find('\n', scanned_); end != std::string::npos) {
                line.assign(buffer_, 0, end);
                buffer_.erase(0, end + 1);
                scanned_ = 0;
                return true;
            }
            scanned_ = buffer_.size();
            if (scanned_ > max_line) {
                throw std::length_error("a line longer than 64 MiB");
            }
            char chunk[64 * 1024];
            auto n = ::read(in_, chunk, sizeof chunk);
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n < 0) {
                throw std::system_error(errno, std::generic_category(), "reading requests");
            }
            if (n == 0) {
                return false;
            }
            buffer_.append(chunk, static_cast<std::size_t>(n));
        }
    }

    void send(const json& message) {
        auto text = message.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
        if (text.size() > max_line) {
            throw std::length_error("a message of " + std::to_string(text.size()) +
                                    " bytes; the protocol allows 64 MiB");
        }
        std::lock_guard lock(mutex_);
        for (std::string_view rest = text; !rest.empty();) {
            auto n = ::write(out_, rest.data(), rest.size());
            if (n < 0 && errno == EINTR) {
                continue;
            }
            if (n < 0) {
                throw std::system_error(errno, std::generic_category(), "writing an answer");
            }
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
    }

  private:
    int in_ = -1;
    int out_ = -1;
    std::string buffer_;
    std::size_t scanned_ = 0;
    std::mutex mutex_;
};

wire& the_wire() {
    static wire instance;
    return instance;
}

/// Id of the tool call that runs; 0: none. Tools may log from threads of their own.
std::atomic<std::uint64_t> running_tool = 0;

json or_null(const std::optional<std::string>& text) {
    return text ? json(*text) : json(nullptr);
}

class session {
  public:
    explicit session(const std::vector<task*>& tasks) : tasks_(tasks) {}

    [[nodiscard]] bool finished() const noexcept { return finished_; }

    json call(const std::string& method, const json& params) {
        using handler = json (session::*)(const json&);
        static const std::map<std::string_view, handler> methods{
            {"initialize", &session::initialize},
            {"list_tasks", &session::list_tasks},
            {"load_task", &session::load_task},
            {"configure_tools", &session::configure_tools},
            {"pre_hook", &session::pre_hook},
            {"system_prompt", &session::system_prompt},
            {"start_step", &session::start_step},
            {"call_tool", &session::call_tool},
            {"pre_scoring_hook", &session::pre_scoring_hook},
            {"judge", &session::judge},
            {"post_hook", &session::post_hook},
            {"shutdown", &session::shutdown},
        };
        auto found = methods.find(method);
        if (found == methods.end()) {
            throw rpc_error{method_not_found, "no method \"" + method + "\""};
        }
        if (!params.is_object()) {
            throw rpc_error{invalid_params, "params: expected an object"};
        }
        return (this->*found->second)(params);
    }

  private:
    static const json& param(const json& params, const char* name, json::value_t kind) {
        auto found = params.find(name);
        bool integer = kind == json::value_t::number_unsigned;
        if (found == params.end() || (integer ? !found->is_number_unsigned() : found->type() != kind)) {
            throw rpc_error{invalid_params, std::string(name) + ": expected " + json(kind).type_name()};
        }
        return *found;
    }

    json initialize(const json& params) {
        if (auto version = params.find("protocol"); version == params.end() || *version != protocol_version) {
            throw rpc_error{invalid_params, "protocol: this SDK speaks version 1"};
        }
        const auto& paths = param(params, "paths", json::value_t::object);
        auto take = [&](const char* name, std::string& place) {
            if (auto found = paths.find(name); found != paths.end() && found->is_string()) {
                place = found->get<std::string>();
            }
        };
        take("workdir", places_.workdir);
        take("student_data", places_.student_data);
        take("shared_data", places_.shared_data);
        take("root_data", places_.root_data);
        take("intermediate_data", places_.intermediate_data);
        take("out", places_.out);
        take("environment", places_.environment);
        return {{"protocol", protocol_version}, {"sdk", "c++ 0.1.0"}};
    }

    json list_tasks(const json&) {
        json tasks = json::array();
        for (auto* each : tasks_) {
            tasks.push_back({{"name", each->name()},
                             {"required_hardware", or_null(each->required_hardware())},
                             {"steps", each->steps().size()}});
        }
        return {{"tasks", std::move(tasks)}};
    }

    json load_task(const json& params) {
        auto name = param(params, "name", json::value_t::string).get<std::string>();
        std::vector<task*> matching;
        std::string known;
        for (auto* each : tasks_) {
            known += (known.empty() ? "" : ", ") + each->name();
            if (name.empty() || each->name() == name) {
                matching.push_back(each);
            }
        }
        if (matching.size() != 1) {
            auto wanted = name.empty() ? "the run config must name a task" : "no task named \"" + name + "\"";
            throw rpc_error{invalid_params, wanted + "; the environment has: " + known};
        }
        loaded_ = matching.front();
        if (const auto seed = params.find("seed"); seed != params.end()) {
            if (!seed->is_number_unsigned()) {
                throw rpc_error{invalid_params, "seed: expected a number from 0"};
            }
            loaded_->seed = seed->get<std::uint64_t>();
        }
        loaded_->load(places_, params.value("args", json::object()));
        json steps = json::array();
        for (auto& step : loaded_->steps()) {
            steps.push_back({{"name", step}});
        }
        step_count_ = steps.size();
        return {{"name", loaded_->name()},
                {"required_hardware", or_null(loaded_->required_hardware())},
                {"steps", std::move(steps)}};
    }

    json configure_tools(const json&) {
        tools_ = current().tools();
        json list = json::array();
        for (const auto& each : tools_) {
            json definition{
                {"name", each.name}, {"description", each.description}, {"input_schema", each.input_schema}};
            if (each.timeout_s) {
                definition["timeout_s"] = *each.timeout_s;
            }
            list.push_back(std::move(definition));
        }
        return {{"tools", std::move(list)}, {"builtin", current().builtin_tools()}};
    }

    json pre_hook(const json&) { return {{"metadata", current().pre_hook()}}; }
    json system_prompt(const json&) { return {{"text", or_null(current().system_prompt())}}; }

    json start_step(const json& params) {
        auto start = current().start_step(index(params));
        return {{"instructions", start.instructions}, {"extra_config", start.extra_config}};
    }

    json call_tool(const json& params) {
        auto name = param(params, "name", json::value_t::string).get<std::string>();
        auto found = std::find_if(tools_.begin(), tools_.end(), [&](const tool& each) { return each.name == name; });
        if (found == tools_.end()) {
            throw rpc_error{invalid_params, "no tool \"" + name + "\""};
        }
        auto output = found->call(param(params, "arguments", json::value_t::object));
        return {{"content", json::array({{{"type", "text"}, {"text", output.text}}})}, {"is_error", output.is_error}};
    }

    json pre_scoring_hook(const json& params) {
        current().pre_scoring_hook(index(params));
        return json::object();
    }

    json judge(const json& params) {
        auto verdict = current().judge(index(params), param(params, "transcript", json::value_t::object));
        if (!std::isfinite(verdict.value)) {
            throw std::domain_error("a score must be a finite number");
        }
        return {{"score", verdict.value},
                {"continue_task", verdict.continue_task},
                {"explanation", verdict.explanation},
                {"metadata", verdict.metadata}};
    }

    json post_hook(const json& params) {
        current().post_hook(index(params));
        return json::object();
    }

    json shutdown(const json&) {
        finished_ = true;
        return json::object();
    }

    task& current() {
        if (loaded_ == nullptr) {
            throw rpc_error{invalid_params, "no task is loaded"};
        }
        return *loaded_;
    }

    std::size_t index(const json& params) {
        current();
        auto i = param(params, "index", json::value_t::number_unsigned).get<std::size_t>();
        if (i >= step_count_) {
            throw rpc_error{invalid_params, "index: the task has " + std::to_string(step_count_) + " steps"};
        }
        return i;
    }

    std::vector<task*> tasks_;
    places places_;
    task* loaded_ = nullptr;
    std::size_t step_count_ = 0;
    std::vector<tool> tools_;
    bool finished_ = false;
};

void send_error(const json& id, int code, const std::string& message) {
    json error{{"code", code}, {"message", message}};
    if (code == environment_exception) {
        error["data"] = {{"traceback", message}}; // C++ has none; the message is all there is
    }
    the_wire().send({{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}});
}

void answer(session& target, const json& request) {
    const auto& id = request["id"];
    const auto tool = request["method"] == "call_tool" && id.is_number_unsigned() ? id.get<std::uint64_t>() : 0;
    struct running {
        explicit running(std::uint64_t call) { running_tool = call; }
        running(const running&) = delete;
        running& operator=(const running&) = delete;
        ~running() { running_tool = 0; }
    };
    try {
        const running now(tool);
        auto result = target.call(request["method"].get<std::string>(), request.value("params", json::object()));
        std::fflush(nullptr); // what was printed comes before the answer
        the_wire().send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
    } catch (const rpc_error& error) {
        send_error(id, error.code, error.message);
    } catch (const student_misbehavior& error) {
        send_error(id, misbehavior, error.what());
    } catch (const std::exception& error) {
        send_error(id, environment_exception, error.what());
    } catch (...) {
        send_error(id, environment_exception, "an exception that is no std::exception");
    }
}

void take(session& target, const std::string& line) {
    auto request = json::parse(line, nullptr, false);
    if (request.is_discarded()) {
        return send_error(nullptr, parse_error, "not JSON");
    }
    if (!request.is_object() || !request.contains("method") || !request["method"].is_string()) {
        return send_error(nullptr, invalid_request, "not a JSON-RPC 2.0 request");
    }
    if (request.contains("id")) {
        answer(target, request);
    }
    // A notification: `cancel` of a call that has ended by now.
}

} // namespace

int serve(const std::vector<task*>& tasks) {
    try {
        the_wire().take_over();
        session target(tasks);
        std::string line;
        while (!target.finished() && the_wire().read_line(line)) {
            if (!line.empty()) {
                take(target, line);
            }
        }
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "environment: %s\n", error.what());
        return 70;
    }
}

int serve(task& only) {
    return serve(std::vector<task*>{&only});
}

void log(log_level level, const std::string& text) {
    static constexpr const char* names[] = {"debug", "info", "warning", "error"};
    json params{{"level", names[static_cast<std::size_t>(level)]}, {"text", text}};
    if (const auto call = running_tool.load(); call != 0) {
        params["call"] = call;
    }
    the_wire().send({{"jsonrpc", "2.0"}, {"method", "log"}, {"params", std::move(params)}});
}

void report_progress(double done, std::optional<double> total, const std::string& message) {
    if (!std::isfinite(done) || (total && !std::isfinite(*total))) {
        throw std::invalid_argument("report_progress: a finite number is expected");
    }
    const auto call = running_tool.load();
    if (call == 0) {
        return;
    }
    json params{{"call", call}, {"done", done}, {"message", message}};
    if (total) {
        params["total"] = *total;
    }
    the_wire().send({{"jsonrpc", "2.0"}, {"method", "progress"}, {"params", std::move(params)}});
}

} // namespace chalk::sdk
