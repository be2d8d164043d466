/// The sweep's side of its journal: what waits to be written, the actor that writes it, and what becomes of a failure
/// of either. Without a journal (`chalk run`) everything is durable at once.
///
/// Owner: the sweep actor, in whose name it sends. A journal actor that dies is replaced and given the batch under way
/// again, so that nothing is lost with it but the answers to requeues.
#pragma once

#include "actors/sweep/commit_queue.hpp"
#include "actors/sweep/interfaces.hpp"

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace chalk::actors {

class journal_side {
  public:
    using answer = std::function<void(result<std::string>)>;
    using clock = schedule::clock;

    static constexpr std::chrono::seconds retried_after{5};

    /// `self` owns this; `say` is for what a user should know. Starts nothing yet.
    journal_side(sweep_actor::pointer self, std::optional<sweep_journal> settings,
                 std::function<void(const std::string&)> say);

    /// Null: this sweep has no journal.
    [[nodiscard]] const sweep_journal* settings() const noexcept { return settings_ ? &*settings_ : nullptr; }
    /// Starts the journal actor, whose first records come before all others.
    void open();
    /// Lets the journal actor end, which closes the file.
    void close();

    void add(journal::record what) { commits_.add(std::move(what)); }
    /// Happens when everything that was added before is durable.
    void then(commit_queue::effect what) { commits_.then(std::move(what)); }
    /// Does what is durable already, and sends the next batch once the one before is done.
    void write();
    /// Sends the batch again that could not be written, unless it is being tried right now.
    void write_again();
    /// The answer to a batch; its effects happen. A failure that may pass is waited out if `may_wait`, and the journal
    /// is blocked till then; any other is returned.
    [[nodiscard]] result<void> written(const records_written& m, bool may_wait);

    /// True while a batch waits to be tried again: nothing may start.
    [[nodiscard]] bool blocked() const noexcept { return blocked_; }
    /// A batch is being written.
    [[nodiscard]] bool under_way() const noexcept { return commits_.under_way() != nullptr; }
    /// Nothing waits to be durable.
    [[nodiscard]] bool idle() const noexcept { return commits_.idle(); }

    /// Asks which runs there are; the next runs_looked_up is the answer to the first who asked.
    void look_up(const std::vector<std::string>& runs, answer who);
    /// Who asked first. Empty: nobody waits.
    [[nodiscard]] answer take_lookup();

    /// Asks what the journal has under that name; the answer comes to the sweep, unless the journal dies first.
    void find(const find_assignment& what);

    [[nodiscard]] bool is(const caf::actor_addr& who) const;
    /// It died: another one takes over. error_class::harness: it failed too often.
    [[nodiscard]] result<void> died(const caf::error& reason);

  private:
    void start();
    void send_again();

    sweep_actor::pointer self_;
    std::optional<sweep_journal> settings_;
    std::function<void(const std::string&)> say_;
    commit_queue commits_;
    journal_actor actor_; ///< null before open(), and without a journal
    restart_policy restarts_{3, std::chrono::minutes(1)};
    std::deque<answer> lookups_;
    bool asked_ = false; ///< the journal actor has a batch that it has not answered
    bool blocked_ = false;
};

} // namespace chalk::actors
