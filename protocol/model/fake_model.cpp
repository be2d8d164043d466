#include "protocol/model/fake_model.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/model/estimated_tokens.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

namespace chalk::model {

namespace {

result<std::string> text_at(const json& object, const char* key, const std::string& path) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) {
        return std::string{};
    }
    if (!found->is_string()) {
        return config_failure(fmt::format("{}.{}: expected a string", path, key));
    }
    return found->get<std::string>();
}

result<std::vector<tool_call>> calls_at(const json& object, const std::string& path) {
    std::vector<tool_call> calls;
    const auto found = object.find("tool_calls");
    if (found == object.end()) {
        return calls;
    }
    if (!found->is_array()) {
        return config_failure(fmt::format("{}.tool_calls: expected a list", path));
    }
    for (const auto& entry : *found) {
        const auto where = fmt::format("{}.tool_calls[{}]", path, calls.size());
        if (!entry.is_object()) {
            return config_failure(fmt::format("{}: expected an object", where));
        }
        auto name = text_at(entry, "name", where);
        if (!name || name->empty()) {
            return config_failure(fmt::format("{}.name: expected a tool's name", where));
        }
        auto arguments = entry.value("arguments", json::object());
        if (!arguments.is_object()) {
            return config_failure(fmt::format("{}.arguments: expected an object", where));
        }
        calls.push_back({{}, std::move(*name), std::move(arguments)});
    }
    return calls;
}

result<turn> turn_at(const json& value, const std::string& path) {
    if (!value.is_object()) {
        return config_failure(fmt::format("{}: expected a turn, an object", path));
    }
    turn one;
    for (auto [key, into] : {std::pair{"text", &one.text}, {"reasoning", &one.reasoning}}) {
        auto text = text_at(value, key, path);
        if (!text) {
            return text.error();
        }
        *into = std::move(*text);
    }
    auto calls = calls_at(value, path);
    if (!calls) {
        return calls.error();
    }
    one.tool_calls = std::move(*calls);
    one.stopped = one.tool_calls.empty() ? stop_reason::end : stop_reason::tool_calls;
    auto stopped = text_at(value, "stop_reason", path);
    if (!stopped) {
        return stopped.error();
    }
    if (stopped->empty()) {
        return one;
    }
    for (auto reason : {stop_reason::end, stop_reason::tool_calls, stop_reason::length}) {
        if (*stopped == to_string(reason)) {
            one.stopped = reason;
            return one;
        }
    }
    return config_failure(fmt::format("{}.stop_reason: expected end, tool_calls or length", path));
}

class fake_model final : public model {
  public:
    fake_model(boost::asio::io_context& io, script turns, milliseconds latency)
        : io_(io), script_(std::move(turns)), latency_(latency) {}

    ~fake_model() override {
        if (timer_) {
            // A timer belongs to the io thread; its handler finds `alive` gone.
            boost::asio::post(io_, [timer = std::move(timer_)] { timer->cancel(); });
        }
    }

    void next_turn(request what, std::function<void(turn_result)> done) override {
        auto answer = [alive = std::weak_ptr(alive_), done = std::move(done), reply = reply_to(what)]() mutable {
            if (!alive.expired()) {
                done(std::move(reply));
            }
        };
        const auto wait = std::min(latency_, what.deadline);
        if (wait == milliseconds{0}) {
            boost::asio::post(io_, std::move(answer));
            return;
        }
        timer_ = std::make_shared<boost::asio::steady_timer>(io_, wait);
        timer_->async_wait([answer = std::move(answer)](boost::system::error_code ec) mutable {
            if (!ec) {
                answer();
            }
        });
    }

  private:
    turn_result reply_to(const request& what) const {
        if (latency_ > what.deadline) {
            return timeout_failure(fmt::format("fake model: no answer within {} ms at step {}, turn {}",
                                               what.deadline.count(), what.step, what.turn));
        }
        if (what.step >= script_.size() || what.turn >= script_[what.step].size()) {
            return model_failure(
                fmt::format("fake model: its script has no turn {} for step {} ({} of {} steps, {} turns in this one)",
                            what.turn, what.step, std::min(what.step + 1, script_.size()), script_.size(),
                            what.step < script_.size() ? script_[what.step].size() : 0));
        }
        auto one = script_[what.step][what.turn];
        std::size_t number = 0;
        std::size_t output = one.text.size();
        for (auto& call : one.tool_calls) {
            call.id = fmt::format("call_{}_{}_{}", what.step, what.turn, number++);
            output += call.name.size() + dump_json(call.arguments).size();
        }
        std::size_t input = 0;
        for (const auto& message : *what.messages) {
            input += message.text.size();
        }
        one.usage.input = estimated_tokens(input);
        one.usage.output = estimated_tokens(output);
        one.usage.reasoning = estimated_tokens(one.reasoning.size());
        return one;
    }

    boost::asio::io_context& io_;
    script script_;
    milliseconds latency_;
    std::shared_ptr<boost::asio::steady_timer> timer_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
};

} // namespace

result<script> parse_script(const json& value) {
    if (!value.is_array()) {
        return config_failure("fake_model.script: expected a list of steps, each a list of turns");
    }
    script steps;
    for (const auto& step : value) {
        const auto path = fmt::format("fake_model.script[{}]", steps.size());
        if (!step.is_array()) {
            return config_failure(path + ": expected a list of turns");
        }
        auto& turns = steps.emplace_back();
        for (const auto& entry : step) {
            auto one = turn_at(entry, fmt::format("{}[{}]", path, turns.size()));
            if (!one) {
                return one.error();
            }
            turns.push_back(std::move(*one));
        }
    }
    return steps;
}

result<std::unique_ptr<model>> make_fake_model(boost::asio::io_context& io, const json& value, milliseconds latency) {
    auto steps = parse_script(value);
    if (!steps) {
        return steps.error();
    }
    return std::unique_ptr<model>(std::make_unique<fake_model>(io, std::move(*steps), latency));
}

} // namespace chalk::model
