/// Tests of links: one side of them, as a process has it, and another process for what only a process can do.
#pragma once

#include "actors/cluster/link_system.hpp"
#include "actors/cluster/links.hpp"
#include "protocol/core/unique_fd.hpp"

#include <caf/all.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sys/types.h>

namespace chalk::test {

using far_root = caf::typed_actor<
    /// The same back.
    caf::replies_to<std::string>::with<std::string>,
    /// One of a stream; answers how much credit it gives back.
    caf::replies_to<caf::put_atom, std::string>::with<std::uint64_t>>;

using link_event = std::variant<actors::peer_linked, actors::link_failed, actors::link_lost>;

/// Everything that an owner of links hears, for a test that waits.
class link_log {
  public:
    void add(link_event what);
    /// The first event of that type that was not taken before. A test fails when none comes in 20 s.
    template<class T>
    [[nodiscard]] std::optional<T> take(std::chrono::milliseconds within = std::chrono::seconds(20)) {
        std::unique_lock lock(mutex_);
        std::optional<T> found;
        came_.wait_for(lock, within, [&] {
            for (auto i = events_.begin(); i != events_.end(); ++i) {
                if (auto* of_type = std::get_if<T>(&*i)) {
                    found = std::move(*of_type);
                    events_.erase(i);
                    return true;
                }
            }
            return false;
        });
        return found;
    }

  private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::vector<link_event> events_;
};

class link_process {
  public:
    explicit link_process(actors::link_settings settings = {});
    ~link_process();
    link_process(const link_process&) = delete;
    link_process& operator=(const link_process&) = delete;

    const actors::link_library& library;
    actors::link_system_settings settings;
    caf::actor_system system;
    std::shared_ptr<link_log> log = std::make_shared<link_log>();
    actors::link_owner owner;
    far_root root;
    actors::links its_links;

    /// Dials over `socket`; empty when the link does not stand.
    [[nodiscard]] std::optional<far_root> dial(unique_fd socket);
    /// What `whom` answers within `deadline`, or CAF's error as text.
    [[nodiscard]] std::string ask(const far_root& whom, std::string what,
                                  std::chrono::milliseconds deadline = std::chrono::seconds(20));
};

[[nodiscard]] std::pair<unique_fd, unique_fd> link_sockets();

/// This test program, as the accepting side of a link in a process of its own. Its death ends it.
class far_process {
  public:
    explicit far_process(unique_fd socket);
    ~far_process();
    far_process(const far_process&) = delete;
    far_process& operator=(const far_process&) = delete;
    void signal(int number) const;
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  private:
    pid_t pid_ = -1;
};

} // namespace chalk::test
