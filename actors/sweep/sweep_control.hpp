/// What a person may ask of a sweep that runs (`chalk sweep ctl`), and what its journal needs of whoever made it.
#pragma once

#include "actors/sweep/schedule.hpp"
#include "protocol/journal/journal_file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace chalk::actors {

namespace control {
struct pause {}; ///< nothing new starts; what is under way goes on
struct resume {};
struct cancel { ///< as Ctrl-C
    std::string reason;
};
struct concurrency { ///< runs at once; absent: as many as the ledger lets in
    std::optional<std::size_t> runs;
};
struct requeue { ///< finished runs are run once more; their first outcome stays as history
    std::vector<std::string> runs;
};
struct drain { ///< nothing new starts on the node; what is under way there goes on
    std::string node;
};
struct look {};  ///< how it stands
struct nodes {}; ///< how its cluster's nodes stand
} // namespace control

using sweep_control = std::variant<control::pause, control::resume, control::cancel, control::concurrency,
                                   control::requeue, control::drain, control::look, control::nodes>;

struct sweep_journal {
    /// Opens it; called on the journal's thread, again after a crash of the journal actor.
    std::function<result<journal::journal_file>()> open;
    /// What is written first: of a new sweep sweep_opened, of a resumed one how its open attempts are settled.
    std::vector<journal::record> first;
    std::function<journal::cell_described(std::uint64_t cell)> describe;
    /// True for cells that the journal describes already.
    std::function<bool(std::uint64_t cell)> described;
    std::uint64_t repeats = 1;
    /// Called when the journal is closed, on its thread, with what was written. May be empty.
    std::function<void(const journal::journal_file::figures&)> closed;
    std::filesystem::path folder; ///< that transcripts' paths are relative to
    std::string node = "local";
    bool own_thread = true; ///< false: with the other actors, as tests in virtual time need it
};

/// Number of a run, as the journal counts them.
[[nodiscard]] inline journal::run_number number_of(run_key run, std::uint64_t repeats) {
    return journal::run_number{run.cell * repeats + run.index};
}

/// The other way round.
[[nodiscard]] inline run_key run_of(journal::run_number number, std::uint64_t repeats) {
    return {static_cast<std::uint64_t>(number) / repeats, static_cast<std::uint64_t>(number) % repeats};
}

} // namespace chalk::actors
