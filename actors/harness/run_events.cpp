#include "actors/harness/run_events.hpp"

#include "protocol/transcript/transcript.hpp"

#include <fmt/format.h>

#include <memory>

namespace chalk::actors {

void run_events::record(event_body body, time_point now) {
    if (final_recorded_) {
        return;
    }
    final_recorded_ = is_final(body);
    auto one = std::make_shared<const event>(event{++last_seq_, now, std::move(body)});
    all_.push_back(one);
    unsent_.push_back(std::move(one));
}

void run_events::log(const log_line& line, time_point now) {
    if (writable_) {
        record(line, now);
    } else {
        ++dropped_lines_;
    }
}

void run_events::set_writable(bool writable, time_point now) {
    writable_ = writable;
    if (writable && dropped_lines_ != 0) {
        record(log_line{log_level::warning, "chalk",
                        fmt::format("{} log lines were left out: the host could not take them fast enough",
                                    std::exchange(dropped_lines_, 0))},
               now);
    }
}

json transcript_so_far(const config::run_config& config, const std::vector<event_ptr>& events) {
    transcript_header header;
    header.run_id = config.id.str();
    header.environment = config.environment.string();
    header.task = config.task;
    header.agent = config.agent;
    header.model = config.model;
    header.chalk_version = CHALK_VERSION;
    header.config = config::to_json(config);
    transcript_builder transcript(std::move(header));
    for (const auto& one : events) {
        transcript.add(one);
    }
    return transcript.document();
}

} // namespace chalk::actors
