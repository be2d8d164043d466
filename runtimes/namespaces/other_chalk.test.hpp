/// For tests: another process with a runtime and one sandbox, which may be stopped and killed. It is this executable
/// with a hidden test, which says in a line "INIT OWNER" on descriptor 9 that its sandbox runs.
#pragma once

#include "runtimes/namespaces/fixture.test.hpp"
#include "runtimes/process/spawn.hpp"

#include <functional>
#include <string>

namespace chalk::test {

struct other_chalk {
    process::child process;
    pid_t init = -1; ///< the sandbox's first process
    pid_t nest = -1;
    std::string owner;
};

/// `hidden_test` gets CHALK_TEST_FOLDER, the fixture's.
[[nodiscard]] other_chalk start_other(const namespaces_fixture& here, const std::string& hidden_test);

/// In the hidden test: starts a sandbox with processes of two sessions. Never returns a null pointer.
struct lone_sandbox {
    io_thread io;
    std::unique_ptr<runtime> made;
    sandbox_request request; ///< what `one` was started for
    std::unique_ptr<sandbox> one;
};
[[nodiscard]] std::unique_ptr<lone_sandbox> start_lone_sandbox();
/// In the hidden test, last.
[[noreturn]] void say_and_wait(const sandbox& one);

void reap(const other_chalk& other);

/// True as soon as `condition` is, false after 10 s; polls, since the kernel tells nobody when it is done.
[[nodiscard]] bool soon(const std::function<bool()>& condition);

/// It is there and no zombie.
[[nodiscard]] bool runs(pid_t pid);

} // namespace chalk::test
