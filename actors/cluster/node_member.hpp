/// What a node of a cluster decides: when it asks for its lease and gives it up, what it starts under it, when it stops
/// everything, and which result it offers when. Pure; time is handed in (the node's CLOCK_BOOTTIME). What follows from
/// a call lies in take_decisions() afterwards, in the order in which it has to happen.
///
/// A lease is live, spent or unused. Live: runs may start and go on. Spent: something ran under it and must not any
/// more, or it is a forerunner's; it is only there to be given up, after the results have been delivered that the
/// coordinator would else run again. Unused: it was granted too late, or while runs of another were dying; the node
/// asks once more before it begins.
///
/// Owner: the node agent. A node that was started again makes one of the lease and the results that it finds.
#pragma once

#include "actors/cluster/credit_window.hpp"
#include "actors/cluster/lease_clock.hpp"
#include "actors/cluster/lease_terms.hpp"
#include "actors/cluster/result_fence.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace chalk::actors {

namespace member_decision {

/// To the coordinator, the first on a link or after a lease was given up.
struct say_hello {
    lease_number held; ///< zeros: none
    lease_clock::question asked{};
};
struct say_renewal {
    lease_number number;
    lease_clock::question asked{};
};
struct say_given_up {
    lease_number number;
};
/// All that the node has.
struct say_kept {
    std::set<assignment_name> running;
    std::set<assignment_name> ended;
};
/// Its files have landed: the coordinator is told of the result.
struct say_ended {
    assignment_name name;
};
/// Make the attempt's order; then may_start(), or ended() when it cannot be made.
struct make_run {
    assignment_name name;
    std::string sheet;
};
/// Every run of the node is killed, at once. Each ends by ended().
struct stop_runs {
    std::string why;
};
/// This one. Then ended().
struct stop_run {
    assignment_name name;
};
/// The coordinator is to have its files; then landed().
struct land_files {
    assignment_name name;
};
/// Nothing of it is needed any more.
struct forget_run {
    assignment_name name;
};
/// Whatever still runs has to end by itself then.
struct move_lease {
    node_time until;
};
/// To be found by the next process of this node.
struct note_lease {
    lease_number number;
};
/// For a person.
struct say_word {
    std::string text;
};
/// Nobody answers over the link: it is to be made anew.
struct cut_off_link {
    std::string why;
};
/// quit() was called, and all that it waits for is done.
struct leave {};

} // namespace member_decision

using node_member_decision =
    std::variant<member_decision::say_hello, member_decision::say_renewal, member_decision::say_given_up,
                 member_decision::say_kept, member_decision::say_ended, member_decision::make_run,
                 member_decision::stop_runs, member_decision::stop_run, member_decision::land_files,
                 member_decision::forget_run, member_decision::move_lease, member_decision::note_lease,
                 member_decision::say_word, member_decision::cut_off_link, member_decision::leave>;

