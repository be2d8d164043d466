/// For tests of bulk connections: two sides in one process, a peer that is written by hand, and a relay that cuts.
/// Everything has a deadline of twenty seconds.
#pragma once

#include "protocol/net/io_thread.hpp"
#include "protocol/store/bulk_peer.hpp"
#include "protocol/store/read_tree.hpp"
#include "tests/support/temporary_folder.hpp"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace chalk::store::test {

inline constexpr seconds patience{20};

struct socket_pair {
    socket_pair();
    unique_fd a;
    unique_fd b;
};

/// A few threads that may block; they can be held up. Ends before the io thread; what its executor gets later is
/// dropped.
class small_pool {
  public:
    explicit small_pool(std::size_t threads = 3);
    small_pool(const small_pool&) = delete;
    small_pool& operator=(const small_pool&) = delete;
    ~small_pool(); ///< runs what is left
    [[nodiscard]] blocking_executor executor();
    void hold(bool held);

  private:
    struct state {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<std::function<void()>> works;
        bool held = false;
        bool ended = false;
    };
    static void serve(state& shared);
    std::shared_ptr<state> state_ = std::make_shared<state>();
    std::vector<std::thread> threads_;
};

/// What happened, from any thread.
class tally {
  public:
    void note(const std::string& what);
    [[nodiscard]] std::size_t count(const std::string& what) const;
    /// false: not in time.
    [[nodiscard]] bool wait_for(const std::string& what, std::size_t times = 1) const;
    [[nodiscard]] std::vector<std::string> all() const;

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::map<std::string, std::size_t> counts_;
};

/// Does `holds` come true in time? Looks again every few milliseconds.
[[nodiscard]] bool eventually(const std::function<bool()>& holds);

/// Passes bytes between two sockets, so many in all, and then closes both.
class cutting_relay {
  public:
    cutting_relay(unique_fd a, unique_fd b, std::size_t budget);
    cutting_relay(const cutting_relay&) = delete;
    cutting_relay& operator=(const cutting_relay&) = delete;
    ~cutting_relay();

  private:
    void serve(std::size_t budget);
    unique_fd a_;
    unique_fd b_;
    unique_fd stop_read_;
    unique_fd stop_write_;
    std::thread thread_;
};

/// The other end of a connection, one message at a time.
class hand_peer {
  public:
    explicit hand_peer(unique_fd fd);
    void send(const bulk_message& message);
    void send_bytes(std::string_view data);
    /// nullopt: the connection ended, or nothing came in time.
    [[nodiscard]] std::optional<bulk_message> next();

  private:
    unique_fd fd_;
    bulk_decoder decoder_;
    std::deque<bulk_message> inbox_;
};

/// What a side of a test needs. Its peer is made by the test.
struct side {
    std::shared_ptr<tree_shelf> shelf = std::make_shared<tree_shelf>();
    std::shared_ptr<chunk_cache> cache;
    tally seen;
};

/// Reads the folder, puts it on the shelf, and names it.
[[nodiscard]] tree_digest shelve(tree_shelf& shelf, const std::filesystem::path& folder);
[[nodiscard]] offer result_of(const std::string& run, const tree_digest& tree, std::uint64_t token = 1);
/// Content that no other seed has, in no order that compresses.
[[nodiscard]] std::string noise(std::size_t size, std::uint64_t seed);
/// Of this process, now and at most since reset_peak().
[[nodiscard]] bytes resident();
[[nodiscard]] bytes peak_resident();
void reset_peak();

} // namespace chalk::store::test
