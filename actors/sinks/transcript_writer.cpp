#include "actors/sinks/transcript_writer.hpp"

#include <utility>

namespace chalk::actors {

namespace {

/// Batches on the pool at once: while one waits for the disk the next is being put together.
constexpr std::size_t most_batches = 2;
constexpr std::size_t most_files = 256;

using batch = std::vector<write_transcript>;

/// On the pool.
void write_batch(const batch& jobs, const transcript_writer& owner) {
    std::vector<file_job> files;
    files.reserve(jobs.size());
    for (const auto& j : jobs) {
        files.push_back(*j.job);
    }
    auto results = write_durably(files);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        caf::anon_send(jobs[i].client, transcript_written{jobs[i].who, std::move(results[i])});
    }
    caf::anon_send(owner, batch_written{});
}

struct writer_state {
    std::shared_ptr<blocking_pool> pool;
    batch waiting;
    std::size_t under_way = 0;
};

class writer final : public transcript_writer::stateful_base<writer_state> {
  public:
    writer(caf::actor_config& config, std::shared_ptr<blocking_pool> pool)
        : transcript_writer::stateful_base<writer_state>(config) {
        state.pool = std::move(pool);
    }

    behavior_type make_behavior() override {
        return {[this](const write_transcript& what) {
                    state.waiting.push_back(what);
                    next_batch();
                },
                [this](const batch_written&) {
                    --state.under_way;
                    next_batch();
                }};
    }

  private:
    void next_batch() {
        if (state.waiting.empty() || state.under_way >= most_batches) {
            return;
        }
        batch now;
        if (state.waiting.size() <= most_files) {
            now.swap(state.waiting);
        } else {
            const auto end = state.waiting.begin() + most_files;
            now.assign(std::make_move_iterator(state.waiting.begin()), std::make_move_iterator(end));
            state.waiting.erase(state.waiting.begin(), end);
        }
        ++state.under_way;
        state.pool->submit([jobs = std::move(now), self = transcript_writer(this)] { write_batch(jobs, self); });
    }
};

} // namespace

std::shared_ptr<const file_job> transcript_job(const run_order& order, std::shared_ptr<const run_record> record) {
    return std::make_shared<const file_job>(
        file_job{order.config.transcript_file, [record = std::move(record)] {
                     return record->document().dump(1, ' ', false, json::error_handler_t::replace) + "\n";
                 }});
}

transcript_writer spawn_transcript_writer(caf::actor_system& system, std::shared_ptr<blocking_pool> pool) {
    return system.spawn<writer>(std::move(pool));
}

} // namespace chalk::actors
