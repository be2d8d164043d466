#include "actors/sweep/journal_actor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace chalk::actors {

namespace {

/// CAF destroys it when the actor ends, whoever still holds a handle.
struct journal_state {
    journal_state() = default;
    journal_state(const journal_state&) = delete;
    journal_state& operator=(const journal_state&) = delete;
    ~journal_state() {
        if (closed && file && *file) {
            closed((*file)->written());
        }
    }

    std::optional<result<journal::journal_file>> file;
    decltype(sweep_journal::open) open;
    decltype(sweep_journal::closed) closed;
    std::uint64_t repeats = 1;
    journal_client client;
};

using journal_base = journal_actor::stateful_base<journal_state>;

result<std::vector<found_run>> find_runs(const std::filesystem::path& folder, const std::vector<std::string>& ids) {
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    std::vector<found_run> found;
    for (const auto& id : ids) {
        found.push_back({id, std::nullopt});
    }
    auto read = reader->for_each_run([&](const journal::run_row& row) {
        if (row.attempts.empty()) {
            return true; // closed without an attempt: it has no name to be asked for by
        }
        const auto name = row.attempts.front().started.id.str();
        for (auto& one : found) {
            if (one.id == name) {
                one.row = row;
            }
        }
        return true;
    });
    if (!read) {
        return read.error();
    }
    return found;
}

class journal_impl final : public journal_base {
  public:
    journal_impl(caf::actor_config& config, const sweep_journal& journal, journal_client client)
        : journal_base(config) {
        state.open = journal.open;
        state.closed = journal.closed;
        state.repeats = journal.repeats;
        state.client = std::move(client);
    }

    behavior_type make_behavior() override {
        state.file.emplace(state.open());
        return {
            [this](const write_records& m) { write(*m.records); },
            [this](const look_up_runs& m) {
                auto& file = *state.file;
                send(state.client, runs_looked_up{file ? find_runs(file->folder(), m.ids)
                                                       : result<std::vector<found_run>>{file.error()}});
            },
            [this](const find_assignment& m) { find(m); },
        };
    }

  private:
    /// What cannot be read is not answered: the node offers its result again with its next link.
    void find(const find_assignment& m) {
        const auto& file = *state.file;
        if (!file) {
            return;
        }
        const auto reader = journal::journal_reader::open(file->folder());
        const auto found = reader ? reader->assignment(number_of(m.name.run, state.repeats), m.name.attempt,
                                                       {m.name.token.epoch, m.name.token.count})
                                  : result<journal::assignment_standing>(reader.error());
        if (found) {
            send(state.client, assignment_found{m.name, meaning_of(*found)});
        }
    }

    static journalled_name meaning_of(journal::assignment_standing has) {
        switch (has) {
        case journal::assignment_standing::assigned:
            return journalled_name::assigned;
        case journal::assignment_standing::taken:
            return journalled_name::taken;
        case journal::assignment_standing::absent:
            break;
        }
        return journalled_name::absent;
    }

    void write(const std::vector<journal::record>& records) {
        auto& file = *state.file;
        if (!file) {
            send(state.client, records_written{file.error(), journal::trouble::other});
            return;
        }
        auto how = file->append(records);
        const auto why = file->last_trouble();
        send(state.client, records_written{std::move(how), why});
    }
};

} // namespace

journal_actor spawn_journal(caf::local_actor* owner, const sweep_journal& journal, journal_client client) {
    auto& system = owner->system();
    return journal.own_thread ? system.spawn<journal_impl, caf::detached>(journal, std::move(client))
                              : system.spawn<journal_impl>(journal, std::move(client));
}

} // namespace chalk::actors
