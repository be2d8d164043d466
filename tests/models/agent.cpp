/// The builtin agent's loop over a real model, for tests: plays a task of a few steps against whatever answers at the
/// given address and prints the transcript. Its argument is a JSON object:
///
///   gateway       where the model is asked
///   model, model_args, limits
///   instructions  one text a step
///
/// It has one tool, "echo", which takes {"text": ...}. When its standard input ends it drops the open request and
/// exits.
#include "actors/harness/agent_loop.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/net/io_thread.hpp"
#include "protocol/transcript/transcript.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include <poll.h>
#include <unistd.h>

namespace {

using namespace chalk;
using actors::agent_loop;
using clock = std::chrono::steady_clock;

/// One answer of the model, or the end of standard input.
class answer_box {
  public:
    void put(std::optional<model::turn_result> answer) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(answer);
        there_ = true;
        changed_.notify_one();
    }
    std::optional<model::turn_result> take() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return there_; });
        there_ = false;
        return std::move(answer_);
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<model::turn_result> answer_;
    bool there_ = false;
};

milliseconds since(clock::time_point begin) {
    return std::chrono::duration_cast<milliseconds>(clock::now() - begin);
}

class player {
  public:
    player(const json& plan, std::unique_ptr<model::model> mind, config::limits limits)
        : plan_(plan), mind_(std::move(mind)), loop_(limits), transcript_(header_of(plan)) {
        tools_->push_back({"echo", "Says it again", {{"type", "object"}}});
    }

    /// False when standard input ended.
    bool play() {
        const auto& instructions = plan_.at("instructions");
        add(task_started{"t", "builtin", plan_.at("model"), {"echo"}, instructions.size()});
        for (std::size_t step = 0; step < instructions.size() && !over_; ++step) {
            add(step_started{step, "s", instructions[step]});
            loop_.hear(message_role::user, instructions[step]);
            obey(loop_.begin_step(step, clock::now()));
            while (!pending_.empty()) {
                auto next = std::exchange(pending_, {});
                for (auto& one : next) {
                    if (!std::visit([this](auto& command) { return carry_out(command); }, one)) {
                        return false;
                    }
                }
            }
            if (!over_) {
                add(step_scored{step, 1, true, "", json(), false});
                add(step_completed{step, milliseconds{0}});
            }
        }
        if (!over_) {
            add(task_completed{outcome_status::passed});
        }
        return true;
    }

    [[nodiscard]] json transcript() const { return transcript_.document(); }
    void stop() { box_.put(std::nullopt); }

  private:
    static transcript_header header_of(const json& plan) {
        transcript_header header;
        header.model = plan.at("model");
        return header;
    }

    void add(event_body body) {
        transcript_.add(
            std::make_shared<const event>(event{++seq_, std::chrono::system_clock::now(), std::move(body)}));
    }
    void obey(agent_loop::commands all) { std::move(all.begin(), all.end(), std::back_inserter(pending_)); }

    bool carry_out(agent_loop::record& command) {
        add(std::move(command.body));
        return true;
    }
    bool carry_out(agent_loop::finish_step&) { return true; }
    bool carry_out(agent_loop::fail& command) {
        add(run_failed{command.why.kind, command.why.message, {}});
        over_ = true;
        return true;
    }
    bool carry_out(agent_loop::call_tool& command) {
        const auto said = command.call.name == "echo" ? mcp::tool_output::text(command.call.arguments.value("text", ""))
                                                      : mcp::tool_output::text("there is no such tool", true);
        obey(loop_.on_tool_output(said, milliseconds{0}, clock::now()));
        return true;
    }
    bool carry_out(agent_loop::ask_model& command) {
        const auto begin = clock::now();
        mind_->next_turn({loop_.messages(), tools_, command.step, command.turn, command.deadline},
                         [this](model::turn_result got) { box_.put(std::move(got)); });
        auto got = box_.take();
        if (!got) {
            mind_.reset();
            return false;
        }
        obey(*got ? loop_.on_turn(**got, since(begin), clock::now())
                  : loop_.on_failed_turn(got->error(), since(begin), clock::now()));
        return true;
    }

    const json& plan_;
    std::unique_ptr<model::model> mind_;
    agent_loop loop_;
    transcript_builder transcript_;
    std::shared_ptr<std::vector<mcp::tool_spec>> tools_ = std::make_shared<std::vector<mcp::tool_spec>>();
    agent_loop::commands pending_;
    answer_box box_;
    std::uint64_t seq_ = 0;
    bool over_ = false;
};

config::limits limits_of(const json& plan) {
    config::limits limits;
    const auto values = plan.value("limits", json::object());
    if (values.contains("max_time_s")) {
        limits.max_time = seconds(values["max_time_s"].get<int>());
    }
    if (values.contains("max_total_tokens")) {
        limits.max_total_tokens = values["max_total_tokens"].get<std::uint64_t>();
    }
    return limits;
}

/// Until standard input ends, or `done` is closed.
void wait_for_end(int done, player& told) {
    pollfd both[] = {{STDIN_FILENO, POLLIN, 0}, {done, POLLIN, 0}};
    ::poll(both, 2, -1);
    if (both[1].revents == 0) {
        told.stop();
    }
}

} // namespace

int main(int count, char** arguments) {
    const auto plan = json::parse(count > 1 ? arguments[1] : "{}");
    io_thread io;
    model::model_settings settings;
    settings.name = plan.at("model");
    settings.args = plan.value("model_args", json::object());
    settings.gateway_socket = plan.at("gateway");
    auto mind = model::make_model(io.context(), settings);
    if (!mind) {
        fmt::print(stderr, "{}\n", mind.error().message);
        return 2;
    }
    player one(plan, std::move(*mind), limits_of(plan));
    int ends[2];
    if (::pipe(ends) != 0) {
        return 1;
    }
    std::thread watcher([&] { wait_for_end(ends[0], one); });
    const bool whole = one.play();
    ::close(ends[1]);
    watcher.join();
    ::close(ends[0]);
    fmt::print("{}\n", whole ? dump_json(one.transcript()) : "dropped");
    return 0;
}
