#include "actors/harness/lifecycle.hpp"

#include <fmt/format.h>

#include <cmath>

namespace chalk::actors::lifecycle {

namespace {

template<class... More>
commands list(More&&... more) {
    commands all;
    all.reserve(sizeof...(more));
    (all.emplace_back(std::forward<More>(more)), ...);
    return all;
}

} // namespace

machine::machine(settings with) : settings_(std::move(with)) {}

commands machine::start() {
    stage_ = stage::loading_task;
    return list(load_task{});
}

commands machine::handle(fact what, time_point now) {
    if (ended()) {
        return {};
    }
    return std::visit([&](auto& one) { return on(one, now); }, what);
}

bool machine::leave(stage expected, stage next) noexcept {
    if (stage_ != expected) {
        return false;
    }
    stage_ = next;
    return true;
}

commands machine::on(task_loaded& what, time_point) {
    if (!leave(stage::loading_task, stage::starting_tools)) {
        return unexpected("a loaded task");
    }
    task_ = std::move(what.name);
    steps_ = std::move(what.steps);
    return list(listen_for_tools{});
}

commands machine::on(tools_listening& what, time_point) {
    if (!leave(stage::starting_tools, stage::configuring_tools)) {
        return unexpected("a listening tool server");
    }
    if (!what.firewall.empty()) {
        settings_.confinement_note += "; " + what.firewall;
    }
    return list(configure_tools{});
}

commands machine::on(tools_configured& what, time_point) {
    if (!leave(stage::configuring_tools, stage::registering_tools)) {
        return unexpected("configured tools");
    }
    return list(register_tools{std::move(what.tools), std::move(what.builtin)});
}

commands machine::on(tools_registered& what, time_point) {
    if (!leave(stage::registering_tools, stage::in_pre_hook)) {
        return unexpected("registered tools");
    }
    return list(record{task_started{task_, settings_.agent, settings_.model, std::move(what.names), steps_.size()}},
                record{log_line{log_level::info, "chalk", fmt::format("confinement: {}", settings_.confinement_note)}},
                call_pre_hook{});
}

commands machine::on(pre_hook_returned& what, time_point) {
    if (!leave(stage::in_pre_hook, stage::asking_system_prompt)) {
        return unexpected("a pre_hook's return");
    }
    auto all = list(record{task_pre_hook_completed{std::move(what.metadata)}});
    if (settings_.agent_sends_own_system_message) {
        auto more = ready_for_steps();
        all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    } else {
        all.emplace_back(ask_system_prompt{});
    }
    return all;
}

commands machine::on(system_prompt_given& what, time_point) {
    if (stage_ != stage::asking_system_prompt) {
        return unexpected("a system prompt");
    }
    commands all;
    if (what.text) {
        all.emplace_back(add_message{message_role::system, std::move(*what.text)});
    }
    auto more = ready_for_steps();
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return all;
}

commands machine::ready_for_steps() {
    if (settings_.prepare_only) {
        stage_ = stage::prepared;
        return list(announce_prepared{});
    }
    return next_step();
}

commands machine::next_step() {
    if (step_ == steps_.size()) {
        return end(task_completed{outcome_status::passed}, true);
    }
    stage_ = stage::beginning_step;
    return list(begin_step{step_});
}

commands machine::on(step_begun& what, time_point now) {
    if (!leave(stage::beginning_step, stage::working)) {
        return unexpected("a step's beginning");
    }
    if (!what.extra_config.is_object()) {
        return fail(task_failure(fmt::format("step {} ({}): extra_config must be an object", step_, steps_[step_])));
    }
    settings_.extra_config.merge_patch(what.extra_config);
    if (auto patterns = artifact_patterns(settings_.extra_config); !patterns) {
        return fail(patterns.error());
    }
    step_started_ = now;
    return list(record{step_started{step_, steps_[step_], what.instructions}},
                add_message{message_role::user, std::move(what.instructions)}, let_agent_work{step_});
}

commands machine::on(agent_finished&, time_point now) {
    if (!leave(stage::working, stage::stopping_student)) {
        return unexpected("an agent's end");
    }
    const auto worked = std::chrono::duration_cast<milliseconds>(now - step_started_);
    return list(record{agent_completed{step_, worked}}, stop_student{});
}

commands machine::on(student_stopped&, time_point now) {
    if (!leave(stage::stopping_student, stage::saving_artifacts)) {
        return unexpected("a stopped student");
    }
    auto patterns = artifact_patterns(settings_.extra_config);
    if (settings_.save_artifacts && patterns && !patterns->empty()) {
        return list(save_artifacts{step_, std::move(*patterns)});
    }
    artifacts_saved none;
    return on(none, now);
}

commands machine::on(artifacts_saved&, time_point) {
    if (!leave(stage::saving_artifacts, stage::in_pre_scoring_hook)) {
        return unexpected("saved artifacts");
    }
    return list(call_pre_scoring_hook{step_});
}

commands machine::on(pre_scoring_returned&, time_point) {
    if (!leave(stage::in_pre_scoring_hook, stage::judging)) {
        return unexpected("a pre_scoring_hook's return");
    }
    return list(call_judge{step_});
}

commands machine::on(judged& what, time_point) {
    if (stage_ != stage::judging) {
        return unexpected("a judge's word");
    }
    if (!std::isfinite(what.score)) {
        return fail(
            task_failure(fmt::format("step {} ({}): the judge's score is no finite number", step_, steps_[step_])));
    }
    stage_ = stage::in_post_hook;
    goes_on_ = what.continue_task;
    return list(record{step_scored{step_, what.score, what.continue_task, std::move(what.explanation),
                                   std::move(what.metadata), false}},
                call_post_hook{step_});
}

commands machine::on(post_hook_returned&, time_point now) {
    if (stage_ != stage::in_post_hook) {
        return unexpected("a post_hook's return");
    }
    const auto duration = std::chrono::duration_cast<milliseconds>(now - step_started_);
    auto all = list(record{step_completed{step_, duration}});
    ++step_;
    auto more = goes_on_ ? next_step() : end(task_completed{outcome_status::failed}, true);
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return all;
}

commands machine::on(trouble& what, time_point) {
    const bool scoring = stage_ == stage::in_pre_scoring_hook || stage_ == stage::judging;
    if (what.student_misbehaved && scoring) {
        // The student, not the environment, is at fault: that is a score, not an error, and the task goes on.
        stage_ = stage::in_post_hook;
        goes_on_ = true;
        return list(record{step_scored{step_, 0, true, std::move(what.why.message), json(nullptr), true}},
                    call_post_hook{step_});
    }
    return fail(std::move(what.why), std::move(what.details));
}

commands machine::on(cancel_requested& what, time_point) {
    return end(run_cancelled{std::move(what.reason)}, false);
}

commands machine::unexpected(const char* what) {
    return fail(harness_failure(fmt::format("{} came when nothing had asked for it", what)));
}

commands machine::fail(failure why, std::string details) {
    return end(run_failed{why.kind, std::move(why.message), std::move(details)}, false);
}

commands machine::end(event_body last, bool orderly) {
    stage_ = stage::ended;
    return list(record{std::move(last)}, finish{orderly});
}

result<std::vector<std::string>> artifact_patterns(const json& extra_config) {
    std::vector<std::string> patterns;
    const auto found = extra_config.find("extra_artifact_paths");
    if (found == extra_config.end() || found->is_null()) {
        return patterns;
    }
    if (!found->is_array()) {
        return task_failure("extra_config.extra_artifact_paths: expected a list of paths");
    }
    for (const auto& path : *found) {
        if (!path.is_string()) {
            return task_failure("extra_config.extra_artifact_paths: expected a list of paths");
        }
        patterns.push_back(path.get<std::string>());
    }
    return patterns;
}

} // namespace chalk::actors::lifecycle
