#include "tests/support/recording_runtime.hpp"

#include <stdexcept>

#include <sys/socket.h>

namespace chalk::test {

void recorded_sandbox::exit(const sandbox_exit& how) {
    if (!on_exit) {
        throw std::logic_error("nobody waits for this sandbox, or it ended already");
    }
    harness_end.reset();
    std::exchange(on_exit, nullptr)(how);
}

void recorded_sandbox::say(const std::string& line) {
    const std::string text = line + "\n";
    if (::send(harness_end.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
        throw std::logic_error("the host does not take what the harness says");
    }
}

std::string recorded_sandbox::heard() {
    std::string text;
    char buffer[65536];
    for (;;) {
        const ssize_t n = ::recv(harness_end.get(), buffer, sizeof buffer, MSG_DONTWAIT);
        if (n <= 0) {
            return text;
        }
        text.append(buffer, static_cast<std::size_t>(n));
    }
}

class recording_sandbox final : public sandbox {
  public:
    recording_sandbox(recording_runtime& owner, std::string id, unique_fd host_end,
                      std::shared_ptr<recorded_sandbox> record)
        : owner_(owner), id_(std::move(id)), host_end_(std::move(host_end)), record_(std::move(record)) {}
    ~recording_sandbox() override { record_->destroyed = true; }

    unique_fd take_host_channel() override { return std::move(host_end_); }
    host_channel::student_description student() const override { return {}; }
    void async_wait(boost::asio::io_context&, std::function<void(sandbox_exit)> done) override {
        record_->on_exit = std::move(done);
    }
    void kill() override {
        owner_.note("kill " + id_);
        record_->killed = true;
    }
    result<std::optional<std::filesystem::path>> remove() override {
        owner_.note("remove " + id_);
        record_->removed = true;
        return record_->remove_answer;
    }
    pid_t init_pid() const noexcept override { return 1; }

  private:
    recording_runtime& owner_;
    std::string id_;
    unique_fd host_end_;
    std::shared_ptr<recorded_sandbox> record_;
};

void recording_runtime::note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(what);
}

result<void> recording_runtime::prepare(const sandbox_request& request) {
    note("prepare " + request.id.str());
    if (const auto found = prepare_fails.find(request.id.str()); found != prepare_fails.end()) {
        return found->second;
    }
    return {};
}

result<std::unique_ptr<sandbox>> recording_runtime::start(const sandbox_request& request) {
    note("start " + request.id.str());
    if (const auto found = start_fails.find(request.id.str()); found != start_fails.end()) {
        return found->second;
    }
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::logic_error("no socket pair");
    }
    auto record = std::make_shared<recorded_sandbox>();
    record->harness_end.reset(ends[1]);
    {
        const std::lock_guard lock(mutex_);
        if (!sandboxes_.emplace(request.id.str(), record).second) {
            throw std::logic_error("run " + request.id.str() + " was started twice");
        }
    }
    return std::unique_ptr<sandbox>(
        std::make_unique<recording_sandbox>(*this, request.id.str(), unique_fd(ends[0]), std::move(record)));
}

void recording_runtime::set_lease(std::optional<node_time> until) {
    const std::lock_guard lock(mutex_);
    lease_ = until;
}

std::optional<node_time> recording_runtime::lease() const {
    const std::lock_guard lock(mutex_);
    return lease_;
}

std::vector<std::string> recording_runtime::asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
}

std::shared_ptr<recorded_sandbox> recording_runtime::of(const std::string& id) const {
    const std::lock_guard lock(mutex_);
    return sandboxes_.at(id);
}

std::size_t recording_runtime::started() const {
    const std::lock_guard lock(mutex_);
    return sandboxes_.size();
}

} // namespace chalk::test