struct node_member_rules {
    milliseconds stop_margin = lease_terms{}.stop_margin;
    std::uint64_t most_offered = 64;    ///< results on their way to the coordinator at once
    milliseconds offer_again{5'000};    ///< after files did not land
    milliseconds answer_within{30'000}; ///< a hello that has no answer by then: the link is no good
    milliseconds quit_within{10'000};   ///< how long quit() waits for runs to die and results to be delivered
};

class node_member {
  public:
    /// `found`: the lease of the node's last process, if it had one. `kept`: its results.
    node_member(node_member_rules rules, std::optional<lease_number> found, const std::vector<assignment_name>& kept);

    // The link.

    /// The coordinator can be spoken to. Also when it calls again over a link that stands.
    void link_up(node_time now);
    void link_lost(node_time now);
    void granted(lease_number number, milliseconds length, lease_clock::question asked, node_time now);
    void renewed(lease_number number, milliseconds length, lease_clock::question asked, node_time now);
    /// The answer to hello: not now. The link is useless until it is lost.
    void refused();
    /// The coordinator says that this lease has ended.
    void over(lease_number number, node_time now);
    /// Nothing more comes: the lease is given up when nothing runs any more and the results are delivered. Then the
    /// node waits for the next link, or for a call over this one.
    void sweep_over(node_time now);
    /// Everything is stopped, what has ended is delivered if that goes quickly, the lease is given up; then leave.
    void quit(node_time now);
    /// Whatever is due. At next_due(), and before any other call.
    void tick(node_time now);
    [[nodiscard]] std::optional<node_time> next_due() const;

    // Runs.

    void assigned(const assignment_name& name, std::string sheet, node_time now);
    /// The attempt's order is made. False: it is not wanted any more, and is forgotten.
    [[nodiscard]] bool may_start(const assignment_name& name, node_time now);
    /// The attempt is over, or could not begin. True: its result is to be kept; then kept(). False: it does not count,
    /// and is forgotten. `cancelled`: by outcome. What the node has stopped itself is lost with its lease and no
    /// result.
    [[nodiscard]] bool ended(const assignment_name& name, bool cancelled, node_time now);
    /// The result is on disk.
    void kept(const assignment_name& name, node_time now);
    void landed(const assignment_name& name, bool well, node_time now);
    void taken(const assignment_name& name, node_time now);
    void dropped(const assignment_name& name, node_time now);

    /// Attempts whose orders are being made.
    [[nodiscard]] std::vector<assignment_name> being_made() const;
    /// The lease under which runs may go on now.
    [[nodiscard]] std::optional<lease_number> live_lease() const;
    [[nodiscard]] std::size_t running() const noexcept { return running_; }
    /// Known attempts, those whose results are kept among them.
    [[nodiscard]] std::size_t size() const noexcept { return attempts_.size(); }

    [[nodiscard]] std::vector<node_member_decision> take_decisions() { return std::exchange(decisions_, {}); }

  private:
    enum class stage {
        making,  ///< its order
        running, ///< or waiting for room
        writing, ///< its result, to disk
        kept,
        landing, ///< its files
        told     ///< the coordinator has not answered yet
    };
    struct attempt {
        stage at = stage::making;
        bool stopped = false; ///< by the node itself: cancelled, it leaves no result
        bool dropped = false; ///< whatever comes of it, it leaves none
    };
    using attempts = std::map<assignment_name, attempt>;
    enum class lease_state { none, live, spent, unused };
    enum class talk {
        silent,  ///< no link
        waiting, ///< there is one, and hello is to be said when nothing runs any more
        asked,   ///< hello was said and not answered
        joined,  ///< under a lease
        resting  ///< the sweep is over, or the node was refused
    };

    void say_hello(node_time now);
    void begin_lease(lease_number number, milliseconds length, lease_clock::question asked, node_time now);
    void stop(const std::string& why, lease_state then);
    void go_on(node_time now);
    void offer(node_time now);
    void give_up(node_time now);
    void leave_when_done(node_time now);
    void take_back_offers();
    void keep(attempts::iterator which);
    void forget(attempts::iterator which);
    /// Nothing is left that the coordinator has to hear before it loses what this node had.
    [[nodiscard]] bool delivered() const noexcept {
        return writing_ == 0 && kept_.empty() && landing_ == 0 && (told_ == 0 || !await_answers_);
    }
    [[nodiscard]] bool quiet() const noexcept { return running_ == 0; }
    [[nodiscard]] lease_number held() const { return lease_ == lease_state::none ? lease_number{} : number_; }

    node_member_rules rules_;
    attempts attempts_;
    std::set<assignment_name> kept_; ///< those that are to be offered
    std::size_t running_ = 0;
    std::size_t writing_ = 0;
    std::size_t landing_ = 0;
    std::size_t told_ = 0;
    credit_window offered_;
    std::optional<node_time> offer_not_before_;

    talk talk_ = talk::silent;
    lease_state lease_ = lease_state::none;
    lease_number number_;
    lease_clock clock_; ///< of the present lease, or of the one that is asked for
    milliseconds length_{0};
    lease_clock::question hello_asked_{};
    std::optional<node_time> answer_by_; ///< to that hello
    std::optional<node_time> renew_at_;
    /// Of a spent lease: it is given up then, though results are not delivered.
    std::optional<node_time> give_up_by_;
    bool await_answers_ = false; ///< of a spent lease: the coordinator is heard, so its answers come
    bool ending_ = false;        ///< the sweep is over
    bool quitting_ = false;
    bool left_ = false;
    std::optional<node_time> quit_by_;
    std::vector<node_member_decision> decisions_;
};

} // namespace chalk::actors
