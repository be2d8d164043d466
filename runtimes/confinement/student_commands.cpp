#include "runtimes/confinement/student_commands.hpp"

#include "runtimes/confinement/running_command.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace chalk::confinement {
namespace {

/// How many pipes of background processes are kept open, so that a server started with `&` may go on printing.
constexpr std::size_t most_background_outputs = 64;
/// How often orphans are reaped while a command runs.
constexpr milliseconds reap_interval{1'000};

/// After kill_all, how often and how long its groups are tried to be removed.
constexpr milliseconds cleanup_interval{5};
constexpr milliseconds cleanup_patience{2'000};
/// The same for who waits for it. A command that was cancelled gives its own result within this time.
constexpr milliseconds waited_cleanup_patience{5'000};

/// The part that outlives student_commands until the last `done` ran. Scopes are killed by any thread, commands live on
/// the io thread.
class command_table : public std::enable_shared_from_this<command_table> {
  public:
    command_table(boost::asio::io_context& io, student_settings settings)
        : io_(io), settings_(std::move(settings)), reaping_(io), cleaning_(io) {
        if (settings_.become) {
            student_ = settings_.become->uid;
        }
        if (!settings_.cgroup.calls_folder) {
            tree_ = std::make_shared<process_tree>(student_);
        }
    }

    [[nodiscard]] const student_settings& settings() const noexcept { return settings_; }
    [[nodiscard]] boost::asio::io_context& io() const noexcept { return io_; }

    void start(std::uint64_t number, student_command what, running_command::completion done) {
        if (closed_) {
            done(sandbox_failure("the student's processes were stopped"));
            return;
        }
        auto scope = make_scope(number);
        if (!scope) {
            done(scope.error());
            return;
        }
        auto command = std::make_shared<running_command>(
            io_, *scope,
            [self = shared_from_this(), number, done = std::move(done)](result<command_result> outcome) mutable {
                self->ended(number);
                done(std::move(outcome));
            });
        commands_.emplace(number, command);
        started_since_clean_ = true;
        {
            const std::lock_guard lock(mutex_);
            scopes_.emplace(number, std::move(*scope));
        }
        command->start(settings_, std::move(what));
        if (closed_) {
            kill_scopes(); // the owner went away while it started
        }
        reap_while_running();
    }

    void cancel(std::uint64_t number) {
        if (const auto found = commands_.find(number); found != commands_.end()) {
            found->second->cancel();
        }
    }

    /// Any thread. `seen` becomes true when anything was alive, before others may see it gone.
    void kill_scopes(std::atomic<bool>& seen) {
        const std::lock_guard lock(mutex_);
        for (const auto& [number, scope] : scopes_) {
            if (!scope->kill_round()) { // running commands come back to it until nothing is left
                seen = true;
            }
        }
        if (tree_ && tree_->kill_everything() > 0) {
            seen = true;
        }
    }
    void kill_scopes() {
        std::atomic<bool> ignored = false;
        kill_scopes(ignored);
    }

    /// On the io thread: the results of what runs say "cancelled", pipes of background processes are closed.
    /// `seen`: by who asked, who killed already.
    void cancel_all(const std::atomic<bool>& seen, std::function<void(kill_report)> done) {
        remove_empty_scopes(); // of what ended by itself, or of the kill
        const bool found = anything_left() || seen;
        const auto all = commands_; // a result may start the next command
        for (const auto& [number, command] : all) {
            command->cancel();
        }
        close_background(0);
        kill_scopes();
        const auto patience = done ? waited_cleanup_patience : cleanup_patience;
        clean_up_until(std::chrono::steady_clock::now() + patience, found, std::move(done));
    }

    /// Any thread. Nothing is started from here on.
    void close() { closed_ = true; }

  private:
    result<std::shared_ptr<call_scope>> make_scope(std::uint64_t number) {
        if (tree_) {
            return std::shared_ptr<call_scope>(make_tree_scope(tree_, settings_.cgroup, number));
        }
        auto made = make_group_scope(settings_.cgroup, number);
        if (!made) {
            return made.error();
        }
        return std::shared_ptr<call_scope>(std::move(*made));
    }

    void ended(std::uint64_t number) {
        auto node = commands_.extract(number);
        if (!node.empty() && node.mapped()->has_output()) {
            background_.push_back(std::move(node.mapped()));
        }
        std::erase_if(background_, [](const auto& command) { return !command->has_output(); });
        close_background(most_background_outputs);
        reap_adopted(student_);
        remove_empty_scopes();
    }

    void close_background(std::size_t keep) {
        while (background_.size() > keep) {
            background_.front()->close_output();
            background_.erase(background_.begin());
        }
    }

    void remove_empty_scopes() {
        const std::lock_guard lock(mutex_);
        std::erase_if(scopes_,
                      [this](const auto& entry) { return !commands_.contains(entry.first) && entry.second->remove(); });
    }

    /// After kill_all: what was killed needs a moment to be gone, and only then can its group be removed. With nobody
    /// who waits, running commands look after their own.
    void clean_up_until(std::chrono::steady_clock::time_point end, bool found, std::function<void(kill_report)> done) {
        reap_adopted(student_);
        remove_empty_scopes();
        const bool left = done ? anything_left() || orphans_left() : !only_running_scopes();
        if (!left || std::chrono::steady_clock::now() >= end) {
            if (done) {
                done({found, left});
            }
            return; // what is left is tried again when the next command ends
        }
        if (done) {
            kill_scopes();
        }
        cleaning_.expires_after(cleanup_interval);
        cleaning_.async_wait([self = shared_from_this(), end, found,
                              done = std::move(done)](const boost::system::error_code& failed) mutable {
            if (!failed) {
                self->clean_up_until(end, found, std::move(done));
            } else if (done) {
                done({found, true}); // another kill_all took over
            }
        });
    }

    [[nodiscard]] bool anything_left() {
        const std::lock_guard lock(mutex_);
        return !scopes_.empty() || !commands_.empty();
    }

    /// An empty group is not yet an ended process: who waits for kill_all would still see it in /proc.
    [[nodiscard]] bool orphans_left() {
        if (student_ && started_since_clean_) {
            started_since_clean_ = adopted_left(*student_);
        }
        return student_ && started_since_clean_;
    }

    [[nodiscard]] bool only_running_scopes() {
        const std::lock_guard lock(mutex_);
        return scopes_.size() <= commands_.size();
    }

    void reap_while_running() {
        if (commands_.empty() || std::exchange(reaping_set_, true)) {
            return;
        }
        reaping_.expires_after(reap_interval);
        reaping_.async_wait([weak = weak_from_this()](const boost::system::error_code& failed) {
            const auto self = weak.lock();
            if (!failed && self) {
                self->reaping_set_ = false;
                reap_adopted(self->student_);
                self->reap_while_running();
            }
        });
    }

    boost::asio::io_context& io_;
    const student_settings settings_;
    std::optional<uid_t> student_;
    std::shared_ptr<process_tree> tree_; ///< null with cgroups
    boost::asio::steady_timer reaping_;
    boost::asio::steady_timer cleaning_;
    bool reaping_set_ = false;
    bool started_since_clean_ = false; ///< a command was, since nothing of the student's was last seen to be left
    std::atomic<bool> closed_ = false;
    std::map<std::uint64_t, std::shared_ptr<running_command>> commands_;
    std::vector<std::shared_ptr<running_command>> background_;

    std::mutex mutex_; ///< guards scopes_
    std::map<std::uint64_t, std::shared_ptr<call_scope>> scopes_;
};

class commands_of_table final : public student_commands {
  public:
    commands_of_table(boost::asio::io_context& io, student_settings settings)
        : table_(std::make_shared<command_table>(io, std::move(settings))) {}

    ~commands_of_table() override {
        table_->close();
        commands_of_table::kill_all(nullptr);
    }

    std::uint64_t run(student_command what, std::function<void(result<command_result>)> done) override {
        const auto number = next_.fetch_add(1);
        boost::asio::post(table_->io(), [table = table_, number, what = std::move(what), done = std::move(done)] {
            table->start(number, what, done);
        });
        return number;
    }

    void cancel(std::uint64_t number) override {
        boost::asio::post(table_->io(), [table = table_, number] { table->cancel(number); });
    }

    void kill_all(std::function<void(kill_report)> done) override {
        // In this order, or a command's end could be handled before it is known to be cancelled.
        const auto seen = std::make_shared<std::atomic<bool>>(false);
        boost::asio::post(table_->io(), [table = table_, seen, done = std::move(done)]() mutable {
            table->cancel_all(*seen, std::move(done));
        });
        table_->kill_scopes(*seen); // here and now, even if the io thread never comes to it
    }

    [[nodiscard]] const student_settings& settings() const noexcept override { return table_->settings(); }

  private:
    std::shared_ptr<command_table> table_;
    std::atomic<std::uint64_t> next_ = 1;
};

} // namespace

std::shared_ptr<student_commands> student_commands::make(boost::asio::io_context& io, student_settings settings) {
    return std::make_shared<commands_of_table>(io, std::move(settings));
}

} // namespace chalk::confinement
