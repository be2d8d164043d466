#include "protocol/store/bulk_peer.test.hpp"
#include "tests/support/catch.hpp"

#include <cstring>
#include <fstream>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace chalk::store::test {

socket_pair::socket_pair() {
    int both[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
    a.reset(both[0]);
    b.reset(both[1]);
}

small_pool::small_pool(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) {
        threads_.emplace_back([shared = state_] { serve(*shared); });
    }
}

small_pool::~small_pool() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->ended = true;
        state_->held = false;
    }
    state_->changed.notify_all();
    for (auto& one : threads_) {
        one.join();
    }
}

blocking_executor small_pool::executor() {
    return [shared = state_](std::function<void()> work) {
        {
            const std::lock_guard lock(shared->mutex);
            if (shared->ended) {
                return;
            }
            shared->works.push_back(std::move(work));
        }
        shared->changed.notify_all();
    };
}

void small_pool::hold(bool held) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->held = held;
    }
    state_->changed.notify_all();
}

void small_pool::serve(state& shared) {
    std::unique_lock lock(shared.mutex);
    while (true) {
        shared.changed.wait(lock, [&] { return shared.ended || (!shared.held && !shared.works.empty()); });
        if (shared.works.empty()) {
            return;
        }
        auto work = std::move(shared.works.front());
        shared.works.pop_front();
        lock.unlock();
        work();
        work = nullptr;
        lock.lock();
    }
}

void tally::note(const std::string& what) {
    {
        const std::lock_guard lock(mutex_);
        ++counts_[what];
    }
    changed_.notify_all();
}

std::size_t tally::count(const std::string& what) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
}

bool tally::wait_for(const std::string& what, std::size_t times) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] {
        const auto found = counts_.find(what);
        return found != counts_.end() && found->second >= times;
    });
}

std::vector<std::string> tally::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [what, times] : counts_) {
        names.push_back(what);
    }
    return names;
}

bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(milliseconds{2});
    }
    return true;
}

cutting_relay::cutting_relay(unique_fd a, unique_fd b, std::size_t budget) : a_(std::move(a)), b_(std::move(b)) {
    int stop[2] = {-1, -1};
    REQUIRE(::pipe(stop) == 0);
    stop_read_.reset(stop[0]);
    stop_write_.reset(stop[1]);
    thread_ = std::thread([this, budget] { serve(budget); });
}

cutting_relay::~cutting_relay() {
    stop_write_.reset();
    thread_.join();
}

void cutting_relay::serve(std::size_t budget) {
    char data[16 * 1024];
    // One direction at a time may block on a full socket: the side that does not read then does not write either.
    pollfd on[3] = {{a_.get(), POLLIN, 0}, {b_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
    bool alive = true;
    while (alive && budget > 0) {
        ::poll(on, 3, -1);
        alive = on[2].revents == 0;
        for (int i = 0; i < 2 && alive; ++i) {
            if (on[i].revents == 0) {
                continue;
            }
            const auto size = ::read(on[i].fd, data, std::min(sizeof data, budget));
            alive = size > 0 && ::send(on[1 - i].fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
            budget -= alive ? static_cast<std::size_t>(size) : 0;
        }
    }
    a_.reset();
    b_.reset();
}

hand_peer::hand_peer(unique_fd fd) : fd_(std::move(fd)) {
    const timeval limit{std::chrono::duration_cast<seconds>(patience).count(), 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

void hand_peer::send(const bulk_message& message) {
    send_bytes(to_frame(message).value());
}

void hand_peer::send_bytes(std::string_view data) {
    while (!data.empty()) {
        const auto size = ::send(fd_.get(), data.data(), data.size(), MSG_NOSIGNAL);
        if (size <= 0) {
            return; // the test sees it where it reads
        }
        data.remove_prefix(static_cast<std::size_t>(size));
    }
}

std::optional<bulk_message> hand_peer::next() {
    char data[64 * 1024];
    while (inbox_.empty()) {
        const auto size = ::recv(fd_.get(), data, sizeof data, 0);
        if (size <= 0) {
            return std::nullopt;
        }
        REQUIRE(decoder_.feed({data, static_cast<std::size_t>(size)}, [&](bulk_message&& message) -> result<void> {
            inbox_.push_back(std::move(message));
            return {};
        }));
    }
    auto first = std::move(inbox_.front());
    inbox_.pop_front();
    return first;
}

tree_digest shelve(tree_shelf& shelf, const std::filesystem::path& folder) {
    const auto read = read_tree(folder, {});
    REQUIRE(read);
    shelf.put(read->tree, folder);
    return read->tree.digest();
}

offer result_of(const std::string& run, const tree_digest& tree, std::uint64_t token) {
    offer made;
    made.run = run_id::parse(run).value();
    made.attempt = attempt_number{1};
    made.token = result_token{token};
    made.tree = tree;
    return made;
}

std::string noise(std::size_t size, std::uint64_t seed) {
    std::string data(size, '\0');
    auto state = seed * 0x9e3779b97f4a7c15U + 1;
    for (std::size_t i = 0; i < size; i += sizeof state) {
        state ^= state << 13U;
        state ^= state >> 7U;
        state ^= state << 17U;
        std::memcpy(data.data() + i, &state, std::min(sizeof state, size - i));
    }
    return data;
}

namespace {

bytes status_line(const std::string& name) {
    std::ifstream in("/proc/self/status");
    std::string word;
    while (in >> word) {
        std::uint64_t kib = 0;
        if (word == name && in >> kib) {
            return {kib * 1024};
        }
    }
    return {};
}

} // namespace

bytes resident() {
    return status_line("VmRSS:");
}

bytes peak_resident() {
    return status_line("VmHWM:");
}

void reset_peak() {
    std::ofstream("/proc/self/clear_refs") << "5";
}

} // namespace chalk::store::test
