#include "runtimes/confinement/own_groups.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::confinement;
namespace fs = std::filesystem;

namespace {

/// A group of its own in this machine's hierarchy of that controller; goes at the end.
class test_group {
  public:
    explicit test_group(const fs::path& controller)
        : folder(controller / ("chalk_test_" + std::to_string(::getpid()))) {
        usable = ::mkdir(folder.c_str(), 0755) == 0;
    }
    test_group(const test_group&) = delete;
    test_group& operator=(const test_group&) = delete;
    ~test_group() {
        for (const fs::path& one : {folder / "chalk_student", folder / "chalk_harness", folder}) {
            ::rmdir(one.c_str());
        }
    }
    fs::path folder;
    bool usable = false;
};

std::string read_all(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

TEST_CASE("a sandbox without a writable cgroup has none to offer", "[own_groups]") {
    const test::temporary_folder nothing;
    CHECK(find_own_hierarchies(nothing.path()).empty());
    const auto none = make_own_groups({}, {});
    REQUIRE(none);
    CHECK(none->student_procs.empty());
}

TEST_CASE("both versions are told apart by their files", "[own_groups]") {
    const test::temporary_folder v2;
    v2.write("cgroup.controllers", "cpu memory pids\n");
    v2.write("cgroup.procs", "");
    const auto one = find_own_hierarchies(v2.path());
    REQUIRE(one.size() == 1);
    CHECK((one[0].v2 && one[0].memory && one[0].pids));
    const test::temporary_folder v1;
    v1.write("pids/cgroup.procs", "");
    const auto two = find_own_hierarchies(v1.path());
    REQUIRE(two.size() == 1);
    CHECK((!two[0].v2 && !two[0].memory && two[0].pids));
}

TEST_CASE("the harness moves into chalk_harness, and the student's group holds its number of processes",
          "[own_groups]") {
    const test_group pids("/sys/fs/cgroup/pids");
    const test_group memory("/sys/fs/cgroup/memory");
    if (!pids.usable || !memory.usable) {
        CHALK_SKIP("needs root and cgroup v1 with memory and pids");
    }
    const std::vector<own_hierarchy> where = {{memory.folder, false, true, false}, {pids.folder, false, false, true}};
    const pid_t child = ::fork(); // what moves must not be the test itself
    if (child == 0) {
        const auto made = make_own_groups(where, {64_MiB, 5});
        if (!made || made->student_procs.size() != 2 ||
            made->note != "the sandbox's own cgroup v1: memory 64 MiB, 5 processes") {
            ::_exit(1);
        }
        const std::string mine = std::to_string(::getpid()) + "\n";
        if (read_all(pids.folder / "chalk_harness/cgroup.procs") != mine ||
            read_all(memory.folder / "chalk_harness/cgroup.procs") != mine ||
            read_all(memory.folder / "chalk_student/memory.limit_in_bytes") != "67108864\n") {
            ::_exit(2);
        }
        const pid_t student = ::fork();
        if (student == 0) {
            for (const auto& group : made->student_procs) {
                (void)!::write(group.get(), "0", 1);
            }
            std::vector<pid_t> forks;
            int error = 0;
            while (forks.size() < 20 && error == 0) {
                const pid_t one = ::fork();
                if (one == 0) {
                    ::pause();
                    ::_exit(0);
                }
                error = one < 0 ? errno : 0;
                if (one > 0) {
                    forks.push_back(one);
                }
            }
            for (const pid_t one : forks) {
                ::kill(one, SIGKILL);
                ::waitpid(one, nullptr, 0);
            }
            ::_exit(forks.size() == 4 && error == EAGAIN ? 0 : 3);
        }
        int status = 0;
        ::waitpid(student, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
