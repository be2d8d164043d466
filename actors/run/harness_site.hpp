/// Where the harness of one run lives: a sandbox, or this process. The run actor tells it what to do; what came of it
/// comes back as a message. Calls return at once.
///
/// Owner: the run actor. Its destructor leaves nothing behind: a sandbox that still runs is killed and removed.
#pragma once

#include "actors/run/interfaces.hpp"

#include <memory>
#include <string>

namespace chalk::actors {

class harness_site {
  public:
    harness_site() = default;
    harness_site(const harness_site&) = delete;
    harness_site& operator=(const harness_site&) = delete;
    virtual ~harness_site() = default;

    /// Answer: site_prepared.
    virtual void prepare() = 0;
    /// Answer: site_started.
    virtual void start() = 0;
    /// Called with what site_started brought: from now on events come, and site_ended once.
    [[nodiscard]] virtual result<void> adopt(const std::shared_ptr<sandbox>& made) = 0;
    virtual void cancel(const std::string& reason) = 0;
    virtual void kill() = 0;
    /// Answer: site_removed. Only after site_ended, or when that is given up.
    virtual void remove() = 0;
    /// One event was worked off: credit for the next.
    virtual void event_done() = 0;
    /// A monitored actor went down; true when it was this site's harness.
    [[nodiscard]] virtual bool harness_went_down(const caf::down_msg& down) = 0;
};

} // namespace chalk::actors
