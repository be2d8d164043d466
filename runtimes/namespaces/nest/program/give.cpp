#include "runtimes/namespaces/nest/program/give.hpp"

#include "protocol/core/sandbox_layout.hpp"
#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/nest/ids.hpp"
#include "runtimes/namespaces/nest/packets.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::nest {

namespace {

/// Depth first, without following links: `act` on everything below `path`, then on `path`. False: stop, errno says why.
template<class Action>
bool for_all(const std::string& path, const Action& act) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) {
        return false;
    }
    if (S_ISDIR(found.st_mode)) {
        DIR* listing = ::opendir(path.c_str());
        if (listing == nullptr) {
            return false;
        }
        bool fine = true;
        while (const dirent* entry = fine ? ::readdir(listing) : nullptr) {
            const std::string_view name = entry->d_name;
            fine = name == "." || name == ".." || for_all(path + "/" + entry->d_name, act);
        }
        const int error = errno;
        ::closedir(listing);
        errno = error;
        if (!fine) {
            return false;
        }
    }
    return act(path, found);
}

bool is_below(const std::string& path, const std::string& folder) {
    return path == folder || path.compare(0, folder.size() + 1, folder + "/") == 0;
}

/// As root inside, where our own id is number `ours`. A change of owner clears set-id bits alone; modes stay.
bool perform(std::string_view what, const std::string& tree, const std::vector<std::string>& students, uid_t ours) {
    if (what == "remove") {
        return for_all(tree, [](const std::string& path, const struct stat& found) {
            return S_ISDIR(found.st_mode) ? ::rmdir(path.c_str()) == 0 : ::unlink(path.c_str()) == 0;
        });
    }
    return for_all(tree, [&](const std::string& path, const struct stat&) {
        uid_t owner = ours;
        if (what == "give") {
            const bool students_own =
                std::ranges::any_of(students, [&](const std::string& one) { return is_below(path, one); });
            owner = students_own ? sandbox_layout::student_uid : 0;
        }
        return ::lchown(path.c_str(), owner, owner) == 0;
    });
}

int fail(std::string_view what, int error) {
    const std::string text = because(what, error) + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    return 1;
}

} // namespace

int run_give(int argc, char** argv) {
    if (argc < 6) {
        return 2;
    }
    namespaces::nest_orders orders;
    orders.privileged = false;
    orders.first_id = static_cast<std::uint32_t>(std::strtoul(argv[0], nullptr, 10));
    orders.id_count = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
    orders.newuidmap = argv[2];
    orders.newgidmap = argv[3];
    const std::string_view what = argv[4];
    const std::string tree = argv[5];
    const std::vector<std::string> students(argv + 6, argv + argc);
    int go[2];
    int ready[2];
    if (::pipe2(go, O_CLOEXEC) != 0 || ::pipe2(ready, O_CLOEXEC) != 0) {
        return fail("make a pipe", errno);
    }
    const pid_t child = ::fork();
    if (child < 0) {
        return fail("fork", errno);
    }
    char byte = 0;
    if (child == 0) {
        ::close(go[1]);
        if (::unshare(CLONE_NEWUSER) != 0) {
            ::_exit(fail("make a user namespace", errno));
        }
        (void)!::write(ready[1], "r", 1);
        if (::read(go[0], &byte, 1) != 1) {
            ::_exit(1);
        }
        if (::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0) {
            ::_exit(fail("become root inside", errno));
        }
        ::_exit(perform(what, tree, students, orders.id_count) ? 0 : fail(std::string(what) + " " + tree, errno));
    }
    ::close(ready[1]);
    int code = 1;
    if (::read(ready[0], &byte, 1) == 1) {
        if (const auto failed = map_ids_and_own(child, orders)) {
            code = fail(*failed, EPERM);
            ::close(go[1]);
        } else {
            (void)!::write(go[1], "g", 1);
        }
    }
    int status = 0;
    if (::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        code = 0;
    }
    return code;
}

} // namespace chalk::nest
